/*
 * audio.c - what an answer may contain beside text, and its audio.
 *
 * Services send speech in pieces, and in streams without a header. The pieces become one part when the audio ends, so
 * that a reader gets what it can play.
 */
#include "internal.h"
#include <tenon/base64.h>
#include <tenon/util/wav.h>

/* ---- Options ---- */

static bool modality_is(tn_value value, const char *modality) {
    const char *word = tn_chars(value, NULL);
    return word != NULL && strcmp(word, modality) == 0;
}

bool model_wants(const struct model_call *call, const char *modality) {
    tn_value modalities = model_get_option(call, "modalities");
    for (uint64_t i = 0, count = tn.value->count(modalities); i < count; i++)
        if (modality_is(tn.value->at(modalities, i), modality)) return true;
    return modalities == NULL && strcmp(modality, "audio") == 0 && model_get_option(call, "speech") != NULL;
}

void model_refuse_modalities(struct model_call *call, bool images, const char *returned) {
    tn_value modalities = model_get_option(call, "modalities");
    const char *other = model_wants(call, "audio") ? "audio" : NULL;
    for (uint64_t i = 0, count = tn.value->count(modalities); i < count && other == NULL; i++) {
        tn_value value = tn.value->at(modalities, i);
        if (!modality_is(value, "text") && !(images && modality_is(value, "image"))) other = tn_chars(value, NULL);
    }
    if (other != NULL)
        model_fail(call, "UNSUPPORTED", "`%s` asks for \"%s\", but %s returns only %s: use another model",
                   modalities != NULL ? "modalities" : "speech", other, call->model->provider->name, returned);
}

const char *model_get_speech(const struct model_call *call, const char *name, const char *otherwise) {
    return tn_get_text(model_get_option(call, "speech"), name, otherwise);
}

/* ---- Parts ---- */

tn_value model_pcm_to_wav(const void *samples, uint64_t length, const struct tn_pcm *pcm) {
    unsigned char *file = model_memory_alloc(TN_WAV_HEADER_SIZE + length);
    if (file == NULL) return NULL;
    tn_wav_put_header(file, pcm, length);
    memcpy(file + TN_WAV_HEADER_SIZE, samples, length);
    tn_value text = model_bytes_to_base64(file, TN_WAV_HEADER_SIZE + length);
    model_memory_free(file);
    return text;
}

void model_audio_add(struct model_call *call, struct model_audio *audio, tn_value base64) {
    uint64_t length = 0, wanted;
    const char *text = tn_chars(base64, &length);
    if (text == NULL || length == 0 || call->ended) return;
    wanted = audio->length + length / 4 * 3 + 3;
    if (!tn_is_base64(text, length)) {
        model_fail_response(call, "audio that is not base64");
        return;
    }
    if (wanted > MODEL_AUDIO_MAX) {
        model_fail(call, "LIMIT", "the audio of the answer is longer than 64 MiB: ask for less, or for another format");
        return;
    }
    if (wanted > audio->capacity) {
        uint64_t capacity = wanted * 2 < MODEL_AUDIO_MAX ? wanted * 2 : MODEL_AUDIO_MAX;
        unsigned char *grown = model_memory_alloc(capacity);
        if (grown == NULL) {
            model_fail(call, "LIMIT", "not enough memory for the audio of the answer");
            return;
        }
        if (audio->length > 0) memcpy(grown, audio->bytes, audio->length);
        model_memory_free(audio->bytes);
        audio->bytes = grown;
        audio->capacity = capacity;
    }
    audio->length += tn_base64_take(text, length, audio->bytes + audio->length, audio->capacity - audio->length);
}

void model_audio_finish(struct model_call *call, struct model_audio *audio, const char *media_type, tn_value extra) {
    struct tn_pcm pcm = {TN_PCM_RATE, 1};
    bool is_wav = audio->length >= TN_WAV_HEADER_SIZE && memcmp(audio->bytes, "RIFF", 4) == 0;
    bool is_pcm = tn_pcm_read(media_type, &pcm) || (media_type != NULL && strcmp(media_type, "audio/wav") == 0);
    bool adds_header = is_pcm && !is_wav && strcmp(model_get_speech(call, "format", "wav"), "pcm16") != 0;
    if (audio->length == 0 || call->ended) return;
    if (is_wav || adds_header)
        media_type = "audio/wav";
    else if (media_type == NULL)
        media_type = model_detect_media_type(audio->bytes, audio->length);
    tn_value data = adds_header ? model_pcm_to_wav(audio->bytes, audio->length, &pcm)
                                : model_bytes_to_base64(audio->bytes, audio->length);
    tn_value members = extra != NULL ? tn_build("{s:v}", call->model->provider->name, extra) : NULL;
    tn_value part =
        tn_build("{s:s,s:s,s:v,s:v*}", "type", "audio", "media_type",
                 media_type != NULL ? media_type : "application/octet-stream", "data", data, "extra", members);
    audio->length = 0;
    if (part == NULL) model_fail(call, "LIMIT", "not enough memory for the audio of the answer");
    model_add_part(call, part);
    tn_release(part);
    tn_release(members);
    tn_release(data);
}

void model_audio_release(struct model_audio *audio) { model_memory_free(audio->bytes); }
