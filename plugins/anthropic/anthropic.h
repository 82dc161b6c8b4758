/*
 * anthropic.h - declarations that the files of this plugin share, and how blocks and messages are converted.
 *
 * The service's messages are lists of blocks; Tenon's messages have content and tool calls. Texts, thinking and tool
 * calls are converted. Any other block (of the service's tools, of compaction, of a future type) is kept unchanged in
 * `blocks` of the message's extra.anthropic: {parts: N, list: [{part: I} | {call: ID} | BLOCK …]}. The list has the
 * order of all blocks. `blocks` exists only if the order is not "the content, then the calls". When the message is sent
 * back, `blocks` is used only if the content still has N parts; otherwise the content was edited.
 *
 *     request.c    builds requests                blocks.c     converts messages to blocks
 *     answer.c     reads events and answers       structure.c  converts JSON Schemas
 *     vertex.c     Claude on Google's Vertex
 */
#ifndef TENON_PLUGINS_ANTHROPIC_H
#define TENON_PLUGINS_ANTHROPIC_H

#include "model.h"
#include "token.h"

#define ANTHROPIC_MAX_TOKENS  16384          /* the default; the service requires a limit */
#define ANTHROPIC_ANSWER_TOOL "tenon_answer" /* with `structured_output: tool`, a call of this tool is the answer */

/* Pieces of a text, concatenated when the block ends. At most TN_ANSWER_TEXT_MAX bytes. */
struct pieces {
    const char *key; /* the block's member that they belong to; NULL: no pieces yet */
    tn_value list;   /* an array, or NULL */
    uint64_t length;
};

/* The state of reading one answer. */
struct reading {
    bool started, stopped;  /* message_start, message_stop was received */
    tn_value block;         /* the open block as it started; NULL if no block is open */
    int64_t index;          /* its number */
    bool counted;           /* the block has been counted in `parts` */
    struct pieces pieces;   /* of the block's input (as JSON), of its signature, or of another text */
    tn_value citations;     /* an array, or NULL */
    tn_value order;         /* `list` of extra.anthropic.blocks */
    uint64_t parts;         /* number of parts of the content */
    bool calls, keep_order; /* a tool call was read; the order of the blocks must be stored */
    tn_value stop_reason;   /* NULL: not received yet */
    tn_value stop_details;  /* why the model declined */
    struct counts {
        int64_t input, output, read, written, reasoning, more_input, more_output;
    } counts; /* -1: not reported. more_*: tokens of compactions, which the service counts separately */
};

/* What vertex.c needs of a call. */
struct vertex_call {
    struct model_call *call;
    tn_value body, header; /* of the request; the token of the last attempt */
    bool retried;          /* it was repeated with another token */
    struct token_wait wait;
};

/* The provider_data of a struct model_call. */
struct anthropic_call {
    struct reading reading; /* the first member, so that it is found without this type */
    struct vertex_call vertex;
};

/* anthropic.c */
void anthropic_put(tn_builder *builder, const char *key, tn_value value); /* does nothing if value is NULL or null */
bool anthropic_has_type(tn_value object, const char *type);               /* true if its `type` is `type` */

/* Returns {anthropic-version, anthropic-beta?}, a new reference; on Vertex without the version. */
tn_value anthropic_headers(const struct model_call *call);

/* request.c: Returns the body of a request, a new reference. Unspecified after the call has failed. */
tn_value anthropic_request(struct model_call *call);

/* blocks.c: Puts `system` and `messages` into the body. */
void anthropic_put_messages(struct model_call *call, tn_builder *builder);

/* structure.c: Returns the schema with unsupported constraints moved to descriptions, a new reference. */
tn_value anthropic_convert_schema(tn_value schema);

/* answer.c */
void anthropic_event(struct model_call *call, const char *name, tn_value json);
void anthropic_answer(struct model_call *call, tn_value json);
void anthropic_release(struct model_call *call);

/* vertex.c: The functions of the provider's table; a model that is not on Vertex has no provider_data. */
#define ANTHROPIC_VERTEX_VERSION "vertex-2023-10-16" /* `anthropic_version` of a body */
bool anthropic_is_on_vertex(const struct model_call *call);
int32_t anthropic_vertex_create(struct model *model);
void anthropic_vertex_destroy(struct model *model);
/* Sends the body, when there is a token. Retains it. */
void anthropic_vertex_start(struct model_call *call, tn_value body);
bool anthropic_vertex_retry(struct model_call *call, int64_t status, const char *code);
/* Reads an error that is Google's own. Does nothing if it is not; the call may have failed. */
void anthropic_vertex_error(struct model_call *call, tn_value body, struct tn_model_failure *failure);
void anthropic_vertex_release(struct model_call *call);

#endif
