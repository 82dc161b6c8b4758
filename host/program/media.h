/*
 * media.h - the types of images, audio and PDF files.
 */
#ifndef TENON_HOST_PROGRAM_MEDIA_H
#define TENON_HOST_PROGRAM_MEDIA_H

#include <stdbool.h>
#include <stddef.h>

/* The media type of the content, found from its first bytes; NULL if it is none of the known ones. Static. */
const char *media_type_of(const void *bytes, size_t length);
/* The extension of files of a media type, "png"; "bin" if it is not known. Static. */
const char *media_extension(const char *type);
/* True if the path ends with the extension of a known type. */
bool media_has_extension(const char *path);

#endif
