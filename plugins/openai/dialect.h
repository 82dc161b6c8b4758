/*
 * dialect.h - what a server with a compatible API knows: the flags of the configuration's `dialect`.
 *
 * presets.json has a row for each vendor, and the manifest describes each flag. Without `dialect`, OpenAI's own servers
 * get its newer names, and any other server gets the older names and back what it has sent.
 */
#ifndef TENON_PLUGINS_OPENAI_DIALECT_H
#define TENON_PLUGINS_OPENAI_DIALECT_H

#include <model.h>

/* Texts are borrowed from the configuration, or literals. NULL: the server does not know it, or does not need it. */
struct openai_dialect {
    const char *structured;       /* "json_schema", "json_object", "prompt" */
    const char *max_tokens;       /* the name of the option */
    const char *seed;             /* the name of the option, or NULL */
    const char *dimensions;       /* the name of the option of embeddings, or NULL */
    const char *reasoning_effort; /* "reasoning_effort", "reasoning" ({effort, max_tokens}), or NULL */
    const char *reasoning_in;     /* the member with the reasoning; NULL: the usual ones */
    const char *reasoning_out;    /* how reasoning is sent back: a member, "thinking" (a part), or NULL */
    const char *required;         /* tool_choice for a call of any tool; "message": a user's message asks for it */
    const char *call_ids;         /* "any", "nine" */
    const char *tool_media;       /* "user", "tool", or NULL */
    const char *media;            /* "chunks": audio and files as in chat_chunks.c; NULL: as OpenAI's */
    const char *think;            /* "start", "open", "never" */
    const char *speech;           /* "any", "stream", or NULL */
    const char *cached, *cache_write, *reasoning; /* members of usage, as `a.b`; NULL: the usual ones */
    bool stream_options, strict, format_name, developer, names, stop, tools, tool_choice, parallel_tool_calls,
        extra_content, prefix, strict_order, images, files, audio;
    bool is_own;       /* a server of OpenAI, also on Azure */
    bool details_back; /* reasoning_details are sent back if the message has them */
    bool audio_back;   /* the ids of audio are sent back */
};

/* Of the model's `create` and `destroy`. */
int32_t openai_dialect_create(struct model *model);
void openai_dialect_destroy(struct model *model);

static inline const struct openai_dialect *openai_dialect(const struct model_call *call) {
    return call->model->provider_data;
}

#endif
