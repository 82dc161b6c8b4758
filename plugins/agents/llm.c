/*
 * llm.c - `llm`: calls a model and writes its answer.
 *
 * The node appends its input messages and the final answer to the conversation, but not the system prompt or an answer
 * that did not match the schema. An answer with tool calls is written only to the conversation, because it is not a
 * result (with `output: message`, it is).
 */
#include "chat.h"

enum output_form { AS_TEXT, AS_JSON, AS_MESSAGE };

struct llm {
    struct chat chat;
    uint32_t output, messages, usage, calls;
    enum output_form form;
};

static int32_t llm_create(tn_value config, tn_binder *binder, void **self) {
    struct llm *llm = agents_alloc_zeroed(sizeof(*llm));
    if (llm == NULL) return TN_NO_MEMORY;
    tn_value schema = tn_get(config, "output_schema");
    const char *form = tn_get_text(config, "output", schema != NULL ? "json" : "text");
    llm->form = strcmp(form, "json") == 0 ? AS_JSON : strcmp(form, "message") == 0 ? AS_MESSAGE : AS_TEXT;
    llm->chat.as_json = llm->form == AS_JSON;
    int32_t status = chat_bind(&llm->chat, config, binder);
    if (status == TN_OK) status = agents_bind_write(config, "output_key", binder, &llm->output);
    if (status == TN_OK) status = agents_bind_write(config, "messages_key", binder, &llm->messages);
    if (status == TN_OK) status = agents_bind_write(config, "usage_key", binder, &llm->usage);
    if (status == TN_OK) status = agents_bind_write(config, "llm_calls_key", binder, &llm->calls);
    if (status == TN_OK)
        *self = llm;
    else
        agents_release(llm);
    return status;
}

static tn_value llm_result(const struct llm *llm, const struct chat_turn *turn) {
    if (llm->form == AS_JSON) return tn_retain(turn->value);
    if (llm->form == AS_MESSAGE) return tn_retain(turn->message);
    return tn_content_text(tn_get(turn->message, "content"));
}

static int32_t llm_write_all(const struct llm *llm, const struct chat_turn *turn) {
    int32_t status = TN_OK;
    bool is_result = tn_message_calls(turn->message) == NULL || llm->form == AS_MESSAGE;
    if (llm->output != TN_UNBOUND && is_result) status = tn_write_take(turn->task, llm->output, llm_result(llm, turn));
    if (status == TN_OK && llm->messages != TN_UNBOUND) {
        tn_value messages = tn_retain(turn->added);
        status = tn.value->append(&messages, turn->message);
        if (status == TN_OK) status = tn_write(turn->task, llm->messages, messages);
        tn_release(messages);
    }
    if (status == TN_OK && llm->usage != TN_UNBOUND)
        status = tn_write_take(turn->task, llm->usage, chat_usage_to_value(&turn->usage));
    if (status == TN_OK && llm->calls != TN_UNBOUND) status = tn_write_int(turn->task, llm->calls, turn->usage.calls);
    return status;
}

static void llm_on_turn(struct chat_turn *turn, int32_t status) {
    const struct llm *llm = turn->user;
    tn_task task = turn->task;
    if (status == TN_INVALID) chat_fail_invalid(turn);
    if (status == TN_OK) status = llm_write_all(llm, turn);
    chat_turn_free(turn);
    if (status == TN_OK)
        (void)tn_done(task);
    else if (status != TN_FAILED && status != TN_INVALID)
        (void)agents_fail(task, "CHANNEL", NULL, "a channel did not accept the model's answer (status %d)",
                          (int)status);
}

static int32_t llm_start(void *self, tn_task task, tn_value input) {
    struct llm *llm = self;
    (void)input;
    return chat_start(&llm->chat, task, llm_on_turn, llm);
}

TN_COMPONENT(llm, "llm", llm_create, llm_start, NULL, NULL, agents_release)
