/*
 * openai.h - declarations that the two interfaces of this provider share: Chat Completions, which compatible servers
 * implement, and Responses.
 *
 * Each interface has a file that builds requests and one that reads answers. A reader passes texts, parts and tool
 * calls to the functions of model.h, and stores in `struct openai_call` only the data that later events need.
 */
#ifndef TENON_PLUGINS_OPENAI_H
#define TENON_PLUGINS_OPENAI_H

#include <model.h>

/* The state of <think> in a text of Chat Completions (chat_think.c). */
struct chat_think {
    int state;        /* 0 at the start of the answer */
    char pending[32]; /* the start of a tag, or of the answer */
    uint64_t length;
};

/* What Chat Completions has beside its texts and calls, until the answer ends (chat_extras.c). */
struct chat_extras {
    tn_value details;    /* reasoning_details, all pieces in order; an array, or NULL */
    tn_value citations;  /* an array of addresses, or NULL */
    tn_value results;    /* search_results, an array, or NULL */
    tn_value references; /* ids of Mistral's references, each once; an array, or NULL */
    tn_value audio_id;   /* of the audio of the answer, or NULL */
    struct model_audio audio;
    bool is_cited;
};

/* The state of one call. */
struct openai_call {
    tn_value items;         /* of Responses: the items for `extra`, in the service's order; an array, or NULL */
    tn_value logprobs;      /* an array, or NULL */
    int64_t sequence;       /* the last event's number, if events are numbered */
    int64_t text_at;        /* output_index + 1 of the item whose text was streamed; 0: no such item */
    int64_t reasoning_at;   /* the same, for reasoning */
    int64_t parallel_index; /* output_index + 1 of the open call of "parallel" (see below); 0: no such call */
    struct chat_think think;
    struct chat_extras extras;
    tn_value background_id; /* stored.c: of the response that runs at the service; NULL: none */
    uint64_t poll_timer;    /* stored.c: 0: none */
    uint32_t poll_failures; /* stored.c: one after the other */
    bool keep_items;        /* `items` contains data that the message does not */
    bool sent_audio_id;     /* chat_speech.c: the request names audio that the service keeps, which may be gone */
    bool forgot_audio;      /* the service refused such a request: the next one has the text instead */
    bool received;          /* a part of the answer was received */
};

void openai_chat_start(struct model_call *call);
void openai_chat_event(struct model_call *call, const char *name, tn_value json);
void openai_chat_answer(struct model_call *call, tn_value json);

/* chat_media.c: true if the server accepts parts of the type `image`, `file` or `audio`. */
bool openai_accepts_media(const struct model_call *call, const char *type);
/* Writes such a part of a user's message. Fails the call if it is not well-formed, or not accepted. */
void openai_put_media(struct model_call *call, tn_builder *builder, tn_value part, const char *type);

/* chat_think.c: adds a text of the answer; what is inside of <think> becomes reasoning. */
void openai_think_add(struct model_call *call, tn_value text);
/* The text is complete: adds what is still pending. */
void openai_think_end(struct model_call *call);

/* ---- chat_speech.c: speech of Chat Completions ---- */

/* Writes `modalities` and `audio`. */
void openai_put_modalities(struct model_call *call, tn_builder *builder);
/* False if the answer must be requested in one piece, because the service does not stream the format of its audio. */
bool openai_speech_streams(const struct model_call *call);
/* Writes the id of the audio in a message of the model instead of its text. False: the text must be sent. */
bool openai_put_audio_id(struct model_call *call, tn_builder *builder, tn_value message);
/* `retry` of the provider's table. */
bool openai_speech_retry(struct model_call *call, int64_t status, const char *code);
/* Reads `audio` of a message or a delta, and adds its part. */
void openai_speech_read(struct model_call *call, tn_value audio);
void openai_speech_finish(struct model_call *call);

