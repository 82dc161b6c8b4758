/*
 * tenon/easy.h - a plugin in a few lines: declare the fields of a component and write its body.
 *
 * The macros generate the entry, the component table and the notes of the manifest. The JSON Schema of a tool's
 * arguments or a node's configuration is derived from the declared fields, which the body receives as a typed struct.
 *
 *     #include <tenon/easy.h>
 *     TN_PLUGIN("acme.calc", "1.0.0", "Arithmetic for agents")
 *     TN_TOOL(add, "calc.add", "Adds two integers.", TN_PURE, (INT, a, "first addend"), (INT, b, "second addend")) {
 *         return tn_done_int(task, args->a + args->b);
 *     }
 *
 * Header-only, C99 and C++11, gcc and clang on ELF. TN_PLUGIN is used in exactly one file of the shared object, TN_NODE
 * and TN_TOOL in any number of files. The interfaces themselves are in `tn`: tn.value, tn.task, tn.core. Everything
 * here is a hidden symbol of the plugin: plugins in one process do not share anything.
 *
 * Fields are (KIND, name, "description"), (KIND_OR, name, default, "description") or (KIND_OPT, name, "description"),
 * at most 16. Texts are literals, with any escapes, several in a row, or macros. The default of an INT or NUM is a
 * decimal number, as in JSON; what cannot go into the manifest is rejected by the compiler.
 *   KIND               C type of the field                              OR   OPT when absent
 *   INT  NUM  BOOL     int64_t, double, int32_t                         yes  -
 *   TEXT  FILE         const char *name and uint64_t name_length        yes  NULL
 *   VALUE              tn_value: any JSON                               -    NULL
 * and only in nodes, checked and completed by editors, resolved when the graph is built:
 *   READ  WRITE        uint32_t, for tn_read and tn_write: a channel    yes  TN_UNBOUND
 *   EXPR  TEMPLATE     uint32_t, for tn_evaluate and tn_render          yes  TN_UNBOUND
 *   MODEL  TOOL        uint32_t, for tn.task->call: a component         yes  TN_UNBOUND
 * Strings and values are borrowed: those of a tool until the task ends, those of a node as long as the instance exists.
 *
 * A body returns TN_OK if it has ended the task or will end it later (from another thread or a posted call), TN_FAILED
 * if a helper has failed the task, and any other status to fail it with that status. Its parameters are `task` and, for
 * tools, `args`; for nodes, `config` and `input`. TN_NODE and TN_TOOL run on the loop and must not block;
 * TN_NODE_BLOCKING and TN_TOOL_BLOCKING run on a worker thread and may block.
 */
#ifndef TENON_EASY_H
#define TENON_EASY_H

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <tenon.h>
#include <tenon/eval.h>
#include <tenon/fields.h>
#include <tenon/note.h>
#include <tenon/util/utf8.h>

#define TN_UNBOUND UINT32_MAX

/* Effects: what calling the component may do to the world. Declare all of them; others are denied. */
#define TN_PURE         "[]"
#define TN_EFFECTS(...) "[" TN_EASY_EACH(TN_EASY_STRING, TN_EASY_COMMA, "", 0, __VA_ARGS__) "]"

