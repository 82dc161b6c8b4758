/*
 * chat.h - one answer of a model: sends the request, then parses and checks the answer, and requests a repair if
 * needed.
 *
 * A `struct chat` is the part of a node's configuration that describes its model; llm and router contain one. A `struct
 * chat_turn` is one use of it. It builds the request from channels and calls the model. If the answer does not match
 * `output_schema`, it calls the model once more with a list of the violations. Then it calls `done` exactly once: with
 * TN_OK and the answer in the turn; with TN_INVALID if the last answer does not match either; or with TN_FAILED if the
 * task has failed.
 *
 *     status = chat_bind(&node->chat, config, binder);                     // in create
 *     return chat_start(&node->chat, task, done, node);                    // in start
 *     static void done(struct chat_turn *turn, int32_t status) {
 *         if (status == TN_INVALID) chat_fail_invalid(turn);
 *         if (status == TN_OK) write(turn->message), tn_done(turn->task);
 *         chat_turn_free(turn);
 *     }
 */
#ifndef TENON_PLUGINS_AGENTS_CHAT_H
#define TENON_PLUGINS_AGENTS_CHAT_H

#include "search.h"

#define CHAT_REPAIRS 1u /* repairs of one answer */

struct chat {
    uint32_t model, system, prompt, input, messages; /* TN_UNBOUND if not configured */
    uint32_t tools, schema, options_channel, client_tools;
    struct search search; /* of the tools */
    bool with_tools, with_schema, as_json, text_tools;
    bool no_repair;                 /* TN_INVALID after the first answer that does not match */
    uint64_t max_turns;             /* 0: no limit */
    tn_value options, schema_value; /* borrowed from the configuration; may be NULL */
    tn_value choices; /* NULL, or an object: an answer that is exactly a key of it is {route: KEY}; borrowed */
    const char *input_name, *messages_name, *options_name, *client_tools_name;
};

/* Sums of the calls of a turn. A member that no call reported is absent in the result. */
struct chat_usage {
    int64_t counts[6];
    bool reported[6];
    uint32_t calls;
};

struct chat_turn {
    const struct chat *chat;
    tn_task task;
    void (*done)(struct chat_turn *turn, int32_t status);
    void *user;
    tn_value definitions; /* of the tools that are offered; may be NULL */
    tn_value history;     /* before this turn, normalised; NULL if no channel of messages is read */
    tn_value added;       /* the messages of `prompt` or `input_key`: an array, may be empty */
    tn_value sent;        /* all messages of the request, starting with the system prompt */
    tn_value options;     /* of the node and of the channel of `options_key`; may be NULL */
    tn_value message;     /* the answer: an ai message */
    tn_value value;       /* the parsed answer; NULL if no JSON is expected, or if the answer has tool calls */
    tn_value mismatch;    /* {violations, answer} of an answer that does not match the schema; or NULL */
    bool withheld;        /* `max_turns` was reached: no tools are offered */
    struct chat_usage usage;
};

/*
 * Reads the members model, system_prompt, prompt, input_key, messages_key, tools, client_tools_key, options,
 * options_key, output_schema, text_tools, max_turns, and those that are passed to the model (api_key, base_url,
 * headers, timeout_ms). Returns TN_OK, or the status of the refusal.
 */
int32_t chat_bind(struct chat *chat, tn_value config, tn_binder *binder);
/* Binds only the model. *callee is what tn.task->call needs. */
int32_t chat_bind_model(tn_value config, tn_binder *binder, uint32_t *callee);
/* Starts a turn. Returns what the component's start must return; if that is not TN_OK, `done` is not called. `done`
 * must free the turn. */
int32_t chat_start(const struct chat *chat, tn_task task, void (*done)(struct chat_turn *turn, int32_t status),
                   void *user);
/* Fails the task of a turn that ended with TN_INVALID, with the code OUTPUT_INVALID. */
void chat_fail_invalid(const struct chat_turn *turn);
void chat_turn_free(struct chat_turn *turn);

/*
 * Adds the tools of the channel `field`, [{name, description?, input_schema?}], to the definitions of a turn, unless
 * one has the same name. Takes the definitions, and returns a new reference; NULL if the task has failed.
 */
tn_value client_tools_add_take(tn_task task, uint32_t field, const char *channel, tn_value definitions);

/* Adds the `usage` of a model's answer. */
void chat_usage_add(struct chat_usage *usage, tn_value reported);
/* Returns {llm_calls, input_tokens, …}, a new reference. */
tn_value chat_usage_to_value(const struct chat_usage *usage);
/* Returns the sum of a list of such values, a new reference. */
tn_value chat_usage_sum(tn_value list);

#endif
