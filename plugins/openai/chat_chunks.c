/*
 * chat_chunks.c - a content that is a list of chunks, as Mistral has it.
 *
 * Beside text and images there are thoughts, {type: thinking, thinking: [{type: text, text}], signature?}; references
 * to results of tools, {type: reference, reference_ids}, only in answers; and, in requests, documents, files and audio
 * in forms that differ from OpenAI's. A signature is kept in the part's extra.openai, and sent back.
 */
#include "dialect.h"
#include "openai.h"

/* ---- Requests ---- */

bool openai_put_chunk(struct model_call *call, tn_builder *builder, tn_value part, const struct model_media *media) {
    const char *form = openai_dialect(call)->media, *name = tn_get_text(part, "name", NULL);
    bool audio = strcmp(tn_get_text(part, "type", ""), "audio") == 0;
    if (form == NULL || strcmp(form, "chunks") != 0 || strcmp(tn_get_text(part, "type", ""), "image") == 0)
        return false;
    if (audio && media->data == NULL && media->url == NULL) return false;
    if (audio) {
        openai_begin_item(builder, NULL, "input_audio");
        tn_put(builder, "input_audio", media->data != NULL ? media->data : media->url);
    } else if (media->file_id != NULL) {
        openai_begin_item(builder, NULL, "file");
        tn_put(builder, "file_id", media->file_id);
    } else {
        openai_begin_item(builder, NULL, "document_url");
        if (media->url != NULL)
            tn_put(builder, "document_url", media->url);
        else
            tn_put_take(builder, "document_url", model_media_to_data_url(media));
        if (name != NULL) tn_put_text(builder, "document_name", name);
    }
    tn.value->end(builder);
    return true;
}

static void chunk_put_text(tn_builder *builder, tn_value text) {
    openai_begin_item(builder, NULL, "text");
    tn_put(builder, "text", text);
    tn.value->end(builder);
}

static bool chunk_is_thought(tn_value part) {
    return strcmp(tn_get_text(part, "type", ""), "reasoning") == 0 && openai_is_text(tn_get(part, "text"));
}

bool openai_put_thinking(struct model_call *call, tn_builder *builder, tn_value content) {
    const char *out = openai_dialect(call)->reasoning_out;
    uint64_t count = tn.value->kind(content) == TN_ARRAY ? tn.value->count(content) : 0, thoughts = 0;
    if (out == NULL || strcmp(out, "thinking") != 0) return false;
    for (uint64_t i = 0; i < count; i++) thoughts += chunk_is_thought(tn.value->at(content, i));
    if (thoughts == 0) return false;
    tn_put_begin(builder, "content", TN_ARRAY);
    for (uint64_t i = 0; i < count; i++) {
        tn_value part = tn.value->at(content, i), text = tn_get(part, "text");
        tn_value signature = tn_get(model_get_extra(call, part), "signature");
        const char *type = tn_get_text(part, "type", "");
        if (chunk_is_thought(part)) {
            openai_begin_item(builder, NULL, "thinking");
            tn_put_begin(builder, "thinking", TN_ARRAY);
            chunk_put_text(builder, text);
            tn.value->end(builder);
            if (openai_is_text(signature)) tn_put(builder, "signature", signature);
            tn.value->end(builder);
        } else if ((strcmp(type, "text") == 0 || strcmp(type, "refusal") == 0) && openai_is_text(text))
            chunk_put_text(builder, text);
    }
    tn.value->end(builder);
    return true;
}

/* ---- Answers ---- */

static void chunk_read_thinking(struct model_call *call, tn_value chunk) {
    tn_value thinking = tn_get(chunk, "thinking"), signature = tn_get(chunk, "signature");
    for (uint64_t i = 0; tn.value->kind(thinking) == TN_ARRAY && i < tn.value->count(thinking); i++)
        model_add_reasoning(call, tn_get(tn.value->at(thinking, i), "text"));
    if (tn.value->kind(thinking) == TN_ARRAY && openai_is_text(signature))
        model_set_part_extra(call, "signature", signature);
}

void openai_read_content(struct model_call *call, tn_value content) {
    openai_think_add(call, content);
    for (uint64_t i = 0; tn.value->kind(content) == TN_ARRAY && i < tn.value->count(content); i++) {
        tn_value chunk = tn.value->at(content, i);
        chunk_read_thinking(call, chunk);
        openai_extras_read_references(call, tn_get(chunk, "reference_ids"));
        openai_think_add(call, tn_get(chunk, "text"));
    }
}
