/*
 * payload.c - reads and compiles the schemas of payloads, and compares values with them.
 *
 * A compiled shape is kept until the process ends. The lock guards the list of compiled shapes; a compiled schema is
 * immutable, so values are validated without it.
 */
#include "host/plugin/conformance/payload.h"
#include "adl/schema/schema.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define URI_PREFIX "https://tenon.dev/schema/component/" PAYLOAD_VERSION "/"
#define URI_SUFFIX ".schema.json"
#define URI_MAX    128
#define SHAPES_MAX 64u  /* more than all anchors of all schemas */
#define WORDS_MAX  200u /* bytes of a message of the validator that are shown */

/* The files of sdk/schema/component/1; host/CMakeLists.txt converts each to C. */
#define PAYLOADS(X)                                                                                                    \
    X(node)                                                                                                            \
    X(model)                                                                                                           \
    X(message)                                                                                                         \
    X(tool)                                                                                                            \
    X(runner)                                                                                                          \
    X(reducer)                                                                                                         \
    X(context)                                                                                                         \
    X(error)                                                                                                           \
    X(event)

#define PAYLOAD(name)                                                                                                  \
    extern const char payload_##name##_text[];                                                                         \
    extern const unsigned payload_##name##_length;
PAYLOADS(PAYLOAD)
#undef PAYLOAD

static const struct payload {
    const char *name, *text;
    const unsigned *length;
} payloads[] = {
#define PAYLOAD(name) {#name, payload_##name##_text, &payload_##name##_length},
    PAYLOADS(PAYLOAD)
#undef PAYLOAD
};
#define PAYLOAD_COUNT (sizeof payloads / sizeof *payloads)

/* Process-wide, because plugins of all hosts are checked against the same shapes. */
static struct {
    pthread_mutex_t lock;
    size_t count;
    struct shape {
        char name[PAYLOAD_SHAPE_MAX];
        struct schema *schema; /* NULL: there is no such shape */
    } items[SHAPES_MAX];
} shapes = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- The schemas ---- */

const char *payload_name(size_t index) { return index < PAYLOAD_COUNT ? payloads[index].name : NULL; }

const char *payload_names(void) {
#define PAYLOAD(name) "|" #name
    return &(PAYLOADS(PAYLOAD))[1];
#undef PAYLOAD
}

static tn_value payload_schema_n(const char *name, size_t length) {
    tn_value schema = NULL;
    for (size_t i = 0; i < PAYLOAD_COUNT && !schema; i++)
        if (strlen(payloads[i].name) == length && memcmp(payloads[i].name, name, length) == 0)
            (void)json_read(payloads[i].text, *payloads[i].length, NULL, &schema, NULL);
    return schema;
}

tn_value payload_schema(const char *name) { return payload_schema_n(name, strlen(name)); }

static tn_value payload_resolve(void *self, const char *uri) {
    size_t prefix = strlen(URI_PREFIX), suffix = strlen(URI_SUFFIX), length = strlen(uri);
    (void)self;
    if (length <= prefix + suffix || strncmp(uri, URI_PREFIX, prefix) != 0) return NULL;
    if (strcmp(uri + length - suffix, URI_SUFFIX) != 0) return NULL;
    return payload_schema_n(uri + prefix, length - prefix - suffix);
}

/* ---- Compiled shapes ---- */

/* NULL if there is no such schema or anchor. */
static struct schema *shape_compile(const char *name) {
    const struct schema_options options = {.resolve = payload_resolve};
    const char *anchor = strchr(name, '#');
    char uri[URI_MAX];
    (void)snprintf(uri, sizeof uri, URI_PREFIX "%.*s" URI_SUFFIX "%s", (int)strcspn(name, "#"), name,
                   anchor ? anchor : "");
    struct schema *schema = NULL;
    tn_value document = value_set_take(value_object(), "$ref", value_text(uri));
    (void)schema_compile(document, &options, &schema, NULL);
    value_unref(document);
    return schema;
}

/* Borrowed: it lives as long as the process. */
static const struct schema *shape_lookup(const char *name) {
    struct shape *found = NULL;
    if (strlen(name) >= PAYLOAD_SHAPE_MAX) return NULL;
    pthread_mutex_lock(&shapes.lock);
    for (size_t i = 0; i < shapes.count && !found; i++)
        if (strcmp(shapes.items[i].name, name) == 0) found = &shapes.items[i];
    if (!found && shapes.count < SHAPES_MAX) {
        found = &shapes.items[shapes.count++];
        memcpy(found->name, name, strlen(name) + 1);
        found->schema = shape_compile(name);
    }
    const struct schema *schema = found ? found->schema : NULL;
    pthread_mutex_unlock(&shapes.lock);
    return schema;
}

/* ---- Checking ---- */

static char *payload_difference(const struct schema_error *error, bool absent, size_t more) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    if (*error->pointer) buffer_format(&text, "at `%.100s`: ", error->pointer);
    if (absent) buffer_text(&text, "no value is the same as null: ");
    buffer_format(&text, "%.*s%s", (int)WORDS_MAX, error->message, strlen(error->message) > WORDS_MAX ? "…" : "");
    if (more) buffer_format(&text, " (and %zu more)", more);
    char *copy = mem_text(buffer_cstr(&text));
    buffer_finish(&text);
    return copy;
}

char *payload_check(const char *shape, tn_value value) {
    const struct schema *schema = shape_lookup(shape);
    tn_value instance = value ? value : value_null();
    if (!schema || schema_validate(schema, instance, NULL) == TN_OK) return NULL;
    struct schema_errors errors = SCHEMA_ERRORS_INIT;
    char *difference = NULL;
    (void)schema_validate(schema, instance, &errors);
    if (errors.count) difference = payload_difference(&errors.items[0], !value, errors.count - 1);
    schema_errors_finish(&errors);
    return difference;
}
