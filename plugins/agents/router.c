/*
 * router.c - `router`: a model chooses among nodes of the graph.
 *
 * It uses a turn of chat.h with a schema that allows only the targets. The answer is returned as `goto`. Small models
 * often answer with the name alone: that is accepted, too.
 */
#include "chat.h"

struct router {
    struct chat chat;
    uint32_t output, usage;
    tn_value chat_config; /* the configuration of `chat`, which borrows from it; owned */
    const char *fallback; /* may be NULL */
};

/* Returns the schema of {route: TARGET}. */
static tn_value router_build_schema(tn_value targets) {
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    tn_put_text(out, "type", "object");
    tn_put_begin(out, "properties", TN_OBJECT);
    tn_put_begin(out, "route", TN_OBJECT);
    tn_put_text(out, "type", "string");
    tn_put_begin(out, "enum", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(targets); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(targets, i, &key, &value) == TN_OK) tn_put(out, NULL, key);
    }
    tn.value->end(out);
    tn.value->end(out);
    tn.value->end(out);
    tn_put_begin(out, "required", TN_ARRAY);
    tn_put_text(out, NULL, "route");
    tn.value->end(out);
    tn_put_bool(out, "additionalProperties", 0);
    tn.value->end(out);
    return tn_finish(out);
}

/* Appends text to a template. Braces are doubled. */
static void router_append_literal(struct tn_text_buffer *out, const char *text) {
    for (; *text != '\0'; text++) {
        if (*text == '{' || *text == '}') tn_text_append_n(out, text, 1);
        tn_text_append_n(out, text, 1);
    }
}

static tn_value router_build_prompt(tn_value config) {
    struct tn_text_buffer out = {0};
    tn_value targets = tn_get(config, "targets");
    const char *system_prompt = tn_get_text(config, "system_prompt", NULL);
    if (system_prompt != NULL) {
        tn_text_append(&out, system_prompt);
        tn_text_append(&out, "\n\n");
    }
    tn_text_append(
        &out, "Choose where this goes. Answer with JSON alone, {{\"route\": NAME}}, where NAME is one of these:\n");
    for (uint64_t i = 0, count = tn.value->count(targets); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(targets, i, &key, &value) != TN_OK) continue;
        const char *purpose = tn_chars(value, NULL);
        tn_text_append(&out, "- ");
        router_append_literal(&out, tn_chars(key, NULL));
        tn_text_append(&out, ": ");
        router_append_literal(&out, purpose != NULL ? purpose : "");
        tn_text_append(&out, "\n");
    }
    return tn_text_finish(&out);
}

static int32_t router_create(tn_value config, tn_binder *binder, void **self) {
    struct router *router = agents_alloc_zeroed(sizeof(*router));
    if (router == NULL) return TN_NO_MEMORY;
    router->fallback = tn_get_text(config, "default", NULL);
    router->chat_config = tn_set_take(tn_retain(config), "system_prompt", router_build_prompt(config));
    if (router->chat_config != NULL)
        router->chat_config =
            tn_set_take(router->chat_config, "output_schema", router_build_schema(tn_get(config, "targets")));
    int32_t status = router->chat_config != NULL ? chat_bind(&router->chat, router->chat_config, binder) : TN_NO_MEMORY;
    if (status == TN_OK) status = agents_bind_write(config, "output_key", binder, &router->output);
    if (status == TN_OK) status = agents_bind_write(config, "usage_key", binder, &router->usage);
    router->chat.no_repair = router->fallback != NULL;
    router->chat.choices = tn_get(config, "targets");
    if (status == TN_OK) {
        *self = router;
    } else {
        tn_release(router->chat_config);
        agents_release(router);
    }
    return status;
}

static void router_destroy(void *self) {
    struct router *router = self;
    tn_release(router->chat_config);
    agents_release(router);
}

static void router_on_turn(struct chat_turn *turn, int32_t status) {
    const struct router *router = turn->user;
    tn_task task = turn->task;
    tn_value route = tn_retain(tn_get(turn->value, "route"));
    if (status == TN_INVALID && router->fallback != NULL) {
        route = tn_text(router->fallback);
        status = TN_OK;
    }
    if (status == TN_INVALID) chat_fail_invalid(turn);
    if (status == TN_OK && router->output != TN_UNBOUND) status = tn_write(task, router->output, route);
    if (status == TN_OK && router->usage != TN_UNBOUND)
        status = tn_write_take(task, router->usage, chat_usage_to_value(&turn->usage));
    chat_turn_free(turn);
    tn_value output = status == TN_OK ? tn_build("{s:v}", "goto", route) : NULL;
    tn_release(route);
    if (status == TN_OK)
        (void)tn_done_value(task, output);
    else if (status != TN_FAILED && status != TN_INVALID)
        (void)agents_fail(task, "CHANNEL", NULL, "a channel did not accept the route (status %d)", (int)status);
    tn_release(output);
}

static int32_t router_start(void *self, tn_task task, tn_value input) {
    struct router *router = self;
    (void)input;
    return chat_start(&router->chat, task, router_on_turn, router);
}

TN_COMPONENT(router, "router", router_create, router_start, NULL, NULL, router_destroy)
