/* media.c - the types of images, audio and PDF files. */
#include "host/program/media.h"
#include <string.h>
#include <strings.h>
#include <tenon/util/wav.h>

static const struct media {
    const char *type, *extension, *alias; /* another extension, or NULL */
    size_t at;                            /* of the signature in the content */
    const char *signature;                /* NULL: the content does not show the type */
} medias[] = {
    {"image/png", "png", NULL, 0, "\x89PNG\r\n\x1a\n"},
    {"image/jpeg", "jpg", "jpeg", 0, "\xff\xd8\xff"},
    {"image/gif", "gif", NULL, 0, "GIF8"},
    {"image/webp", "webp", NULL, 8, "WEBP"},
    {"application/pdf", "pdf", NULL, 0, "%PDF-"},
    {"audio/wav", "wav", NULL, 8, "WAVE"},
    {"audio/mpeg", "mp3", NULL, 0, "ID3"},
    {"audio/flac", "flac", NULL, 0, "fLaC"},
    {"audio/ogg", "ogg", NULL, 0, "OggS"},
    {"audio/mp4", "m4a", NULL, 4, "ftypM4A"},
    {"audio/aac", "aac", NULL, 0, NULL},
};
#define MEDIAS (sizeof medias / sizeof *medias)

const char *media_type_of(const void *bytes, size_t length) {
    const unsigned char *start = bytes;
    for (size_t i = 0; i < MEDIAS; i++) {
        size_t size = medias[i].signature ? strlen(medias[i].signature) : 0;
        if (size && length >= medias[i].at + size && memcmp(start + medias[i].at, medias[i].signature, size) == 0)
            return medias[i].type;
    }
    /* MP3 without a tag starts with a frame: 11 bits that are set, and a layer that is not reserved. */
    if (length > 2 && start[0] == 0xff && (start[1] & 0xe0) == 0xe0 && (start[1] & 0x06) == 0x02) return "audio/mpeg";
    return NULL;
}

static const struct media *media_find(const char *type) {
    for (size_t i = 0; i < MEDIAS; i++)
        if (strcmp(medias[i].type, type) == 0) return &medias[i];
    return NULL;
}

const char *media_type_of_part(const void *bytes, size_t length, const char *declared) {
    const char *found = media_type_of(bytes, length);
    const struct media *media = found ? NULL : media_find(declared);
    return media ? media->type : found;
}

bool media_write_wav(struct buffer *out, const void *samples, size_t length, const char *declared) {
    unsigned char header[TN_WAV_HEADER_SIZE];
    struct tn_pcm pcm;
    if (!tn_pcm_read(declared, &pcm)) return false;
    tn_wav_put_header(header, &pcm, length);
    buffer_append(out, header, sizeof header);
    buffer_append(out, samples, length);
    return true;
}

const char *media_extension(const char *type) {
    const struct media *media = media_find(type);
    return media ? media->extension : "bin";
}

bool media_has_extension(const char *path) {
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < MEDIAS; i++)
        if (medias[i].signature && (strcasecmp(dot + 1, medias[i].extension) == 0 ||
                                    (medias[i].alias && strcasecmp(dot + 1, medias[i].alias) == 0)))
            return true;
    return false;
}
