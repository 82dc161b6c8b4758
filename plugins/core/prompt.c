/*
 * prompt.c - `prompt`: renders a template to a text, or templates to messages.
 *
 * Messages are {type, content}. An item {from: channel} inserts the messages of a channel (a history). A placeholder
 * that cannot be resolved fails the task; the host reports its name.
 */
#include "core.h"

struct prompt_part {
    tn_value type;     /* borrowed from the configuration; NULL: insert the messages of a channel */
    uint32_t template; /* the template, or the channel */
};

struct prompt {
    uint32_t output;
    int32_t text; /* `template` is set: the result is one text */
    uint64_t count;
    struct prompt_part parts[];
};

static int32_t prompt_bind(struct prompt_part *part, tn_value message, tn_binder *binder) {
    const char *from = tn_get_text(message, "from", NULL);
    if (from != NULL) return tn.task->bind_read(binder, from, TN_Z, &part->template);
    part->type = tn_get(message, "type");
    return tn.eval->bind_template(binder, tn_get_text(message, "content", ""), TN_Z, &part->template);
}

static int32_t prompt_create(tn_value config, tn_binder *binder, void **self) {
    const char *template = tn_get_text(config, "template", NULL);
    tn_value messages = tn_get(config, "messages");
    if ((template == NULL) == (messages == NULL))
        return core_refuse("set either `template` (the result is a text) or `messages` (the result is messages)");
    uint64_t count = template != NULL ? 1 : tn.value->count(messages);
    struct prompt *prompt = core_alloc_zeroed(sizeof(*prompt) + count * sizeof(prompt->parts[0]));
    if (prompt == NULL) return TN_NO_MEMORY;
    prompt->text = template != NULL;
    prompt->count = count;
    int32_t status = tn.task->bind_write(binder, tn_get_text(config, "output_key", ""), TN_Z, &prompt->output);
    if (status == TN_OK && prompt->text)
        status = tn.eval->bind_template(binder, template, TN_Z, &prompt->parts[0].template);
    for (uint64_t i = 0; i < count && status == TN_OK && !prompt->text; i++)
        status = prompt_bind(&prompt->parts[i], tn.value->at(messages, i), binder);
    if (status == TN_OK)
        *self = prompt;
    else
        core_release(prompt);
    return status;
}

/* Adds one part to the list. Returns TN_FAILED if the task has failed. */
static int32_t prompt_add_part(const struct prompt_part *part, tn_task task, tn_builder *out) {
    if (part->type == NULL) {
        tn_value history = tn_read(task, part->template);
        int32_t list = tn.value->kind(history) == TN_ARRAY;
        for (uint64_t i = 0, count = tn.value->count(history); list && i < count; i++)
            tn_put(out, NULL, tn.value->at(history, i));
        if (!list && tn.value->kind(history) != TN_NULL) tn_put(out, NULL, history);
        tn_release(history);
        return TN_OK;
    }
    tn_value content = tn_render(task, part->template, NULL);
    if (content == NULL) return TN_FAILED;
    tn_put_begin(out, NULL, TN_OBJECT);
    tn_put(out, "type", part->type);
    tn_put_take(out, "content", content);
    tn.value->end(out);
    return TN_OK;
}

static int32_t prompt_start(void *self, tn_task task, tn_value input) {
    const struct prompt *prompt = self;
    int32_t status = TN_OK;
    tn_value result;
    (void)input;
    if (prompt->text) {
        result = tn_render(task, prompt->parts[0].template, NULL);
        if (result == NULL) return TN_FAILED;
    } else {
        tn_builder *out = tn_builder_new();
        tn.value->begin(out, TN_ARRAY);
        for (uint64_t i = 0; i < prompt->count && status == TN_OK; i++)
            status = prompt_add_part(&prompt->parts[i], task, out);
        tn.value->end(out);
        result = tn_finish(out);
        if (status != TN_OK) {
            tn_release(result);
            return status;
        }
    }
    status = tn_write_take(task, prompt->output, result);
    return status == TN_OK ? tn_done(task) : status;
}

TN_COMPONENT(prompt, "prompt", prompt_create, prompt_start, NULL, NULL, core_release)