/* chat_extras.c: reads reasoning_details, extra audio and citations of a message, a delta or the answer. */
void openai_extras_read_message(struct model_call *call, tn_value message, bool has_reasoning);
void openai_extras_read_answer(struct model_call *call, tn_value json);
/* Reads `reference_ids`; each id becomes a source. Does nothing if it is not an array. */
void openai_extras_read_references(struct model_call *call, tn_value ids);
/* Adds the parts and the extra of what was read. */
void openai_extras_finish(struct model_call *call);
void openai_extras_release(struct chat_extras *extras);

/* chat_chunks.c: Reads a content that is a text or a list of chunks. */
void openai_read_content(struct model_call *call, tn_value content);
/* Writes `content` with the model's thoughts, if the server needs them there. Returns false if it does not. */
bool openai_put_thinking(struct model_call *call, tn_builder *builder, tn_value content);
/* Writes audio or a file as a chunk. Returns false if the server does not have such chunks. */
bool openai_put_chunk(struct model_call *call, tn_builder *builder, tn_value part, const struct model_media *media);

void openai_responses_start(struct model_call *call);
void openai_responses_event(struct model_call *call, const char *name, tn_value json);
void openai_responses_answer(struct model_call *call, tn_value json);

/* ---- stored.c: Responses that the service stores ---- */

/* True if the response runs in the background: it is not streamed. */
bool openai_is_background(const struct model_call *call);
/* The index of the first message that the service does not have. */
uint64_t openai_first_message(const struct model_call *call);
/* Writes store, background and previous_response_id. */
void openai_put_stored(const struct model_call *call, tn_builder *builder);
/* Returns true if the response still runs. It will then be read again, as another answer. */
bool openai_wait_for_stored(struct model_call *call, tn_value response);
/* `retry` of the provider's table: a response that runs is read again after a failure that may pass. */
bool openai_retry_stored(struct model_call *call, int64_t status, const char *code);
/* Keeps the id for the next request, if the service stores the response. */
void openai_keep_response_id(struct model_call *call, tn_value response);
/* Releases what stored.c has of the call. A response that still runs is cancelled. */
void openai_release_stored(struct model_call *call);

/* ---- For both interfaces ---- */

/* True for a non-empty text. */
bool openai_is_text(tn_value value);
/* Returns the concatenated texts of the text and refusal parts of a content, a new reference; "" if it has none. */
tn_value openai_join_text(tn_value content);
/* The same for parts of the types `first` and `second`, which may be NULL. */
tn_value openai_join_parts(tn_value content, const char *first, const char *second);
/* Starts the next item, {"type": type, …}. The caller ends it. */
void openai_begin_item(tn_builder *builder, const char *key, const char *type);
/* Returns tools[].input_schema, or a schema without arguments. A new reference. */
tn_value openai_get_parameters(tn_value tool);
/* Returns {type: "source", …} for a citation in the form of either interface; a new reference, or NULL. */
tn_value openai_build_source(tn_value annotation);
/* Appends the items of another array to *array, which is NULL at first. */
void openai_append_all(tn_value *array, tn_value items);

/*
 * True for a call of "parallel" (or "multi_tool_use.parallel") if no such tool was offered. Some models were trained to
 * call several tools through it and sometimes still do. If all tools that it names were offered, it is replaced by
 * calls of these tools. Otherwise it stays a call, and the model receives the error that the tool does not exist.
 */
bool openai_is_parallel_call(struct model_call *call, tn_value item);
/* Adds the calls inside such a call, or the call itself. `index` is its output_index. */
void openai_expand_parallel_call(struct model_call *call, int64_t index, tn_value item);

/* azure.c: `create` of the provider's table. */
int32_t openai_azure_create(struct model *model);
/* background.c: The plugin's section of tenon.yaml; borrowed. */
tn_value openai_get_section(void);

/* Writes the schema of a structured output into an open object, and, if the server knows them, its name and `strict`.
 */
void openai_put_format(const struct model_call *call, tn_builder *builder, bool named, bool strict);
/* True if the request must contain the schema as a text, because the server only knows JSON without a schema. */
bool openai_schema_in_prompt(const struct model_call *call);

#endif