#if defined(__cplusplus)
#define TN_EASY_FROM(type, pointer)        static_cast<type>(pointer)
#define TN_EASY_ASSERT(condition, message) static_assert(condition, message)
extern "C" {
#else
#ifdef _Static_assert /* glibc's macro for C99 drops the message; both compilers have the keyword */
#undef _Static_assert
#endif
#define TN_EASY_FROM(type, pointer)        ((type)(pointer))
#define TN_EASY_ASSERT(condition, message) __extension__ _Static_assert(condition, message)
#endif
#define TN_EASY_HIDDEN __attribute__((visibility("hidden")))
#define TN_EASY_UNUSED __attribute__((unused))

/* The host's interfaces; tn_easy_interface gets others. */
struct tn_easy {
    const tn_host *host;
    const tn_value_1 *value;
    const tn_task_1 *task;
    const tn_core_1 *core;
    const tn_eval_1 *eval;
};
extern TN_EASY_HIDDEN struct tn_easy tn;

/* ---- Reading values: all borrowed ---------------------------------------------------------------------------- */

/* The member of an object; NULL if absent, or for any other value. */
static inline tn_value tn_get(tn_value object, const char *key) { return tn.value->get(object, key, TN_Z); }
/* The text of a string, NUL-terminated; NULL for any other value. `length` may be NULL. */
static inline const char *tn_chars(tn_value value, uint64_t *length) { return tn.value->as_text(value, length); }
/* The text, integer or number of a member; the fallback if it is absent or of another kind. */
static inline const char *tn_get_text(tn_value object, const char *key, const char *fallback) {
    const char *text = tn.value->as_text(tn_get(object, key), NULL);
    return text != NULL ? text : fallback;
}
static inline int64_t tn_get_int(tn_value object, const char *key, int64_t fallback) {
    int64_t number;
    return tn.value->as_int(tn_get(object, key), &number) == TN_OK ? number : fallback;
}
static inline double tn_get_num(tn_value object, const char *key, double fallback) {
    double number;
    return tn.value->as_double(tn_get(object, key), &number) == TN_OK ? number : fallback;
}

/* ---- Making values: each carries one reference, for tn_release or a function named _take; NULL on failure ------- */

static inline tn_value tn_text_n(const char *text, uint64_t length) {
    tn_value out = NULL;
    (void)tn.value->make_text(tn.host, text, length, &out);
    return out;
}
static inline tn_value tn_text(const char *text) { return tn_text_n(text, TN_Z); }
/* U+FFFD replaces what is not UTF-8, such as half of a character where a format has cut a text. */
static inline tn_value tn_text_lossy(const char *text, uint64_t length) {
    uint64_t used = 0, size = 0;
    uint32_t code_point;
    tn_value made;
    char *copy;
    if (tn_utf8_is_valid(text, length)) return tn_text_n(text, length);
    copy = TN_EASY_FROM(char *, tn.core->alloc(tn.host, 3 * length));
    if (copy == NULL) return NULL;
    for (uint64_t at = 0; at < length; at += size) {
        size = tn_utf8_decode(text + at, length - at, &code_point);
        memcpy(copy + used, size > 0 ? text + at : "\xEF\xBF\xBD", size > 0 ? size : 3);
        used += size > 0 ? size : 3;
        if (size == 0) size = tn_utf8_malformed_size(text + at, length - at);
    }
    made = tn_text_n(copy, used);
    tn.core->release(tn.host, copy);
    return made;
}
static inline tn_value tn_bytes(const void *bytes, uint64_t length) {
    tn_value out = NULL;
    (void)tn.value->make_bytes(tn.host, bytes, length, &out);
    return out;
}
static inline tn_value tn_null(void) { return tn.value->make_null(tn.host); }
static inline tn_value tn_int(int64_t number) { return tn.value->make_int(tn.host, number); }
static inline tn_value tn_num(double number) {
    tn_value out = NULL;
    (void)tn.value->make_double(tn.host, number, &out);
    return out;
}
static inline tn_value tn_bool(int32_t truth) { return tn.value->make_bool(tn.host, truth); }
static inline tn_value tn_retain(tn_value value) { return tn.value->retain(value); }
static inline void tn_release(tn_value value) { tn.value->release(value); }
/* The value of a JSON text, or the compact text of a value; tn.value has more options and reports reasons. */
static inline tn_value tn_from_json(const char *json, uint64_t length) {
    tn_value out = NULL;
    (void)tn.value->from_json(tn.host, json, length, &out, NULL);
    return out;
}
static inline tn_value tn_to_json(tn_value value) {
    tn_value out = NULL;
    (void)tn.value->to_json(value, NULL, &out);
    return out;
}

/* ---- Building values: tn_builder_new, begin, members, end, tn_finish --------------------------------------------- */

static inline tn_builder *tn_builder_new(void) { return tn.value->builder(tn.host); }
/* NULL after a mistake; tn.value->finish reports it. */
static inline tn_value tn_finish(tn_builder *builder) {
    tn_value out = NULL;
    (void)tn.value->finish(builder, &out, NULL);
    return out;
}
/* Add one member to a builder, or one item if `key` is NULL. */
static inline void tn_put(tn_builder *builder, const char *key, tn_value value) {
    if (key != NULL) tn.value->key(builder, key, TN_Z);
    tn.value->add(builder, value);
}
static inline void tn_put_take(tn_builder *builder, const char *key, tn_value value) {
    tn_put(builder, key, value);
    tn.value->release(value);
}
static inline void tn_put_text(tn_builder *builder, const char *key, const char *text) {
    if (key != NULL) tn.value->key(builder, key, TN_Z);
    tn.value->add_text(builder, text, TN_Z);
}
static inline void tn_put_int(tn_builder *builder, const char *key, int64_t number) {
    tn_put_take(builder, key, tn_int(number));
}
static inline void tn_put_num(tn_builder *builder, const char *key, double number) {
    tn_put_take(builder, key, tn_num(number));
}
static inline void tn_put_bool(tn_builder *builder, const char *key, int32_t truth) {
    tn_put_take(builder, key, tn_bool(truth));
}
/* Starts a nested TN_OBJECT or TN_ARRAY. */
static inline void tn_put_begin(tn_builder *builder, const char *key, int32_t kind) {
    if (key != NULL) tn.value->key(builder, key, TN_Z);
    tn.value->begin(builder, kind);
}

/* ---- The host --------------------------------------------------------------------------------------------------- */

static inline void tn_log(int32_t level, const char *message) { tn.core->log(tn.host, level, message, TN_Z); }
/* core_1.post without `drop`; 0 on failure. */
static inline uint64_t tn_post(uint64_t delay_ms, void TN_FN(function)(void *argument), void *argument) {
    uint64_t id = 0;
    (void)tn.core->post(tn.host, delay_ms, function, NULL, argument, &id);
    return id;
}
/* An ERROR: a code in upper case and a message: what was found, what was expected and what to do. */
static inline tn_value tn_error(const char *code, const char *message) {
    tn_builder *builder = tn_builder_new();
    tn_put_begin(builder, NULL, TN_OBJECT);
    tn_put_text(builder, "code", code);
    tn_put_take(builder, "message", tn_text_lossy(message, message != NULL ? strlen(message) : 0));
    tn.value->end(builder);
    return tn_finish(builder);
}
/* Why the entry, init or create fails: `return tn_refuse("INVALID_CONFIG", "…");` */
static inline int32_t tn_refuse(const char *code, const char *message) {
    tn_value error = tn_error(code, message);
    int32_t status = tn.core->refuse(tn.host, error);
    tn.value->release(error);
    return status;
}
/*
 * The same, about the member of the configuration at the JSON Pointer `at` ("/limit"): `tenon check` shows the message
 * at its place in the document. Inside create and TN_CHECK.
 */
static inline int32_t tn_refuse_at(const char *at, const char *code, const char *message) {
    tn_builder *builder = tn_builder_new();
    tn_value error;
    int32_t status;
    tn_put_begin(builder, NULL, TN_OBJECT);
    tn_put_text(builder, "code", code);
    tn_put_take(builder, "message", tn_text_lossy(message, message != NULL ? strlen(message) : 0));
    tn_put_begin(builder, "detail", TN_OBJECT);
    tn_put_take(builder, "at", tn_text_lossy(at, at != NULL ? strlen(at) : 0));
    tn.value->end(builder);
    tn.value->end(builder);
    error = tn_finish(builder);
    status = tn.core->refuse(tn.host, error);
    tn.value->release(error);
    return status;
}

/* ---- Ending a task: for `return tn_done…(task, …)` ------------------------------------------------------------ */

/* Fails with an error; the second takes the reference. */
static inline int32_t tn_fail_with(tn_task task, tn_value error) {
    (void)(tn.task->fail)(task, error); /* in brackets: test frameworks have a macro `fail` */
    return TN_FAILED;
}
static inline int32_t tn_fail_take(tn_task task, tn_value error) {
    int32_t status = tn_fail_with(task, error);
    tn.value->release(error);
    return status;
}
static inline int32_t tn_fail(tn_task task, const char *code, const char *message) {
    return tn_fail_take(task, tn_error(code, message));
}
/* Completes the task. If it has ended already (cancelled, timed out), nothing happens. */
static inline int32_t tn_done_value(tn_task task, tn_value result) {
    (void)tn.task->complete(task, result);
    return TN_OK;
}
/* Takes the reference; NULL, a value that could not be made, fails the task. */
static inline int32_t tn_done_take(tn_task task, tn_value result) {
    if (result == NULL) return TN_INVALID;
    (void)tn.task->complete(task, result);
    tn.value->release(result);
    return TN_OK;
}
static inline int32_t tn_done(tn_task task) { return tn_done_value(task, NULL); }
static inline int32_t tn_done_text(tn_task task, const char *text) { return tn_done_take(task, tn_text(text)); }
static inline int32_t tn_done_int(tn_task task, int64_t number) { return tn_done_take(task, tn_int(number)); }
static inline int32_t tn_done_num(tn_task task, double number) { return tn_done_take(task, tn_num(number)); }
static inline int32_t tn_done_bool(tn_task task, int32_t truth) { return tn_done_take(task, tn_bool(truth)); }
/* Completes after a write, or returns its status: `return tn_done_written(task, tn_write_int(task, …));` */
static inline int32_t tn_done_written(tn_task task, int32_t status) { return status == TN_OK ? tn_done(task) : status; }

/* ---- Channels: a node's READ and WRITE fields ------------------------------------------------------------------ */

static inline const char *tn_kind_name(tn_value value) {
    static const char *const names[] = {"nothing",  "null",  "a bool",   "an int",   "a double",
                                        "a string", "bytes", "an array", "an object"};
    int32_t kind = tn.value->kind(value);
    return kind >= 0 && kind <= TN_OBJECT ? names[kind] : "a value of an unknown kind";
}
/* A new reference; NULL if the channel has no value, or the task has ended. */
static inline tn_value tn_read(tn_task task, uint32_t channel) {
    tn_value value = NULL;
    (void)tn.task->read(task, channel, &value);
    return value;
}
/* A new reference to a string (see tn_chars). NULL if the task has been failed: return TN_FAILED. */
static inline tn_value tn_read_text(tn_task task, uint32_t channel) {
    tn_value value = tn_read(task, channel);
    char message[96];
    if (tn.value->kind(value) == TN_STRING) return value;
    (void)snprintf(message, sizeof(message), "the channel to read must hold a string, and holds %s",
                   tn_kind_name(value));
    (void)tn_fail(task, "TYPE", message);
    tn.value->release(value);
    return NULL;
}
static inline int32_t tn_write(tn_task task, uint32_t channel, tn_value value) {
    return tn.task->write(task, channel, value);
}
static inline int32_t tn_write_take(tn_task task, uint32_t channel, tn_value value) {
    int32_t status = tn.task->write(task, channel, value);
    tn.value->release(value);
    return status;
}
static inline int32_t tn_write_text(tn_task task, uint32_t channel, const char *text) {
    return tn_write_take(task, channel, tn_text(text));
}
static inline int32_t tn_write_int(tn_task task, uint32_t channel, int64_t number) {
    return tn_write_take(task, channel, tn_int(number));
}
static inline int32_t tn_write_num(tn_task task, uint32_t channel, double number) {
    return tn_write_take(task, channel, tn_num(number));
}
/* A new reference; NULL if the task has ended. */
static inline tn_value tn_context(tn_task task) {
    tn_value context = NULL;
    (void)tn.task->context(task, &context);
    return context;
}

/* ---- Expressions and templates: a node's EXPR and TEMPLATE fields ------------------------------------------------ */

/* A new reference. NULL if the task has been failed: return TN_FAILED. `item` is the expression's variable `item`. */
static inline tn_value tn_evaluate_item(tn_task task, uint32_t expression, tn_value item) {
    tn_value out = NULL, error = NULL;
    int32_t status = tn.eval->evaluate(task, expression, item, &out, &error);
    if (status == TN_FAILED) (void)tn_fail_take(task, error);
    if (status != TN_OK && status != TN_FAILED)
        (void)tn_fail(task, "EXPRESSION_ERROR", "the expression could not be evaluated");
    return out;
}
static inline tn_value tn_evaluate(tn_task task, uint32_t expression) {
    return tn_evaluate_item(task, expression, NULL);
}
/*
 * The same for a template; the result is a string. `variables` are looked up before channels and may be NULL. A note
 * lists their names, so that documents can be checked: {"component": {"id": …, "config": {"properties": {FIELD:
 * {"x-tenon-variables": ["rank"]}}}}}.
 */
static inline tn_value tn_render(tn_task task, uint32_t text, tn_value variables) {
    tn_value out = NULL, error = NULL;
    int32_t status = tn.eval->render(task, text, variables, &out, &error);
    if (status == TN_FAILED) (void)tn_fail_take(task, error);
    if (status != TN_OK && status != TN_FAILED)
        (void)tn_fail(task, "TEMPLATE_ERROR", "the template could not be rendered");
    return out;
}

/* ---- Implementation --------------------------------------------------------------------------------------- */

/* Kinds of fields; those from READ on need a binder. */
/* clang-format off */
enum {
    TN_EASY_INT, TN_EASY_NUM, TN_EASY_BOOL, TN_EASY_TEXT, TN_EASY_FILE, TN_EASY_VALUE,
    TN_EASY_READ, TN_EASY_WRITE, TN_EASY_EXPR, TN_EASY_TEMPLATE, TN_EASY_MODEL, TN_EASY_TOOL
};
/* clang-format on */

typedef struct tn_easy_field {
    const char *name;
    int32_t kind;
    uint32_t offset;
    int64_t integer; /* defaults, for members that the host has not filled in */
    double number;
    const char *text;
} tn_easy_field;

/*
 * A row of the plugin's component table. Every file adds its rows when the object is loaded, because linkers would
 * export the start and end symbols of a section. `fields`: what the configuration of a node is parsed into.
 */
typedef struct tn_easy_component {
    struct tn_easy_component *next;
    const char *id;
    const tn_easy_field *fields;                                        /* the last one's name is NULL */
    size_t size;                                                        /* of the config's struct; 0 for tools */
    int32_t (*create)(tn_value config, tn_binder *binder, void **self); /* NULL: parse the fields */
    int32_t (*start)(void *self, tn_task task, tn_value input);
    void (*cancel)(void *self, tn_task task);
    void (*ready)(void *self, tn_task task);
    void (*destroy)(void *self);
    int32_t (*check)(const void *self); /* of TN_CHECK, or NULL */
    /* of TN_DYNAMIC, whose id is NULL; or NULL */
    int32_t (*create_dynamic)(const char *id, uint64_t length, tn_value config, tn_binder *binder, void **self);
} tn_easy_component;

extern TN_EASY_HIDDEN tn_easy_component *tn_easy_components;

/* A row for each interface of TN_PROVIDES. */
typedef struct tn_easy_service {
    struct tn_easy_service *next;
    const char *id;
    const void *offered;
} tn_easy_service;

/* Weak: each file defines it, and the linker keeps one. */
extern TN_EASY_HIDDEN tn_easy_service *tn_easy_services;
__attribute__((weak)) tn_easy_service *tn_easy_services;

typedef struct tn_easy_instance {
    const tn_easy_component *component;
    void *self;
    tn_value config; /* owns the strings that the parsed fields point into */
} tn_easy_instance;

static inline int32_t tn_easy_bind(const tn_easy_field *field, const char *name, uint64_t length, tn_binder *binder,
                                   uint32_t *index) {
    switch (field->kind) {
    case TN_EASY_READ: return tn.task->bind_read(binder, name, length, index);
    case TN_EASY_WRITE: return tn.task->bind_write(binder, name, length, index);
    case TN_EASY_MODEL: return tn.task->bind_call(binder, "model", TN_Z, name, length, NULL, index);
    case TN_EASY_TOOL: return tn.task->bind_call(binder, "tool", TN_Z, name, length, NULL, index);
    case TN_EASY_EXPR: return tn.eval->bind_expression(binder, name, length, index);
    default: return tn.eval->bind_template(binder, name, length, index);
    }
}

/* Fills the struct at `out`. On failure *wrong is the invalid field. */
static inline int32_t tn_easy_fill(const tn_easy_field *field, tn_value from, tn_binder *binder, void *out,
                                   const tn_easy_field **wrong) {
    for (; field->name != NULL; field++) {
        tn_value value = tn_get(from, field->name);
        char *place = TN_EASY_FROM(char *, out) + field->offset;
        int64_t integer = field->integer;
        double number = field->number;
        const char *text = field->text;
        uint64_t length = text != NULL ? strlen(text) : 0;
        int32_t truth = integer != 0, status = TN_OK;
        uint32_t index = TN_UNBOUND;
        *wrong = field;
        if (field->kind == TN_EASY_INT) {
            if (value != NULL) status = tn.value->as_int(value, &integer);
            memcpy(place, &integer, sizeof(integer));
        } else if (field->kind == TN_EASY_NUM) {
            if (value != NULL) status = tn.value->as_double(value, &number);
            memcpy(place, &number, sizeof(number));
        } else if (field->kind == TN_EASY_BOOL) {
            if (value != NULL) status = tn.value->as_bool(value, &truth);
            memcpy(place, &truth, sizeof(truth));
        } else if (field->kind == TN_EASY_VALUE) {
            memcpy(place, &value, sizeof(value));
        } else {
            if (value != NULL) {
                text = tn.value->as_text(value, &length);
                if (text == NULL) status = TN_TYPE;
            }
            if (field->kind < TN_EASY_READ) {
                memcpy(place, &text, sizeof(text));
                memcpy(place + sizeof(text), &length, sizeof(length));
            } else {
                if (status == TN_OK && text != NULL) {
                    status = tn_easy_bind(field, text, length, binder, &index);
                    if (status != TN_OK) return status; /* the host has reported the reason */
                }
                memcpy(place, &index, sizeof(index));
            }
        }
        if (status != TN_OK) return TN_TYPE;
    }
    return TN_OK;
}

static inline const char *tn_easy_complaint(const tn_easy_field *field, char message[160]) {
    static const char *const wanted[] = {"an integer", "a number", "true or false", "a string", "a file's name"};
    const char *want = field->kind <= TN_EASY_FILE ? wanted[field->kind] : "a name, as a string";
    (void)snprintf(message, 160, "`%.80s` must be %s", field->name, want);
    return message;
}

/* Fills a tool's arguments. If the result is not TN_OK, the task has been failed. */
static inline int32_t tn_easy_arguments(const tn_easy_field *fields, tn_task task, tn_value input, void *out) {
    const tn_easy_field *wrong = NULL;
    char message[160];
    if (tn_easy_fill(fields, input, NULL, out, &wrong) == TN_OK) return TN_OK;
    (void)tn_fail(task, "INVALID_INPUT", tn_easy_complaint(wrong, message));
    return TN_FAILED;
}

/* Weak, for plugins without TN_LIFECYCLE. */
extern const tn_lifecycle_1 tn_easy_lifecycle __attribute__((weak, visibility("hidden")));

static inline void tn_easy_free(tn_easy_instance *instance) {
    const tn_easy_component *component = instance->component;
    if (component->create == NULL && component->create_dynamic == NULL) tn.core->release(tn.host, instance->self);
    tn.value->release(instance->config);
    tn.core->release(tn.host, instance);
}

/* The row of this id, or else that of TN_DYNAMIC; NULL if there is none. */
static inline const tn_easy_component *tn_easy_find(const char *id, uint64_t length) {
    const tn_easy_component *dynamic = NULL;
    for (const tn_easy_component *row = tn_easy_components; row != NULL; row = row->next) {
        if (row->id == NULL)
            dynamic = row;
        else if (strlen(row->id) == length && memcmp(row->id, id, length) == 0)
            return row;
    }
    return dynamic;
}

static inline int32_t tn_easy_make(tn_easy_instance *instance, tn_value config, tn_binder *binder) {
    const tn_easy_component *component = instance->component;
    const tn_easy_field *wrong = NULL;
    char message[160], at[80];
    int32_t status;
    if (component->create != NULL) return component->create(config, binder, &instance->self);
    if (component->size == 0) return TN_OK;
    instance->self = tn.core->alloc(tn.host, component->size);
    if (instance->self == NULL) return TN_NO_MEMORY;
    memset(instance->self, 0, component->size);
    memcpy(instance->self, &config, sizeof(config)); /* tn_all */
    status = tn_easy_fill(component->fields, config, binder, instance->self, &wrong);
    if (status == TN_OK && component->check != NULL) return component->check(instance->self);
    if (status != TN_TYPE) return status;
    (void)snprintf(at, sizeof(at), "/%.70s", wrong->name);
    return tn_refuse_at(at, "INVALID_CONFIG", tn_easy_complaint(wrong, message));
}

static inline int32_t TN_ABI tn_easy_create(void *self, const char *id, uint64_t length, tn_value config,
                                            tn_binder *binder, void **out) {
    const tn_easy_component *component = tn_easy_find(id, length);
    tn_easy_instance *instance;
    int32_t status;
    (void)self;
    if (component == NULL) return tn_refuse("NOT_FOUND", "the plugin's code has no component of this id");
    instance = TN_EASY_FROM(tn_easy_instance *, tn.core->alloc(tn.host, sizeof(*instance)));
    if (instance == NULL) return TN_NO_MEMORY;
    instance->component = component;
    instance->self = NULL;
    instance->config = tn.value->retain(config);
    status = component->create_dynamic != NULL ? component->create_dynamic(id, length, config, binder, &instance->self)
                                               : tn_easy_make(instance, config, binder);
    if (status == TN_OK)
        *out = instance;
    else
        tn_easy_free(instance);
    return status;
}

static inline int32_t TN_ABI tn_easy_start(void *self, tn_task task, tn_value input) {
    tn_easy_instance *instance = TN_EASY_FROM(tn_easy_instance *, self);
    int32_t status = instance->component->start(instance->self, task, input);
    return status == TN_FAILED ? TN_OK : status; /* a helper has ended the task: for the host, start succeeded */
}

static inline void TN_ABI tn_easy_cancel(void *self, tn_task task) {
    tn_easy_instance *instance = TN_EASY_FROM(tn_easy_instance *, self);
    if (instance->component->cancel != NULL) instance->component->cancel(instance->self, task);
}

static inline void TN_ABI tn_easy_ready(void *self, tn_task task) {
    tn_easy_instance *instance = TN_EASY_FROM(tn_easy_instance *, self);
    if (instance->component->ready != NULL) instance->component->ready(instance->self, task);
}

static inline void TN_ABI tn_easy_destroy(void *self) {
    tn_easy_instance *instance = TN_EASY_FROM(tn_easy_instance *, self);
    if (instance->component->destroy != NULL) instance->component->destroy(instance->self);
    tn_easy_free(instance);
}

static inline const void *TN_ABI tn_easy_offer(void *self, const char *id) {
    static const tn_component_1 components = {sizeof(tn_component_1), tn_easy_create, tn_easy_start,
                                              tn_easy_cancel,         tn_easy_ready,  tn_easy_destroy};
    const tn_lifecycle_1 *lifecycle = &tn_easy_lifecycle;
    const tn_easy_service *service = tn_easy_services;
    (void)self;
    if (strcmp(id, TN_COMPONENT_1) == 0) return &components;
    if (strcmp(id, TN_LIFECYCLE_1) == 0) return lifecycle;
    while (service != NULL && strcmp(service->id, id) != 0) service = service->next;
    return service != NULL ? service->offered : NULL;
}

/* NULL if the host does not have it, or has one of another size: a broken build, not a newer version. */
static inline const void *tn_easy_interface(const tn_host *host, const char *id, uint64_t size) {
    const void *interface_found = host->get(host->self, id);
    uint64_t found;
    if (interface_found == NULL) return NULL;
    memcpy(&found, interface_found, sizeof(found));
    return found == size ? interface_found : NULL;
}

static inline const tn_plugin *tn_easy_entry(const tn_host *host) {
    static const tn_plugin plugin = {sizeof(tn_plugin), NULL, tn_easy_offer};
    if (host == NULL || host->size != sizeof(tn_host)) return NULL;
    tn.host = host;
    tn.core = TN_EASY_FROM(const tn_core_1 *, tn_easy_interface(host, TN_CORE_1, sizeof(tn_core_1)));
    tn.value = TN_EASY_FROM(const tn_value_1 *, tn_easy_interface(host, TN_VALUE_1, sizeof(tn_value_1)));
    tn.task = TN_EASY_FROM(const tn_task_1 *, tn_easy_interface(host, TN_TASK_1, sizeof(tn_task_1)));
    tn.eval = TN_EASY_FROM(const tn_eval_1 *, tn_easy_interface(host, TN_EVAL_1, sizeof(tn_eval_1)));
    if (tn.core == NULL) return NULL;
    if (tn.value != NULL && tn.task != NULL && tn.eval != NULL) return &plugin;
    tn_log(TN_LOG_ERROR, "declined: the host does not offer " TN_VALUE_1 ", " TN_TASK_1 " and " TN_EVAL_1);
    return NULL;
}

#ifdef __cplusplus
}
#endif

