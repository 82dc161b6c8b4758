/*
 * chat_speech.c - speech of Chat Completions: what a request has for it, and the audio of answers.
 *
 * OpenAI streams only raw PCM, and returns the other formats in one piece. Other services stream all audio. A stream of
 * raw PCM becomes a WAV file, so `speech.format` is the same for both. Messages of the model are sent back by the id of
 * their audio, which OpenAI keeps for an hour; if it is gone, or was made by another service, the request is sent once
 * more with the text that was spoken.
 */
#include "dialect.h"
#include "openai.h"

#define VOICE "alloy" /* the service has no default */

/* ---- Requests ---- */

static bool word_is(const char *word, const char *other) { return word != NULL && strcmp(word, other) == 0; }

/* The format that the service sends. `extra` overrides what we request. */
static const char *speech_wire_format(const struct model_call *call) {
    const char *format = tn_get_text(tn_get(model_get_option(call, "extra"), "audio"), "format", NULL);
    if (format != NULL) return format;
    format = model_get_speech(call, "format", "wav");
    return word_is(format, "wav") && model_is_streaming(call) ? "pcm16" : format;
}

bool openai_speech_streams(const struct model_call *call) {
    return !model_wants(call, "audio") || word_is(openai_dialect(call)->speech, "stream") ||
           word_is(speech_wire_format(call), "pcm16");
}

/* False, and the call has failed, if the service has no speech. */
static bool speech_check(struct model_call *call) {
    const char *speech = openai_dialect(call)->speech;
    if (speech == NULL)
        model_fail(
            call, "UNSUPPORTED",
            "this service returns no speech: use another model, or remove `speech` and \"audio\" of `modalities`; "
            "if the service does return it, set `dialect: {speech: any}`");
    else if (strcmp(speech, "stream") == 0 && !model_is_streaming(call))
        model_fail(call, "UNSUPPORTED", "this service returns speech only in streams: remove `stream: false`");
    return !call->ended;
}

void openai_put_modalities(struct model_call *call, tn_builder *builder) {
    bool image = model_wants(call, "image");
    if (image && openai_dialect(call)->is_own)
        model_fail(call, "UNSUPPORTED", "chat cannot return images: set `api: responses`, or remove `modalities`");
    else if (!model_wants(call, "audio")) {
        if (image) model_put_option(call, builder, "modalities", "modalities");
    } else if (speech_check(call)) {
        tn_put_begin(builder, "modalities", TN_ARRAY);
        tn_put_text(builder, NULL, "text"); /* there is no audio without its text */
        tn_put_text(builder, NULL, "audio");
        if (image) tn_put_text(builder, NULL, "image");
        tn.value->end(builder);
        tn_put_begin(builder, "audio", TN_OBJECT);
        tn_put_text(builder, "voice", model_get_speech(call, "voice", VOICE));
        tn_put_text(builder, "format", speech_wire_format(call));
        tn.value->end(builder);
    }
}

bool openai_put_audio_id(struct model_call *call, tn_builder *builder, tn_value message) {
    struct openai_call *state = call->provider_data;
    tn_value content = tn_get(message, "content"), id = NULL;
    if (state->forgot_audio || !openai_dialect(call)->audio_back || !model_wants(call, "audio")) return false;
    for (uint64_t i = 0, count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0; i < count; i++) {
        tn_value part = tn.value->at(content, i);
        if (strcmp(tn_get_text(part, "type", ""), "audio") == 0) id = tn_get(model_get_extra(call, part), "id");
    }
    if (!openai_is_text(id)) return false;
    tn_put_begin(builder, "audio", TN_OBJECT);
    tn_put(builder, "id", id);
    tn.value->end(builder);
    return state->sent_audio_id = true;
}

bool openai_speech_retry(struct model_call *call, int64_t status, const char *code) {
    struct openai_call *state = call->provider_data;
    (void)code;
    if (!state->sent_audio_id || state->forgot_audio || (status != 400 && status != 404 && status != 422)) return false;
    state->forgot_audio = true;
    openai_chat_start(call);
    return true;
}

/* ---- Answers ---- */

void openai_speech_read(struct model_call *call, tn_value audio) {
    struct chat_extras *extras = &((struct openai_call *)call->provider_data)->extras;
    if (tn.value->kind(audio) != TN_OBJECT) return;
    if (openai_is_text(tn_get(audio, "id")) && extras->audio_id == NULL)
        extras->audio_id = tn_retain(tn_get(audio, "id"));
    model_add_text(call, tn_get(audio, "transcript"));
    model_audio_add(call, &extras->audio, tn_get(audio, "data"));
}

/* The type of what was requested: a stream has no header from which it could be read. */
static const char *speech_media_type(const struct model_call *call) {
    static const char *const types[][2] = {{"wav", "audio/wav"},   {"mp3", "audio/mpeg"},
                                           {"flac", "audio/flac"}, {"opus", "audio/opus"},
                                           {"aac", "audio/aac"},   {"pcm16", "audio/pcm;rate=24000"}};
    bool requested = model_wants(call, "audio") || tn_get(model_get_option(call, "extra"), "audio") != NULL;
    for (size_t i = 0; requested && i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(types[i][0], speech_wire_format(call)) == 0) return types[i][1];
    return NULL;
}

void openai_speech_finish(struct model_call *call) {
    struct chat_extras *extras = &((struct openai_call *)call->provider_data)->extras;
    tn_value extra = extras->audio_id != NULL ? tn_build("{s:v}", "id", extras->audio_id) : NULL;
    model_audio_finish(call, &extras->audio, speech_media_type(call), extra);
    tn_release(extra);
}
