/*
 * chat.h - one answer of a model: what it is sent, and the answer, parsed, checked, and repaired where it must be.
 *
 * A `struct chat` is what a node's configuration says about its model: llm and router are made of one. A `struct turn`
 * is one use of it: the request is put together from channels, the model is called, and where `output_schema` is given
 * and the answer does not fit, called once more with every violation told. Then done is called, exactly once, with the
 * answer in the turn; or the task has been failed, and done is told so.
 *
 *     status = chat_bind(&node->chat, config, binder);                     // in create
 *     return chat_start(&node->chat, task, done, node);                    // in start
 *     static void done(struct turn *turn, int32_t status) {
 *         if (status == TN_OK) write(turn->message), tn_done(turn->task);
 *         turn_free(turn);
 *     }
 */
#ifndef TENON_PLUGINS_AGENTS_CHAT_H
#define TENON_PLUGINS_AGENTS_CHAT_H

#include "agents.h"

#define CHAT_REPAIRS 1u /* times that a model is told what is wrong with its answer */

struct chat {
    uint32_t model, system, prompt, input, messages; /* TN_UNBOUND where they are not given */
    uint32_t tools, schema;
    bool with_tools, with_schema, as_json, text_tools;
    bool at_once;                   /* an answer that does not fit is not repaired */
    uint64_t max_turns;             /* 0: as many as the model likes */
    tn_value options, schema_value; /* borrowed from the configuration; NULL */
    const char *input_name, *messages_name;
};

/* Sums over the calls of a turn; a member that no call told of stays away. */
struct usage {
    int64_t counts[6];
    bool told[6];
    uint32_t calls;
};

struct turn {
    const struct chat *chat;
    tn_task task;
    void (*done)(struct turn *turn, int32_t status);
    void *user;
    tn_value definitions; /* of tools; NULL */
    tn_value history;     /* as it was, normalised; NULL where no channel of messages is read */
    tn_value added;       /* what the node says itself: an array, maybe empty */
    tn_value sent;        /* all of it, with the system prompt first */
    tn_value message;     /* the answer: an ai message */
    tn_value value;       /* parsed; NULL where no JSON is wanted, or the answer is one with tool calls */
    tn_value wrong;       /* of an answer that does not fit: {violations, answer}; NULL */
    bool withheld;        /* tools are no longer offered */
    struct usage usage;
};

/*
 * The members model, system_prompt, prompt, input_key, messages_key, tools, options, output_schema, text_tools,
 * max_turns, and what is passed on to the model (api_key, base_url, headers, timeout_ms). TN_OK, or it has refused.
 */
int32_t chat_bind(struct chat *chat, tn_value config, tn_binder *binder);
/* The same of the model alone: its callee. */
int32_t chat_bind_model(tn_value config, tn_binder *binder, uint32_t *callee);
/* Returns what a component's start does. Where an answer fails its schema to the end, done gets TN_INVALID. */
int32_t chat_start(const struct chat *chat, tn_task task, void (*done)(struct turn *turn, int32_t status), void *user);
/* The task fails with OUTPUT_INVALID, as a turn that ended with TN_INVALID has it. */
void chat_fail_invalid(const struct turn *turn);
void turn_free(struct turn *turn);

/* Adds what a model's answer says of its usage. */
void usage_add(struct usage *usage, tn_value reported);
/* {llm_calls, input_tokens, …}; a new reference. */
tn_value usage_value(const struct usage *usage);
/* The sum of such values: what an inner graph's nodes have used. */
tn_value usage_sum(tn_value list);

#endif
