/*
 * bedrock.h - declarations that the files of this plugin share.
 *
 *     bedrock.c   the provider's table, addresses, credentials      request.c  builds requests: options, tools
 *     frames.c    splits the binary stream into events              blocks.c   converts messages to blocks
 *     answer.c    reads events and answers                          error.c    reads errors
 *     embed.c     embeddings, over InvokeModel
 *
 * The service's messages are lists of blocks with one member each: {text}, {image}, {document}, {toolUse},
 * {toolResult}, {reasoningContent}, {citationsContent}, {cachePoint}. Signatures of reasoning and citations are kept in
 * the extra.bedrock of a part, and sent back.
 */
#ifndef TENON_PLUGINS_BEDROCK_H
#define TENON_PLUGINS_BEDROCK_H

#include "frames.h"
#include "model.h"

#define BEDROCK_ANSWER_TOOL "tenon_answer" /* with `structured_output: tool`, a call of this tool is the answer */
#define BEDROCK_URL_MAX     4096           /* bytes of an address: endpoint and model */
#define BEDROCK_REGION_MAX  40

/* Families of models whose requests differ. */
enum bedrock_family { FAMILY_OTHER, FAMILY_ANTHROPIC, FAMILY_NOVA, FAMILY_OPENAI, FAMILY_MISTRAL };

/* A configured model: the provider_data of a struct model. */
struct bedrock {
    enum bedrock_family family;
    char region[BEDROCK_REGION_MAX + 1]; /* "" if it is not known */
    char url[BEDROCK_URL_MAX];           /* "https://HOST/model/MODEL" */
    bool uses_default_credentials;       /* the host is Amazon's or the operator's, and none are configured */
    int64_t skew_ms;                     /* how far the service's clock is ahead */
};

/* The state of a call: the provider_data of a struct model_call. */
struct bedrock_call {
    struct frames frames;
    tn_value body;         /* of the request; kept because it may be sent again */
    int64_t skew_ms;       /* of the model's clock when it was sent */
    bool retried;          /* it was sent again with another clock */
    uint64_t embedded;     /* texts in all requests so far */
    bool started, stopped; /* an event, messageStop was received */
    /* The open block. */
    enum { BLOCK_NONE, BLOCK_CONTENT, BLOCK_TOOL, BLOCK_ANSWER, BLOCK_SKIPPED } block;
    int64_t index;
    bool has_text, has_reasoning; /* a part of the block was emitted */
    tn_value citations;           /* an array, or NULL */
    struct tn_text_buffer signature, bytes;
    const char *image; /* the media type of `bytes`; NULL: not an image */
};

/* bedrock.c */
void bedrock_put(tn_builder *builder, const char *key, tn_value value); /* does nothing if value is NULL or null */
bool bedrock_has_type(tn_value object, const char *type);               /* true if its `type` is `type` */

/* request.c: Returns the body of a request, a new reference. Unspecified after the call has failed. */
tn_value bedrock_request(struct model_call *call);
bool bedrock_uses_answer_tool(const struct model_call *call);

/*
 * embed.c: Returns the body of the next request, a new reference. Unspecified after the call has failed. Reads its
 * answer; returns true if another request is needed.
 */
tn_value bedrock_embed_request(struct model_call *call);
bool bedrock_embed_answer(struct model_call *call, tn_value json);

/* blocks.c: Puts `system` and `messages` into the body. */
void bedrock_put_messages(struct model_call *call, tn_builder *builder);
/* Writes a cache point as the next block. `ttl` may be NULL. */
void bedrock_put_cache_point(tn_builder *builder, const char *ttl);
/* Returns the duration of `cache`: "" for the service's default, "5m", "1h"; NULL if it is off. */
const char *bedrock_cache(const struct model_call *call);

/* answer.c */
void bedrock_event(struct model_call *call, const char *name, tn_value json);
void bedrock_data(struct model_call *call, const void *bytes, uint64_t length);
void bedrock_answer(struct model_call *call, tn_value json);
void bedrock_answer_release(struct bedrock_call *state);

/* error.c */
void bedrock_error(struct model_call *call, tn_value body, struct tn_model_failure *failure);
/* True if the service refused the signature because of its time. */
bool bedrock_is_clock_error(tn_value headers);

#endif
