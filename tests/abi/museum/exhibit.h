/*
 * exhibit.h - what the exhibits share: the tables of tenon.h, a transcript, and an entry that requires one more
 * interface.
 *
 * An exhibit defines `subject`, the interface that it shows, and ends with EXHIBIT. Each is one file, built from
 * sdk/frozen/1 and, for a draft, the header of the draft as it was.
 */
#ifndef MUSEUM_EXHIBIT_H
#define MUSEUM_EXHIBIT_H

#include <string.h>
#include <tenon.h>
#include <tenon/note.h>

#define MANIFEST(name, title, subject_id, more)                                                                        \
    TN_NOTE_AS(manifest, "{\"plugin\":{\"id\":\"museum." name "\",\"version\":\"1.0.0\",\"title\":\"" title            \
                         "\",\"licence\":\"MIT\",\"requires\":[\"" TN_CORE_1 "\",\"" TN_VALUE_1 "\",\"" TN_TASK_1      \
                         "\",\"" subject_id "\"]" more "}}");
/* A node; `config` is the properties of its configuration as JSON text. */
#define NODE_WITH(name, id, style, effects, config)                                                                    \
    TN_NOTE_AS(name,                                                                                                   \
               "{\"component\":{\"kind\":\"node\",\"id\":\"" id "\",\"title\":\"An exhibit\","                         \
               "\"documentation\":\"See its source.\",\"style\":\"" style "\",\"effects\":" effects                    \
               ",\"config\":{\"type\":\"object\",\"properties\":{" config "},\"additionalProperties\":false}}}");
#define NODE(name, id, config) NODE_WITH(name, id, "async", "[\"calls.tool\",\"calls.document\"]", config)
#define PROPERTY(name, marked)                                                                                         \
    "\"" name "\":{\"type\":\"string\",\"description\":\"what is bound\",\"x-tenon\":\"" marked "\"}"

static const tn_host *host;
static const tn_core_1 *core;
static const tn_value_1 *values;
static const tn_task_1 *tasks;

/* The end of create: copies what was made to memory of the host, if binding it succeeded. */
static inline int32_t keep_instance(int32_t status, const void *made, size_t size, void **instance) {
    if (status != TN_OK) return status;
    *instance = core->alloc(host, size);
    if (*instance == NULL) return TN_NO_MEMORY;
    memcpy(*instance, made, size);
    return TN_OK;
}
static inline int is_id(const char *id, uint64_t length, const char *wanted) {
    return length == strlen(wanted) && memcmp(id, wanted, length) == 0;
}
/* Takes the value; NULL is written as "nothing". */
static inline void say(tn_value *said, const char *key, tn_value value) {
    tn_value what = value;
    if (what == NULL) (void)values->make_text(host, "nothing", TN_Z, &what);
    (void)values->set(said, key, TN_Z, what);
    values->release(what);
}
static inline void say_int(tn_value *said, const char *key, int64_t number) {
    say(said, key, values->make_int(host, number));
}
static inline tn_value from_json(const char *json) {
    tn_value value = NULL;
    (void)values->from_json(host, json, TN_Z, &value, NULL);
    return value;
}
static inline tn_value get(tn_value object, const char *key) { return values->get(object, key, TN_Z); }
static inline const char *text_of(tn_value object, const char *key) { return values->as_text(get(object, key), NULL); }
static inline int32_t bind_out(tn_binder *binder, tn_value config, uint32_t *index) {
    return tasks->bind_write(binder, text_of(config, "out"), TN_Z, index);
}
static inline int32_t fail_task(tn_task task, const char *message) {
    tn_value error = from_json("{\"code\":\"MUSEUM_FAILED\"}"), text = NULL;
    int32_t status = values->make_text(host, message, TN_Z, &text);
    if (status == TN_OK) status = values->set(&error, "message", TN_Z, text);
    if (status == TN_OK) status = tasks->fail(task, error);
    values->release(text);
    values->release(error);
    return status;
}
/* Takes what was said: the task's write of the channel. */
static inline int32_t end_said(tn_task task, uint32_t channel, tn_value said) {
    int32_t status = tasks->write(task, channel, said);
    values->release(said);
    return status == TN_OK ? tasks->complete(task, NULL) : fail_task(task, "write failed");
}

/* The last line of an exhibit: it has create, start and destroy, and `subject`, the interface of that id and type. */
#define EXHIBIT(subject_id, subject_type, lifecycle)                                                                   \
    static const tn_component_1 components = {sizeof(tn_component_1), create, start, NULL, NULL, destroy};             \
    static const void *TN_ABI offer(void *self, const char *id) {                                                      \
        (void)self;                                                                                                    \
        if (strcmp(id, TN_COMPONENT_1) == 0) return &components;                                                       \
        return strcmp(id, TN_LIFECYCLE_1) == 0 ? lifecycle : NULL;                                                     \
    }                                                                                                                  \
    static const tn_plugin plugin = {sizeof(tn_plugin), NULL, offer};                                                  \
    TN_EXPORT const tn_plugin *TN_ABI tn_plugin_entry_1(const tn_host *given) {                                        \
        host = given;                                                                                                  \
        core = (const tn_core_1 *)host->get(host->self, TN_CORE_1);                                                    \
        values = (const tn_value_1 *)host->get(host->self, TN_VALUE_1);                                                \
        tasks = (const tn_task_1 *)host->get(host->self, TN_TASK_1);                                                   \
        subject = (const subject_type *)host->get(host->self, subject_id);                                             \
        if (core == NULL || values == NULL || tasks == NULL || subject == NULL) return NULL;                           \
        return subject->size == sizeof(subject_type) ? &plugin : NULL;                                                 \
    }

#endif
