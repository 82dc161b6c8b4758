/*
 * request_parts.c - parts of the content of a message, of both protocols, as parts of Tenon (tenon/message.h).
 */
#include "openai_server.h"

/* The parts of a data URL: false if it is not one with base64. */
static bool split_data_url(const char *url, struct tn_text_buffer *type, const char **data) {
    const char *comma = strncmp(url, "data:", 5) == 0 ? strchr(url, ',') : NULL, *mark;
    if (comma == NULL) return false;
    mark = strstr(url, ";base64");
    if (mark == NULL || mark > comma) return false;
    size_t length = strcspn(url + 5, ";,");
    (void)tn_text_append_n(type, url + 5, length);
    *data = comma + 1;
    return true;
}

/* {type, url} or {type, media_type, data}, with a name if it is not NULL: new. */
static tn_value media_part(const char *type, const char *url, const char *name) {
    struct tn_text_buffer media = {0};
    const char *data = NULL;
    bool inside = split_data_url(url, &media, &data);
    tn_value part = inside ? tn_build("{s:s, s:s, s:s, s:s*}", "type", type, "media_type", tn_text_chars(&media),
                                      "data", data, "name", name)
                           : tn_build("{s:s, s:s, s:s*}", "type", type, "url", url, "name", name);
    tn_text_free(&media);
    return part;
}

static tn_value image_part(tn_value part) {
    tn_value image = tn_get(part, "image_url");
    const char *url = tn.value->kind(image) == TN_OBJECT ? tn_get_text(image, "url", NULL) : tn_chars(image, NULL);
    const char *file = tn_get_text(part, "file_id", NULL);
    if (url != NULL) return media_part("image", url, NULL);
    return file != NULL ? tn_build("{s:s, s:s}", "type", "image", "file_id", file) : NULL;
}

static tn_value file_part(tn_value part) {
    tn_value file = tn_get(part, "file") != NULL ? tn_get(part, "file") : part;
    const char *data = tn_get_text(file, "file_data", tn_get_text(file, "file_url", NULL));
    const char *name = tn_get_text(file, "filename", NULL), *id = tn_get_text(file, "file_id", NULL);
    if (data != NULL) return media_part("file", data, name);
    return id != NULL ? tn_build("{s:s, s:s, s:s*}", "type", "file", "file_id", id, "name", name) : NULL;
}

static tn_value audio_part(tn_value part) {
    tn_value audio = tn_get(part, "input_audio");
    const char *data = tn_get_text(audio, "data", NULL), *format = tn_get_text(audio, "format", "wav");
    char media[64];
    (void)snprintf(media, sizeof media, "audio/%s", strcmp(format, "mp3") == 0 ? "mpeg" : format);
    return data != NULL ? tn_build("{s:s, s:s, s:s}", "type", "audio", "media_type", media, "data", data) : NULL;
}

static tn_value text_part(tn_value part) {
    tn_value text = tn_get(part, "text");
    return tn.value->kind(text) == TN_STRING ? tn_build("{s:s, s:v}", "type", "text", "text", text) : NULL;
}

static tn_value refusal_part(tn_value part) {
    tn_value text = tn_get(part, "refusal");
    return tn.value->kind(text) == TN_STRING ? tn_build("{s:s, s:v}", "type", "refusal", "text", text) : NULL;
}

static const struct {
    const char *type;
    tn_value (*read)(tn_value part);
} part_rows[] = {{"text", text_part},       {"input_text", text_part}, {"output_text", text_part},
                 {"refusal", refusal_part}, {"image_url", image_part}, {"input_image", image_part},
                 {"file", file_part},       {"input_file", file_part}, {"input_audio", audio_part}};

tn_value openai_part(tn_value part, bool *known) {
    const char *type = tn_get_text(part, "type", "");
    *known = false;
    for (size_t i = 0; i < sizeof part_rows / sizeof *part_rows; i++) {
        if (strcmp(part_rows[i].type, type) != 0) continue;
        *known = true;
        return part_rows[i].read(part);
    }
    return NULL;
}