/* ---- The macros ------------------------------------------------------------------------------------------------- */

/* Once per shared object: its id, version and title. For other members of the manifest use TN_NOTE or a JSON file. */
#define TN_PLUGIN(id, version, title)                                                                                  \
    TN_EASY_CHECK_NAMES(id version, title)                                                                             \
    TN_NOTE_AS(plugin, "{\"plugin\":{\"id\":" TN_NOTE_RAW(id) ",\"version\":" TN_NOTE_RAW(                             \
                           version) ",\"title\":" TN_NOTE_RAW(title) ",\"requires\":[\"" TN_CORE_1 "\",\"" TN_VALUE_1  \
                                                                     "\",\"" TN_TASK_1 "\",\"" TN_EVAL_1 "\"]}}");     \
    TN_EASY_HIDDEN struct tn_easy tn;                                                                                  \
    TN_EASY_HIDDEN tn_easy_component *tn_easy_components;                                                              \
    TN_EXPORT const tn_plugin *TN_ABI tn_plugin_entry_1(const tn_host *host) { return tn_easy_entry(host); }

/* Functions for tn_lifecycle_1, each may be NULL. In one file. */
#define TN_LIFECYCLE(init, quiesce, deinit)                                                                            \
    const tn_lifecycle_1 tn_easy_lifecycle = {sizeof(tn_lifecycle_1), init, quiesce, deinit};

