/*
 * describe.c - reads the top level of a library's description, and implements the helpers that all readers share.
 *
 * Constants are read first, then types, then functions. Each may only refer to what was read before it, so a
 * description cannot be circular.
 */
#include "describe.h"
#include "reader.h"
#include <dlfcn.h>
#include <inttypes.h>

/* ---- Faults ---- */

static void log_fault(const char *message) { tn_log(TN_LOG_ERROR, message); }

void faults_add(struct faults *faults, const char *format, ...) {
    char message[2048];
    va_list arguments;
    if (faults->count++ >= FAULTS_MAX) return;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    log_fault(message);
}

void faults_log_rest(const struct faults *faults) {
    char message[64];
    if (faults->count <= FAULTS_MAX) return;
    (void)snprintf(message, sizeof message, "and %u more faults", faults->count - FAULTS_MAX);
    log_fault(message);
}

bool reader_fault(struct reader *reader, const struct node *node, const char *format, ...) {
    char what[1024], at[32] = "";
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (reader->positions && node != NULL) (void)snprintf(at, sizeof at, ":%u:%u", node->line, node->column);
    const char *outer = reader->function != NULL ? "function `" : reader->type != NULL ? "type `" : "";
    const char *name = reader->function != NULL ? reader->function : reader->type != NULL ? reader->type : "";
    faults_add(reader->faults, "%s%s: %s%s%s%s%s%s%s", reader->library->where, at, outer, name, *outer ? "`: " : "",
               reader->parameter != NULL ? "`" : "", reader->parameter != NULL ? reader->parameter : "",
               reader->parameter != NULL ? "`: " : "", what);
    return false;
}

/* ---- Shared by the readers ---- */

void *reader_alloc(struct reader *reader, size_t count, size_t size) {
    void *memory = tn_arena_alloc(&reader->library->arena, count * size);
    if (memory == NULL) (void)reader_fault(reader, NULL, "out of memory");
    return memory;
}

bool reader_check_keys(struct reader *reader, const struct node *node, const char *what, const char *const *keys) {
    bool good = true;
    if (node == NULL || node->kind != NODE_MAPPING) return reader_fault(reader, node, "%s must be a mapping", what);
    for (uint32_t i = 0; i < node->count; i++) {
        const struct node *key = node->items[2 * i];
        struct nearest nearest = {.name = key->text};
        const char *const *known = keys;
        while (*known != NULL && strcmp(*known, key->text) != 0) nearest_add_candidate(&nearest, *known++);
        if (*known != NULL) continue;
        good = reader_fault(reader, key, "%s has no key `%.60s`%s%s%s", what, key->text,
                            nearest.best != NULL ? "; did you mean `" : "", nearest.best != NULL ? nearest.best : "",
                            nearest.best != NULL ? "`?" : "");
    }
    return good;
}

const char *reader_text(struct reader *reader, const struct node *mapping, const char *key) {
    const struct node *node = node_get(mapping, key);
    const char *text = node_string(node);
    if (node != NULL && (text == NULL || *text == 0)) (void)reader_fault(reader, node, "`%s` must be a text", key);
    return text;
}

bool reader_is_name(const char *text) {
    size_t length = strlen(text);
    if (length == 0 || length > NAME_BYTES_MAX || (*text >= '0' && *text <= '9')) return false;
    return strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == length;
}

const char *reader_name(struct reader *reader, const struct node *mapping, const char *key) {
    const struct node *node = node_get(mapping, key);
    const char *text = node_string(node);
    if (node == NULL) {
        (void)reader_fault(reader, mapping, "`%s` is missing", key);
        return NULL;
    }
    if (text != NULL && reader_is_name(text)) return text;
    (void)reader_fault(reader, node, "`%s` must be a name of letters, digits and `_`, at most %u", key, NAME_BYTES_MAX);
    return NULL;
}

bool reader_boolean(struct reader *reader, const struct node *mapping, const char *key) {
    const struct node *node = node_get(mapping, key);
    bool truth = false;
    if (node != NULL && !node_boolean(node, &truth))
        (void)reader_fault(reader, node, "`%s` must be true or false", key);
    return truth;
}

bool reader_integer(struct reader *reader, const struct node *node, const char *what, int64_t *out) {
    const char *name = node_string(node);
    const struct library *library = reader->library;
    struct nearest nearest = {.name = name};
    if (node_integer(node, out)) return true;
    for (uint32_t i = 0; name != NULL && i < library->constant_count; i++) {
        if (strcmp(library->constants[i].name, name) == 0) {
            *out = library->constants[i].value;
            return true;
        }
        nearest_add_candidate(&nearest, library->constants[i].name);
    }
    if (name == NULL) return reader_fault(reader, node, "%s must be an integer, or the name of a constant", what);
    return reader_fault(reader, node, "%s: `%.60s` is neither an integer nor one of the constants%s%s%s", what, name,
                        nearest.best != NULL ? "; did you mean `" : "", nearest.best != NULL ? nearest.best : "",
                        nearest.best != NULL ? "`?" : "");
}

uint64_t reader_size(struct reader *reader, const struct node *mapping, const char *key, uint64_t least, uint64_t most,
                     uint64_t otherwise) {
    const struct node *node = node_get(mapping, key);
    int64_t number = 0;
    if (node == NULL || !reader_integer(reader, node, key, &number)) return otherwise;
    if (number >= 0 && (uint64_t)number >= least && (uint64_t)number <= most) return (uint64_t)number;
    (void)reader_fault(reader, node, "`%s`: found %" PRId64 ", expected %" PRIu64 " to %" PRIu64, key, number, least,
                       most);
    return otherwise;
}

