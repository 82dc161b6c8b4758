/*
 * tenon/util/wav.h - raw PCM as a WAV file, which players accept.
 *
 * Services for speech send samples without a header: 16 bits, little-endian, with the rate in the media type. (RFC 2586
 * defines L16 as big-endian; no service for speech sends that.)
 *
 *     struct tn_pcm pcm;
 *     unsigned char header[TN_WAV_HEADER_SIZE];
 *     if (tn_pcm_read("audio/L16;codec=pcm;rate=24000", &pcm))
 *         tn_wav_put_header(header, &pcm, length); // `length` bytes of samples follow it in the file
 *
 * Thread: any. Nothing here allocates.
 */
#ifndef TENON_UTIL_WAV_H
#define TENON_UTIL_WAV_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <tenon/util/cast.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TN_WAV_HEADER_SIZE 44
#define TN_PCM_RATE        24000 /* of a media type without a rate: what services for speech send */

struct tn_pcm {
    uint32_t rate, channels;
};

/* Compares `size` characters without case; the words of media types have no case. `word` is lower case. */
static inline bool tn_pcm_is_word(const char *text, uint64_t size, const char *word) {
    uint64_t at = 0;
    for (; at < size && word[at] != '\0'; at++)
        if ((text[at] >= 'A' && text[at] <= 'Z' ? text[at] - 'A' + 'a' : text[at]) != word[at]) return false;
    return at == size && word[at] == '\0';
}

/* Reads "NAME=NUMBER"; false for another parameter, and for a number that is 0 or above `most`. */
static inline bool tn_pcm_read_parameter(const char *text, const char *name, uint32_t most, uint32_t *number) {
    const uint64_t size = strlen(name);
    uint32_t value = 0;
    const char *at = text + size + 1;
    if (strcspn(text, "=;") != size || text[size] != '=' || !tn_pcm_is_word(text, size, name)) return false;
    for (; *at >= '0' && *at <= '9' && value <= most; at++) value = value * 10 + TN_UTIL_CAST(uint32_t, *at - '0');
    if (value == 0 || value > most) return false;
    *number = value;
    return true;
}

/* True for a media type of raw PCM with 16 bits: audio/L16, audio/pcm. NULL is another type. */
static inline bool tn_pcm_read(const char *media_type, struct tn_pcm *pcm) {
    uint64_t size = media_type != NULL ? strcspn(media_type, "; ") : 0;
    const char *at = media_type;
    if (!tn_pcm_is_word(media_type, size, "audio/l16") && !tn_pcm_is_word(media_type, size, "audio/pcm")) return false;
    pcm->rate = TN_PCM_RATE;
    pcm->channels = 1;
    while (at != NULL && (at = strchr(at, ';')) != NULL) {
        at += 1 + strspn(at + 1, " ");
        (void)(tn_pcm_read_parameter(at, "rate", 1000000, &pcm->rate) ||
               tn_pcm_read_parameter(at, "channels", 64, &pcm->channels));
    }
    return true;
}

static inline void tn_wav_put_number(unsigned char *out, uint32_t number, uint32_t size) {
    for (uint32_t i = 0; i < size; i++) out[i] = number >> (8 * i) & 0xff;
}

/* Writes the header for `length` bytes of samples. More than 4 GiB do not fit into its numbers, which are then the
 * largest; players read to the end of the file. */
static inline void tn_wav_put_header(unsigned char out[TN_WAV_HEADER_SIZE], const struct tn_pcm *pcm, uint64_t length) {
    /* The format has 16 bytes, is PCM (1), and a sample has 16 bits. */
    static const unsigned char fixed[TN_WAV_HEADER_SIZE] = {
        'R', 'I', 'F', 'F', 0, 0, 0, 0, 'W', 'A', 'V', 'E', 'f', 'm', 't', ' ', 16,  0,   0, 0, 1, 0,
        0,   0,   0,   0,   0, 0, 0, 0, 0,   0,   0,   0,   16,  0,   'd', 'a', 't', 'a', 0, 0, 0, 0};
    const uint32_t most = UINT32_MAX - TN_WAV_HEADER_SIZE, size = TN_UTIL_CAST(uint32_t, length < most ? length : most);
    memcpy(out, fixed, sizeof fixed);
    tn_wav_put_number(out + 4, size + TN_WAV_HEADER_SIZE - 8, 4);
    tn_wav_put_number(out + 22, pcm->channels, 2);
    tn_wav_put_number(out + 24, pcm->rate, 4);
    tn_wav_put_number(out + 28, pcm->rate * pcm->channels * 2, 4); /* bytes of a second */
    tn_wav_put_number(out + 32, pcm->channels * 2, 2);             /* bytes of a sample of all channels */
    tn_wav_put_number(out + 40, size, 4);
}

#ifdef __cplusplus
}
#endif
#endif