/*
 * Offers an interface to the host, such as a store's, and lists it in the manifest: TN_PROVIDES(store, TN_STORE_DRAFT,
 * &table). `name` is unique in its file, `offered` a constant address. The host passes NULL as `self`.
 */
#define TN_PROVIDES(name, interface_id, offered)                                                                       \
    TN_NOTE_AS(name##_provided, "{\"plugin\":{\"provides\":[" TN_NOTE_RAW(interface_id) "]}}");                        \
    static tn_easy_service name##_tn_service = {NULL, interface_id, offered};                                          \
    __attribute__((constructor)) static void name##_tn_add_service(void) {                                             \
        name##_tn_service.next = tn_easy_services;                                                                     \
        tn_easy_services = &name##_tn_service;                                                                         \
    }

/*
 * A component with your own functions, for what a single body cannot do: binding names, waiting without blocking.
 * create takes (tn_value config, tn_binder *, void **self); the others are as in tn_component_1, with `self` as the
 * instance. cancel, ready and destroy may be NULL. Its manifest comes from a TN_NOTE or a JSON file.
 */
#define TN_COMPONENT(name, id, create, start, cancel, ready, destroy)                                                  \
    TN_EASY_ROW(name, id, NULL, 0, create, start, cancel, ready, destroy)

/*
 * The components that the plugin adds at run time (tenon/registry.h): every id that no other macro has. As
 * TN_COMPONENT, but create takes (const char *id, uint64_t length, tn_value config, tn_binder *, void **self). At most
 * one.
 */