bool reader_values(struct reader *reader, const struct node *node, struct named_value **out, uint32_t *count) {
    bool list = node != NULL && node->kind == NODE_LIST, good = true;
    if (node == NULL || node->kind == NODE_SCALAR || node->count == 0)
        return reader_fault(reader, node, "the values must be a mapping of names to integers, or a list of constants");
    if (node->count > VALUES_MAX)
        return reader_fault(reader, node, "found %u values, the limit is %u", node->count, VALUES_MAX);
    struct named_value *values = reader_alloc(reader, node->count, sizeof *values);
    if (values == NULL) return false;
    for (uint32_t i = 0; i < node->count; i++) {
        const struct node *name = list ? node->items[i] : node->items[2 * i];
        const struct node *value = list ? name : node->items[2 * i + 1];
        values[i].name = node_string(name);
        if (values[i].name == NULL || name->length == 0) good = reader_fault(reader, name, "a value has no name");
        good &= reader_integer(reader, value, "a named value", &values[i].value);
    }
    *out = values;
    *count = node->count;
    return good;
}

/* ---- A library ---- */

static const char *read_file_name(struct reader *reader, const struct node *root, const char *folder) {
    const char *file = reader_text(reader, root, "library");
    if (node_get(root, "library") == NULL)
        (void)reader_fault(reader, root, "`library` is missing; name the shared library");
    if (file == NULL || folder == NULL || *file == '/' || strchr(file, '/') == NULL) return file;
    return tn_arena_format(&reader->library->arena, "%s/%s", folder, file);
}

static void read_functions(struct reader *reader, const struct node *list) {
    struct library *library = reader->library;
    if (list == NULL || list->kind != NODE_LIST || list->count == 0) {
        (void)reader_fault(reader, list, "`functions` must be a list with at least one function");
        return;
    }
    if (list->count > FUNCTIONS_MAX) {
        (void)reader_fault(reader, list, "found %u functions, the limit is %u", list->count, FUNCTIONS_MAX);
        return;
    }
    library->functions = reader_alloc(reader, list->count, sizeof *library->functions);
    for (uint32_t i = 0; library->functions != NULL && i < list->count; i++) {
        struct function *function = &library->functions[library->count++];
        function->library = library;
        (void)function_read(reader, list->items[i], function);
        for (uint32_t j = 0; function->id != NULL && j + 1 < library->count; j++)
            if (library->functions[j].id != NULL && strcmp(library->functions[j].id, function->id) == 0)
                (void)reader_fault(reader, list->items[i], "the function `%s` is described twice", function->name);
    }
}

static void read_library(struct reader *reader, const struct node *root, const char *folder) {
    static const char *const keys[] = {"name",  "library",   "description", "thread_safe", "constants",
                                       "types", "functions", "effects",     NULL};
    struct library *library = reader->library;
    if (!reader_check_keys(reader, root, "a description", keys) && root->kind != NODE_MAPPING) return;
    library->name = reader_name(reader, root, "name");
    library->file = read_file_name(reader, root, folder);
    library->description = reader_text(reader, root, "description");
    library->thread_safe = reader_boolean(reader, root, "thread_safe");
    reader->effects = node_get(root, "effects");
    if (node_get(root, "constants") != NULL)
        (void)reader_values(reader, node_get(root, "constants"), &library->constants, &library->constant_count);
    types_read(reader, node_get(root, "types"));
    read_functions(reader, node_get(root, "functions"));
}

struct library *library_read(const char *text, size_t length, const char *where, const char *folder,
                             struct faults *faults) {
    struct library *library = tn.core->alloc(tn.host, sizeof *library);
    uint32_t before = faults->count;
    const char *why = NULL;
    if (library == NULL) {
        faults_add(faults, "%s: out of memory", where);
        return NULL;
    }
    *library = (struct library){.where = ""};
    pthread_mutex_init(&library->lock, NULL);
    struct reader reader = {.library = library, .faults = faults, .positions = folder != NULL};
    const char *copy = tn_arena_copy(&library->arena, where, strlen(where));
    if (copy != NULL) library->where = copy;
    const struct node *root = tree_read(&library->arena, text, length, &why);
    if (root == NULL)
        faults_add(faults, "%s:%s", where, why);
    else
        read_library(&reader, root, folder);
    if (faults->count == before) return library;
    library_free(library);
    return NULL;
}

bool library_open(struct library *library, struct faults *faults) {
    uint32_t before = faults->count;
    (void)dlerror();
    library->handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
    if (library->handle == NULL) {
        const char *why = dlerror();
        faults_add(faults, "%s: the library cannot be opened: %s", library->where, why != NULL ? why : library->file);
        return false;
    }
    for (struct type *type = library->types; type != NULL; type = type->next) {
        if (type->kind != TYPE_HANDLE || type->free_name == NULL) continue;
        void *address = symbol_lookup(library->handle, type->free_name);
        if (address == NULL)
            faults_add(faults, "%s: type `%s`: %s has no function `%s`", library->where, type->name, library->file,
                       type->free_name);
        else
            memcpy(&type->free, &address, sizeof address);
    }
    for (uint32_t i = 0; i < library->count; i++) (void)function_link(&library->functions[i], faults);
    return faults->count == before;
}

void library_free(struct library *library) {
    if (library == NULL) return;
    for (uint32_t i = 0; i < library->count; i++) function_free(&library->functions[i]);
    if (library->handle != NULL) dlclose(library->handle);
    pthread_mutex_destroy(&library->lock);
    tn_arena_free(&library->arena);
    tn.core->release(tn.host, library);
}
