/*
 * chat_media.c - images, files and audio of Chat Completions, in the forms of the dialect. What a server does not know
 * is refused before the request, because a strict server would refuse the whole request for it.
 */
#include "dialect.h"
#include "openai.h"

bool openai_accepts_media(const struct model_call *call, const char *type) {
    const struct openai_dialect *dialect = openai_dialect(call);
    if (strcmp(type, "image") == 0) return dialect->images;
    return strcmp(type, "audio") == 0 ? dialect->audio : dialect->files;
}

static void media_put_image(struct model_call *call, tn_builder *builder, const struct model_media *media) {
    if (media->data == NULL && media->url == NULL)
        model_fail_request(call, "an image with a `file_id`, which chat does not accept: use `url` or `data`, or set "
                                 "`api: responses`");
    openai_begin_item(builder, NULL, "image_url");
    tn_put_begin(builder, "image_url", TN_OBJECT);
    if (media->url != NULL)
        tn_put(builder, "url", media->url);
    else if (media->data != NULL)
        tn_put_take(builder, "url", model_media_to_data_url(media));
    tn.value->end(builder);
    tn.value->end(builder);
}

/* "audio/x-wav" is "wav", "audio/ogg; codecs=opus" is "ogg": a service that does not accept it says so. */
static const char *media_audio_format(const char *type) {
    static const char *const formats[] = {"wav", "flac", "ogg", "opus", "aac", "m4a", "aiff", "webm"};
    for (size_t i = 0; type != NULL && i < sizeof(formats) / sizeof(formats[0]); i++)
        if (strstr(type, formats[i]) != NULL) return formats[i];
    return type != NULL && strstr(type, "mp4") != NULL ? "m4a" : "mp3";
}

static void media_put_audio(struct model_call *call, tn_builder *builder, const struct model_media *media) {
    if (media->data == NULL) model_fail_request(call, "audio without `data`: expected base64, or bytes");
    openai_begin_item(builder, NULL, "input_audio");
    tn_put_begin(builder, "input_audio", TN_OBJECT);
    if (media->data != NULL) tn_put(builder, "data", media->data);
    tn_put_text(builder, "format", media_audio_format(media->media_type));
    tn.value->end(builder);
    tn.value->end(builder);
}

static void media_put_file(struct model_call *call, tn_builder *builder, const struct model_media *media,
                           tn_value part) {
    if (media->data == NULL && media->file_id == NULL)
        model_fail_request(call, "a file with a `url`, which chat does not accept: use `data` or `file_id`, or set "
                                 "`api: responses`");
    openai_begin_item(builder, NULL, "file");
    tn_put_begin(builder, "file", TN_OBJECT);
    if (media->file_id != NULL)
        tn_put(builder, "file_id", media->file_id);
    else if (media->data != NULL) {
        tn_put_text(builder, "filename", tn_get_text(part, "name", "file"));
        tn_put_take(builder, "file_data", model_media_to_data_url(media));
    }
    tn.value->end(builder);
    tn.value->end(builder);
}

void openai_put_media(struct model_call *call, tn_builder *builder, tn_value part, const char *type) {
    struct model_media media;
    if (!openai_accepts_media(call, type)) {
        model_fail(call, "UNSUPPORTED",
                   "a part of type `%s`, which this service does not accept: remove it, or use another model", type);
        return;
    }
    if (!model_media_init(&media, part)) {
        model_fail_request(call, "a part of type `%s` is empty: expected `url`, `data` (base64, or bytes) or `file_id`",
                           type);
        return;
    }
    bool written = openai_put_chunk(call, builder, part, &media); /* in Mistral's form */
    if (!written && strcmp(type, "image") == 0)
        media_put_image(call, builder, &media);
    else if (!written && strcmp(type, "audio") == 0)
        media_put_audio(call, builder, &media);
    else if (!written)
        media_put_file(call, builder, &media, part);
    model_media_finish(&media);
}
