/*
 * router.c - `router`: a model chooses among named nodes.
 *
 * It is a turn (chat.h) whose schema this node makes of its targets, and whose answer becomes `goto`.
 */
#include "chat.h"

struct router {
    struct chat chat;
    uint32_t output, usage;
    tn_value own;         /* the configuration that the chat is bound with; owned, as the chat points into it */
    const char *fallback; /* NULL */
};

/* {route: one of the targets} */
static tn_value schema_of(tn_value targets) {
    tn_builder *out = tn.value->builder();
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
    return tn.value->finish(out);
}

/* Braces in a template are doubled. */
static void add_literal(struct text *out, const char *text) {
    for (; *text != '\0'; text++) {
        if (*text == '{' || *text == '}') text_add_n(out, text, 1);
        text_add_n(out, text, 1);
    }
}

static tn_value prompt_of(tn_value config) {
    struct text out = {0};
    tn_value targets = tn.value->get(config, "targets");
    const char *given = tn_get_text(config, "system_prompt", NULL);
    if (given != NULL) {
        text_add(&out, given);
        text_add(&out, "\n\n");
    }
    text_add(&out,
             "Choose where this goes. Answer with JSON alone, {{\"route\": NAME}}, where NAME is one of these:\n");
    for (uint64_t i = 0, count = tn.value->count(targets); i < count; i++) {
        tn_value key, value;
        if (tn.value->entry(targets, i, &key, &value) != TN_OK) continue;
        const char *purpose = tn_chars(value, NULL);
        text_add(&out, "- ");
        add_literal(&out, tn_chars(key, NULL));
        text_add(&out, ": ");
        add_literal(&out, purpose != NULL ? purpose : "");
        text_add(&out, "\n");
    }
    return text_take(&out);
}

static int32_t router_create(tn_value config, tn_binder *binder, void **self) {
    struct router *router = agents_alloc(sizeof(*router));
    if (router == NULL) return TN_NO_MEMORY;
    router->fallback = tn_get_text(config, "default", NULL);
    router->own = agents_set_take(tn_retain(config), "system_prompt", prompt_of(config));
    if (router->own != NULL)
        router->own = agents_set_take(router->own, "output_schema", schema_of(tn.value->get(config, "targets")));
    int32_t status = router->own != NULL ? chat_bind(&router->chat, router->own, binder) : TN_NO_MEMORY;
    if (status == TN_OK) status = agents_write(config, "output_key", binder, &router->output);
    if (status == TN_OK) status = agents_write(config, "usage_key", binder, &router->usage);
    router->chat.at_once = router->fallback != NULL;
    if (status == TN_OK) {
        *self = router;
    } else {
        tn_release(router->own);
        agents_free(router);
    }
    return status;
}

static void router_destroy(void *self) {
    struct router *router = self;
    tn_release(router->own);
    agents_free(router);
}

static void router_done(struct turn *turn, int32_t status) {
    const struct router *router = turn->user;
    tn_task task = turn->task;
    tn_value route = tn_retain(tn.value->get(turn->value, "route"));
    if (status == TN_INVALID && router->fallback != NULL) {
        route = tn_text(router->fallback);
        status = TN_OK;
    }
    if (status == TN_INVALID) chat_fail_invalid(turn);
    if (status == TN_OK && router->output != TN_UNBOUND) status = tn_write(task, router->output, route);
    if (status == TN_OK && router->usage != TN_UNBOUND)
        status = tn_write_take(task, router->usage, usage_value(&turn->usage));
    turn_free(turn);
    tn_value output = status == TN_OK ? agents_set_take(NULL, "goto", tn_retain(route)) : NULL;
    tn_release(route);
    if (status == TN_OK)
        (void)tn_done_value(task, output);
    else if (status != TN_FAILED && status != TN_INVALID)
        (void)agents_fail(task, "CHANNEL", NULL, "a channel did not take the route (status %d)", (int)status);
    tn_release(output);
}

static int32_t router_start(void *self, tn_task task, tn_value input) {
    struct router *router = self;
    (void)input;
    return chat_start(&router->chat, task, router_done, router);
}

TN_COMPONENT(router, "router", router_create, router_start, NULL, NULL, router_destroy)
