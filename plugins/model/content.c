/*
 * content.c - reads parts with media (images, files, audio) that contain base64, bytes or a URL.
 *
 * Services accept only some of these forms, so a data: URL and bytes are converted to base64, and raw PCM to a WAV
 * file. If the part has no media type, the type is detected by the first bytes.
 */
#include "internal.h"
#include <tenon/base64.h>

tn_value model_bytes_to_base64(const void *bytes, uint64_t length) {
    if (length > (uint64_t)TN_HTTP_BODY_MAX) return NULL;
    char *text = model_memory_alloc(TN_BASE64_SIZE(length) + 1);
    if (text == NULL) return NULL;
    tn_value value = tn_text_n(text, (uint64_t)(tn_base64_put(text, bytes, length) - text));
    model_memory_free(text);
    return value;
}

const char *model_detect_media_type(const unsigned char *bytes, uint64_t length) {
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

/* Decodes "data:image/png;base64,…". Returns false for any other form of a data: URL. */
static bool media_read_data_url(struct model_media *media, const char *url, uint64_t length) {
    const char *comma = memchr(url, ',', length);
    if (comma == NULL || comma - url < 12 || strncmp(comma - 7, ";base64", 7) != 0) return false;
    uint64_t type = strcspn(url + 5, ";,"), left = length - (uint64_t)(comma + 1 - url);
    if (!tn_is_base64(comma + 1, left)) return false;
    if (media->media_type == NULL && type > 0 && type < sizeof media->type_text) {
        memcpy(media->type_text, url + 5, type);
        media->type_text[type] = '\0';
        media->media_type = media->type_text;
    }
    media->data = tn_text_n(comma + 1, left);
    return media->data != NULL;
}

/* Models do not accept raw PCM, as a service for speech returns it. */
static void media_convert_pcm(struct model_media *media) {
    struct tn_pcm pcm;
    uint64_t length = 0;
    const char *text = tn_chars(media->data, &length);
    if (text == NULL || !tn_pcm_read(media->media_type, &pcm)) return;
    unsigned char *samples = model_memory_alloc(length);
    if (samples == NULL) return;
    tn_value file = model_pcm_to_wav(samples, tn_base64_take(text, length, samples, length), &pcm);
    model_memory_free(samples);
    if (file == NULL) return;
    tn_release(media->data);
    media->data = file;
    media->media_type = "audio/wav";
}

bool model_media_init(struct model_media *media, tn_value part) {
    tn_value url = tn_get(part, "url"), data = tn_get(part, "data"), id = tn_get(part, "file_id");
    uint64_t length = 0;
    memset(media, 0, sizeof *media);
    media->media_type = tn_get_text(part, "media_type", NULL);
    const char *text = tn_chars(url, &length);
    if (text != NULL && strncmp(text, "data:", 5) == 0) {
        if (!media_read_data_url(media, text, length)) return false;
    } else if (text != NULL && length > 0)
        media->url = url;
    if (tn.value->kind(id) == TN_STRING) media->file_id = id;
    if (tn.value->kind(data) == TN_BYTES) {
        const void *bytes = tn.value->as_bytes(data, &length);
        media->data = model_bytes_to_base64(bytes, length);
    } else if (tn.value->kind(data) == TN_STRING) {
        text = tn_chars(data, &length);
        if (length > 5 && strncmp(text, "data:", 5) == 0) {
            if (!media_read_data_url(media, text, length)) return false;
        } else if (!tn_is_base64(text, length))
            return false;
        else
            media->data = tn_retain(data);
    }
    if (media->media_type == NULL && media->data != NULL) {
        unsigned char first[16];
        text = tn_chars(media->data, &length);
        media->media_type = model_detect_media_type(first, tn_base64_take(text, length, first, sizeof first));
    }
    media_convert_pcm(media);
    return media->url != NULL || media->data != NULL || media->file_id != NULL;
}

void model_media_finish(struct model_media *media) {
    tn_release(media->data);
    media->data = NULL;
}

tn_value model_media_to_data_url(const struct model_media *media) {
    uint64_t length = 0;
    const char *data = tn_chars(media->data, &length);
    const char *type = media->media_type != NULL ? media->media_type : "application/octet-stream";
    if (data == NULL) return NULL;
    uint64_t room = length + strlen(type) + sizeof "data:;base64,";
    char *text = model_memory_alloc(room);
    if (text == NULL) return NULL;
    int head = snprintf(text, room, "data:%s;base64,", type);
    memcpy(text + head, data, length);
    tn_value value = tn_text_n(text, (uint64_t)head + length);
    model_memory_free(text);
    return value;
}

tn_value model_arguments_text(tn_value call) {
    tn_value arguments = tn_get(call, "arguments");
    if (tn.value->kind(arguments) == TN_STRING) return tn_retain(arguments);
    return tn.value->kind(arguments) > TN_NULL ? tn_to_json(arguments) : tn_text("{}");
}

/* Returns the three texts as one, a new reference. */
static tn_value content_join(const char *before, tn_value text, const char *after) {
    struct tn_text_buffer joined = TN_TEXT_BUFFER(0);
    uint64_t length = 0;
    const char *chars = tn_chars(text, &length);
    (void)tn_text_append(&joined, before);
    if (chars != NULL) (void)tn_text_append_n(&joined, chars, length);
    (void)tn_text_append(&joined, after);
    tn_value value = chars != NULL && joined.status == TN_OK ? tn_text_n(tn_text_chars(&joined), joined.length) : NULL;
    tn_text_free(&joined);
    return value;
}

tn_value model_schema_instruction(const struct model_call *call) {
    tn_value json = tn_to_json(call->schema);
    tn_value text =
        content_join("Answer only with JSON that is valid for this JSON Schema, without any other text:\n", json, "");
    tn_release(json);
    return text;
}

tn_value model_late_system_text(tn_value text) { return content_join("<system>\n", text, "\n</system>"); }
