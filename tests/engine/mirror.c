/*
 * mirror.c - `test.mirror`: a model that answers with its request as JSON: `system` is the text of the first message if
 * it is a system message, `asked` has all other messages; then tools, options and response_schema, and `config` if the
 * component was created with one.
 */
#include <tenon/message.h>

static void put_member(tn_builder *out, tn_value input, const char *key) {
    tn_value value = tn_get(input, key);
    if (value != NULL) tn_put(out, key, value);
}

static tn_value describe_request(tn_value input, tn_value config) {
    tn_value messages = tn_get(input, "messages");
    uint64_t first = tn_message_is(tn.value->at(messages, 0), "system") ? 1 : 0;
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    if (first == 1) tn_put(out, "system", tn_get(tn.value->at(messages, 0), "content"));
    tn_put_begin(out, "asked", TN_ARRAY);
    for (uint64_t i = first, count = tn.value->count(messages); i < count; i++)
        tn_put(out, NULL, tn.value->at(messages, i));
    tn.value->end(out);
    put_member(out, input, "tools");
    put_member(out, input, "options");
    put_member(out, input, "response_schema");
    if (tn.value->count(config) > 0) tn_put(out, "config", config);
    tn.value->end(out);
    return tn_finish(out);
}

struct mirror {
    tn_value config;
};

static int32_t mirror_create(tn_value config, tn_binder *binder, void **self) {
    struct mirror *mirror = tn.core->alloc(tn.host, sizeof(*mirror));
    (void)binder;
    if (mirror == NULL) return TN_NO_MEMORY;
    mirror->config = config; /* the config outlives the instance */
    *self = mirror;
    return TN_OK;
}

static void mirror_destroy(void *self) { tn.core->release(tn.host, self); }

static int32_t mirror_start(void *self, tn_task task, tn_value input) {
    const struct mirror *mirror = self;
    tn_value all = describe_request(input, mirror->config), text = tn_to_json(all);
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    tn_put_take(out, "message", tn_message("ai", text));
    tn_put_begin(out, "usage", TN_OBJECT);
    tn.value->end(out);
    tn_put_text(out, "finish_reason", "stop");
    tn.value->end(out);
    tn_release(all);
    tn_release(text);
    return tn_done_take(task, tn_finish(out));
}

TN_NOTE("{\"component\": {\"kind\": \"model\", \"id\": \"test.mirror\", \"title\": \"Returns its request.\", "
        "\"style\": \"async\", \"effects\": [], \"config\": {\"type\": \"object\"}}}")
TN_COMPONENT(mirror, "test.mirror", mirror_create, mirror_start, NULL, NULL, mirror_destroy)
