/*
 * content.c - parts that hold something: images, files, audio, as base64 or by their address.
 *
 * What a document gives may be a url, a data: url, base64 or bytes; services want one or the other. A media type that
 * is not told is read off the first bytes.
 */
#include "inside.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static tn_value to_base64(const unsigned char *bytes, uint64_t length) {
    if (length > (uint64_t)TN_HTTP_BODY_MAX) return NULL;
    char *text = inside_alloc((length + 2) / 3 * 4 + 1);
    if (text == NULL) return NULL;
    uint64_t used = 0;
    for (uint64_t i = 0; i < length; i += 3) {
        uint32_t left = length - i > 2 ? 3 : (uint32_t)(length - i);
        uint32_t word = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                        (left > 2 ? (uint32_t)bytes[i + 2] : 0);
        for (uint32_t k = 0; k < 4; k++) text[used++] = k <= left ? alphabet[word >> (18 - 6 * k) & 63] : '=';
    }
    tn_value made = tn_text_n(text, used);
    inside_free(text);
    return made;
}

/* The bytes that the first characters stand for; how many. */
static uint64_t first_bytes(const char *text, uint64_t length, unsigned char *out, uint64_t room) {
    uint32_t word = 0, bits = 0;
    uint64_t used = 0;
    for (uint64_t i = 0; i < length && used < room; i++) {
        const char *at = text[i] != '\0' ? strchr(alphabet, text[i]) : NULL;
        if (at == NULL) break;
        word = (word << 6 | (uint32_t)(at - alphabet)) & 0xffff;
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        out[used++] = (unsigned char)(word >> bits & 0xff);
    }
    return used;
}

static const char *type_of(const unsigned char *bytes, uint64_t length) {
    static const struct {
        uint64_t at, length;
        const char *bytes, *type;
    } magics[] = {{0, 8, "\x89PNG\r\n\x1a\n", "image/png"},
                  {0, 3, "\xff\xd8\xff", "image/jpeg"},
                  {0, 4, "GIF8", "image/gif"},
                  {8, 4, "WEBP", "image/webp"},
                  {8, 4, "WAVE", "audio/wav"},
                  {0, 5, "%PDF-", "application/pdf"},
                  {0, 3, "ID3", "audio/mpeg"},
                  {0, 4, "OggS", "audio/ogg"},
                  {0, 4, "fLaC", "audio/flac"}};
    for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
        if (length >= magics[i].at + magics[i].length &&
            memcmp(bytes + magics[i].at, magics[i].bytes, magics[i].length) == 0)
            return magics[i].type;
    return NULL;
}

/* Of the alphabet, and nothing after a = but another. */
static bool is_base64(const char *text, uint64_t length) {
    uint64_t i = 0;
    while (i < length && text[i] != '\0' && strchr(alphabet, text[i]) != NULL) i++;
    while (i < length && text[i] == '=' && length - i <= 2) i++;
    return i == length && length > 0;
}

/* "data:image/png;base64,…" taken apart. False where it is a data: url of another kind. */
static bool take_data_url(struct model_media *media, const char *url, uint64_t length) {
    const char *comma = memchr(url, ',', length);
    if (comma == NULL || comma - url < 12 || strncmp(comma - 7, ";base64", 7) != 0) return false;
    uint64_t type = strcspn(url + 5, ";,"), left = length - (uint64_t)(comma + 1 - url);
    if (!is_base64(comma + 1, left)) return false;
    if (media->media_type == NULL && type > 0 && type < sizeof media->type_text) {
        memcpy(media->type_text, url + 5, type);
        media->type_text[type] = '\0';
        media->media_type = media->type_text;
    }
    media->data = tn_text_n(comma + 1, left);
    return media->data != NULL;
}

bool model_media_init(struct model_media *media, tn_value part) {
    tn_value url = tn.value->get(part, "url"), data = tn.value->get(part, "data"), id = tn.value->get(part, "file_id");
    uint64_t length = 0;
    memset(media, 0, sizeof *media);
    media->media_type = tn_get_text(part, "media_type", NULL);
    const char *text = tn_chars(url, &length);
    if (text != NULL && strncmp(text, "data:", 5) == 0) {
        if (!take_data_url(media, text, length)) return false;
    } else if (text != NULL && length > 0)
        media->url = url;
    if (tn.value->kind(id) == TN_STRING) media->file_id = id;
    if (tn.value->kind(data) == TN_BYTES) {
        const void *bytes = tn.value->as_bytes(data, &length);
        media->data = to_base64(bytes, length);
    } else if (tn.value->kind(data) == TN_STRING) {
        text = tn_chars(data, &length);
        if (length > 5 && strncmp(text, "data:", 5) == 0) {
            if (!take_data_url(media, text, length)) return false;
        } else if (!is_base64(text, length))
            return false;
        else
            media->data = tn_retain(data);
    }
    if (media->media_type == NULL && media->data != NULL) {
        unsigned char first[16];
        text = tn_chars(media->data, &length);
        media->media_type = type_of(first, first_bytes(text, length, first, sizeof first));
    }
    return media->url != NULL || media->data != NULL || media->file_id != NULL;
}

void model_media_finish(struct model_media *media) {
    tn_release(media->data);
    media->data = NULL;
}

tn_value model_media_url(const struct model_media *media) {
    uint64_t length = 0;
    const char *data = tn_chars(media->data, &length);
    const char *type = media->media_type != NULL ? media->media_type : "application/octet-stream";
    if (data == NULL) return NULL;
    uint64_t room = length + strlen(type) + sizeof "data:;base64,";
    char *text = inside_alloc(room);
    if (text == NULL) return NULL;
    int head = snprintf(text, room, "data:%s;base64,", type);
    memcpy(text + head, data, length);
    tn_value made = tn_text_n(text, (uint64_t)head + length);
    inside_free(text);
    return made;
}

tn_value model_arguments_text(tn_value call) {
    tn_value arguments = tn.value->get(call, "arguments");
    if (tn.value->kind(arguments) == TN_STRING) return tn_retain(arguments);
    return tn.value->kind(arguments) > TN_NULL ? tn.value->to_json(arguments) : tn_text("{}");
}