#define TN_DYNAMIC(name, create, start, cancel, ready, destroy)                                                        \
    TN_EASY_ROW_AS(name, NULL, NULL, 0, NULL, start, cancel, ready, destroy, create)

#define TN_NODE(fn, id, title, ...)          TN_EASY_DEFINE_NODE(fn, id, title, "async", __VA_ARGS__)
#define TN_NODE_BLOCKING(fn, id, title, ...) TN_EASY_DEFINE_NODE(fn, id, title, "blocking", __VA_ARGS__)
#define TN_TOOL(fn, id, title, ...)          TN_EASY_DEFINE_TOOL(fn, id, title, "async", __VA_ARGS__)
#define TN_TOOL_BLOCKING(fn, id, title, ...) TN_EASY_DEFINE_TOOL(fn, id, title, "blocking", __VA_ARGS__)

/*
 * Below a TN_NODE, checks its configuration when the graph is built, as far as the schema cannot: `return TN_OK`, or
 * `return tn_refuse_at("/member", …)`.
 *     TN_CHECK(sample) {
 *         if (config->least <= config->most) return TN_OK;
 *         return tn_refuse_at("/least", "INVALID_CONFIG", "`least` must not be greater than `most`");
 *     }
 */
#define TN_CHECK(fn)                                                                                                   \
    static int32_t fn##_tn_check_config(const struct fn##_config *config);                                             \
    static int32_t fn##_tn_check(const void *self) {                                                                   \
        return fn##_tn_check_config(TN_EASY_FROM(const struct fn##_config *, self));                                   \
    }                                                                                                                  \
    __attribute__((constructor)) static void fn##_tn_add_check(void) { fn##_tn_row.check = fn##_tn_check; }            \
    static int32_t fn##_tn_check_config(const struct fn##_config *config)

