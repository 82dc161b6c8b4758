/*
 * embed_options.c - the options of tenon_open, from an object: a table with the kind of each one.
 */
#include "host/embed/embed_options.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include "host/base/config/config.h"
#include "host/loops/loops.h"
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum option_kind { OPTION_TEXT, OPTION_TEXTS, OPTION_BOOL, OPTION_OBJECT, OPTION_STORE, OPTION_LOOPS };

static const char *const kind_names[] = {"a string",
                                         "an array of strings",
                                         "a bool",
                                         "an object",
                                         "a path, or an object with `use` or `path`",
                                         "a whole number from 1 to 64, or `auto`"};

/* Each option is a member of struct embed_options. */
struct option_row {
    const char *name;
    enum option_kind kind;
    size_t offset;
};
#define OPTION(name, kind, member)                                                                                     \
    { name, kind, offsetof(struct embed_options, member) }
static const struct option_row rows[] = {OPTION("plugin_paths", OPTION_TEXTS, host.plugin_paths),
                                         OPTION("config", OPTION_TEXT, host.config_file),
                                         OPTION("no_config", OPTION_BOOL, host.no_config),
                                         OPTION("isolate", OPTION_TEXTS, host.isolate),
                                         OPTION("models", OPTION_OBJECT, host.bindings),
                                         OPTION("store", OPTION_STORE, store),
                                         OPTION("allow_drafts", OPTION_BOOL, host.allow_drafts),
                                         OPTION("drafts", OPTION_TEXTS, host.drafts),
                                         OPTION("file_roots", OPTION_TEXTS, host.file_roots),
                                         OPTION("check_plugins", OPTION_BOOL, host.check_plugins),
                                         OPTION("protect_secrets", OPTION_BOOL, protect_secrets),
                                         OPTION("quiet", OPTION_BOOL, host.quiet),
                                         OPTION("record_dir", OPTION_TEXT, host.record_dir),
                                         OPTION("replay_dir", OPTION_TEXT, host.replay_dir),
                                         OPTION("loops", OPTION_LOOPS, loops)};
#define ROWS (sizeof rows / sizeof *rows)

/* A text with a NUL cannot be a name or a path. */
static bool is_text(tn_value value) {
    size_t length;
    return value_is(value, TN_STRING) && strlen(value_chars(value, &length)) == length;
}

static bool is_text_list(tn_value value) {
    if (!value_is(value, TN_ARRAY)) return false;
    for (size_t i = 0; i < value_count(value); i++)
        if (!is_text(value_at(value, i))) return false;
    return true;
}

static bool is_loops(tn_value value) {
    if (!value_is(value, TN_INT)) return value_text_is(value, "auto");
    return value_to_int(value) >= 1 && value_to_int(value) <= CONFIG_LOOPS_MAX;
}

static bool option_fits(enum option_kind kind, tn_value value) {
    switch (kind) {
    case OPTION_LOOPS: return is_loops(value);
    case OPTION_TEXT: return is_text(value);
    case OPTION_TEXTS: return is_text_list(value);
    case OPTION_BOOL: return value_is(value, TN_BOOL);
    case OPTION_OBJECT: return value_is(value, TN_OBJECT);
    case OPTION_STORE: break;
    }
    if (!value_is(value, TN_OBJECT)) return is_text(value);
    tn_value use = value_get(value, "use"), path = value_get(value, "path");
    return (use || path) && (!use || is_text(use)) && (!path || is_text(path));
}

/* The strings of a list, terminated by NULL. */
static const char **text_list_new(tn_value list) {
    size_t count = value_count(list);
    const char **texts = mem_zalloc((count + 1) * sizeof *texts);
    for (size_t i = 0; i < count; i++) texts[i] = value_chars(value_at(list, i), NULL);
    return texts;
}

/*
 * {use, path, …} from a path, or from such an object. The path becomes absolute, because a store in a separate process
 * needs that, and because the program may change its folder before the store is opened. A new reference.
 */
