/*
 * media.h - the types of images, audio and PDF files.
 */
#ifndef TENON_HOST_PROGRAM_MEDIA_H
#define TENON_HOST_PROGRAM_MEDIA_H

#include "adl/value/buffer.h"
#include <stdbool.h>
#include <stddef.h>

/* The media type of the content, found from its first bytes; NULL if it is not a known one. Static. */
const char *media_type_of(const void *bytes, size_t length);
/* The same for a part of a message: if the content does not show its type, the declared one, if that is known. */
const char *media_type_of_part(const void *bytes, size_t length, const char *declared);
/* Appends a WAV file with these samples, if the declared type is that of raw PCM. Returns false for another type. */
bool media_write_wav(struct buffer *out, const void *samples, size_t length, const char *declared);
/* The extension of files of a media type, "png"; "bin" if it is not known. Static. */
const char *media_extension(const char *type);
/* True if the path ends with the extension of a known type. */
bool media_has_extension(const char *path);

#endif