#define TN_EASY_DEFINE_NODE(fn, id, title, style, ...)                                                                 \
    TN_EASY_DECLARE(fn, config, "node", id, title, style, "config", __VA_ARGS__)                                       \
    static int32_t fn(tn_task task, const struct fn##_config *config, tn_value input);                                 \
    static int32_t fn##_tn_start(void *self, tn_task task, tn_value input) {                                           \
        return fn(task, TN_EASY_FROM(const struct fn##_config *, self), input);                                        \
    }                                                                                                                  \
    TN_EASY_ROW(fn, id, fn##_tn_fields, sizeof(struct fn##_config), NULL, fn##_tn_start, NULL, NULL, NULL)             \
    static int32_t fn(tn_task task TN_EASY_UNUSED, const struct fn##_config *config TN_EASY_UNUSED,                    \
                      tn_value input TN_EASY_UNUSED)

#define TN_EASY_DEFINE_TOOL(fn, id, title, style, ...)                                                                 \
    TN_EASY_DECLARE(fn, args, "tool", id, title, style, "input", __VA_ARGS__)                                          \
    TN_EASY_EACH(TN_EASY_PLAIN, TN_EASY_KEEP, "", __VA_ARGS__)                                                         \
    static int32_t fn(tn_task task, const struct fn##_args *args);                                                     \
    static int32_t fn##_tn_start(void *self, tn_task task, tn_value input) {                                           \
        struct fn##_args args;                                                                                         \
        (void)self;                                                                                                    \
        args.tn_all = input;                                                                                           \
        if (tn_easy_arguments(fn##_tn_fields, task, input, &args) != TN_OK) return TN_FAILED;                          \
        return fn(task, &args);                                                                                        \
    }                                                                                                                  \
    TN_EASY_ROW(fn, id, fn##_tn_fields, 0, NULL, fn##_tn_start, NULL, NULL, NULL)                                      \
    static int32_t fn(tn_task task TN_EASY_UNUSED, const struct fn##_args *args TN_EASY_UNUSED)

/* The struct, the table of its fields, and the note. tn_all is the whole input or configuration. */
/* clang-format off */
#define TN_EASY_DECLARE(fn, what, kind, id, title, style, schema, ...)                                                 \
    struct fn##_##what {                                                                                               \
        tn_value tn_all;                                                                                               \
        TN_EASY_EACH(TN_EASY_MEMBER, TN_EASY_KEEP, "", __VA_ARGS__)                                                    \
    };                                                                                                                 \
    TN_EASY_CHECK_NAMES(id, title)                                                                                     \
    TN_EASY_CHECK_NUL(TN_EASY_FIRST(__VA_ARGS__, 0), "an effect")                                                      \
    TN_EASY_EACH(TN_EASY_CHECK, TN_EASY_KEEP, "", __VA_ARGS__)                                                         \
    static const tn_easy_field fn##_tn_fields[] = {                                                                    \
        TN_EASY_EACH(TN_EASY_FIELD, TN_EASY_KEEP, struct fn##_##what, __VA_ARGS__)                                     \
        {NULL, 0, 0, 0, 0, NULL}};                                                                                     \
    TN_NOTE_AS(fn, "{\"component\":{\"kind\":\"" kind "\",\"id\":" TN_NOTE_RAW(id) ",\"title\":" TN_NOTE_RAW(title)                            \
                   ",\"style\":\"" style "\",\"effects\":" TN_EASY_FIRST(__VA_ARGS__, 0)                               \
                   ",\"" schema "\":{\"type\":\"object\",\"properties\":{"                                             \
                   TN_EASY_EACH(TN_EASY_PROPERTY, TN_EASY_COMMA, "", __VA_ARGS__) "},\"required\":["                   \
                   TN_EASY_EACH(TN_EASY_REQUIRED, TN_EASY_REQUIRED_NEXT, "", __VA_ARGS__)                              \
                   "],\"additionalProperties\":false}}}");
/* clang-format on */

/* `owner` is unique in its file. */
#define TN_EASY_ROW(owner, id, fields, size, create, start, cancel, ready, destroy)                                    \
    TN_EASY_ROW_AS(owner, id, fields, size, create, start, cancel, ready, destroy, NULL)
#define TN_EASY_ROW_AS(owner, id, fields, size, create, start, cancel, ready, destroy, create_dynamic)                 \
    static tn_easy_component owner##_tn_row = {NULL,   id,    fields,  size, create,        start,                     \
                                               cancel, ready, destroy, NULL, create_dynamic};                          \
    __attribute__((constructor)) static void owner##_tn_add(void) {                                                    \
        owner##_tn_row.next = tn_easy_components;                                                                      \
        tn_easy_components = &owner##_tn_row;                                                                          \
    }

#endif