static tn_value store_options(tn_value value) {
    tn_value options = value_is(value, TN_OBJECT) ? value_ref(value)
                                                  : value_set_take(value_object_reserve(1), "path", value_ref(value));
    tn_value path = value_get(options, "path");
    char folder[PATH_MAX];
    if (!path || *value_chars(path, NULL) == '/' || !getcwd(folder, sizeof folder)) return options;
    struct buffer whole;
    buffer_init(&whole, SIZE_MAX);
    buffer_format(&whole, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, value_chars(path, NULL));
    options = value_set_take(options, "path", value_string_lossy(buffer_cstr(&whole), whole.length));
    buffer_finish(&whole);
    return options;
}

static void option_store(const struct option_row *row, tn_value value, struct embed_options *out) {
    void *member = (void *)((char *)out + row->offset);
    switch (row->kind) {
    case OPTION_TEXT: *(const char **)member = value_chars(value, NULL); break;
    case OPTION_TEXTS: *(const char *const **)member = text_list_new(value); break;
    case OPTION_BOOL: *(bool *)member = value_to_bool(value); break;
    case OPTION_OBJECT: *(tn_value *)member = value; break;
    case OPTION_STORE: *(tn_value *)member = store_options(value); break;
    case OPTION_LOOPS:
        *(uint32_t *)member = loops_resolve(value_is(value, TN_INT) ? (int32_t)value_to_int(value) : CONFIG_LOOPS_AUTO);
        break;
    }
}

static int32_t option_refuse(const char *key, enum option_kind kind, tn_value value, struct error *error) {
    for (size_t i = 0; kind == OPTION_TEXTS && value_is(value, TN_ARRAY) && i < value_count(value); i++) {
        tn_value item = value_at(value, i);
        if (is_text(item)) continue;
        return error_set(error, TN_TYPE, "INVALID_INPUT", "item %zu of the host's option `%s` is %s, expected a string",
                         i, key, value_is(item, TN_STRING) ? "a string with a NUL" : value_kind_name(value_kind(item)));
    }
    if (kind == OPTION_LOOPS && value_is(value, TN_INT))
        return error_set(error, TN_TYPE, "INVALID_INPUT", "the host's option `%s` is %lld, expected %s", key,
                         (long long)value_to_int(value), kind_names[kind]);
    bool nul = value_is(value, TN_STRING) && (kind == OPTION_TEXT || kind == OPTION_STORE);
    return error_set(error, TN_TYPE, "INVALID_INPUT", "the host's option `%s` is %s, expected %s", key,
                     nul ? "a string with a NUL" : value_kind_name(value_kind(value)), kind_names[kind]);
}

static int32_t option_read(tn_value name, tn_value value, struct embed_options *out, struct error *error) {
    size_t length;
    const char *key = value_chars(name, &length);
    struct nearest nearest;
    nearest_init(&nearest, key, length);
    for (size_t i = 0; i < ROWS; i++) {
        if (strcmp(rows[i].name, key) != 0) {
            nearest_add_candidate(&nearest, rows[i].name, strlen(rows[i].name));
            continue;
        }
        if (!option_fits(rows[i].kind, value)) return option_refuse(key, rows[i].kind, value, error);
        option_store(&rows[i], value, out);
        return TN_OK;
    }
    return error_set(error, TN_NOT_FOUND, "INVALID_INPUT", "the host has no option `%s`%s", key,
                     nearest_hint(&nearest).text);
}

int32_t embed_options_read(tn_value options, struct embed_options *out, struct error *error) {
    *out = (struct embed_options){.loops = 1};
    if (!options || value_is(options, TN_NULL)) return TN_OK;
    if (!value_is(options, TN_OBJECT))
        return error_set(error, TN_TYPE, "INVALID_INPUT", "the options of a host are %s, expected an object",
                         value_kind_name(value_kind(options)));
    for (size_t i = 0; i < value_count(options); i++) {
        int32_t status = option_read(value_key_at(options, i), value_value_at(options, i), out, error);
        if (status != TN_OK) return status;
    }
    return TN_OK;
}

void embed_options_finish(struct embed_options *options) {
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].kind == OPTION_TEXTS)
            mem_free((void *)(uintptr_t) * (const char *const **)(void *)((char *)options + rows[i].offset));
    value_unref(options->store);
}
