/*
 * ffi.c - the plugin `tenon.ffi`: functions of plain C libraries as tools, from descriptions in tenon.yaml or in files.
 *
 *     plugins:
 *       config:
 *         tenon.ffi:
 *           libraries:
 *             - zlib.yaml
 *             - {name: libm, library: libm.so.6, functions: [{name: sqrt, parameters: […], returns: double}]}
 *
 * The components are registered in init(). A wrong signature cannot be detected, so the plugin runs in a separate
 * process unless the operator configures otherwise; a crash then ends only that process. All faults of all descriptions
 * are logged. If there is any fault, the plugin registers no tool, because a partial tool pack would surprise the
 * caller.
 */
#include "call.h"
#include "describe.h"
#include "handle.h"
#include "tree.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <tenon/registry.h>
#include <unistd.h>

TN_EASY_HIDDEN struct tn_easy tn;
TN_EASY_HIDDEN tn_easy_component *tn_easy_components;

static const tn_registry_1 *registry;
static struct library *libraries;

/* ---- Descriptions ---- */

static char *read_description_text(int descriptor, const char *path, size_t *length, struct faults *faults) {
    size_t size = 16384, used = 0;
    char *text = tn.core->alloc(tn.host, size);
    ssize_t got = 1;
    while (text != NULL && used <= TREE_TEXT_MAX) {
        got = read(descriptor, text + used, size - used);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        used += (size_t)got;
        if (used < size) continue;
        char *larger = tn.core->resize(tn.host, text, size *= 2);
        if (larger == NULL) tn.core->release(tn.host, text);
        text = larger;
    }
    *length = used;
    if (text != NULL && got == 0) return text;
    faults_add(faults, "%s: cannot be read: %s", path,
               text == NULL ? "out of memory"
               : got < 0    ? strerror(errno)
                            : "it is too long");
    tn.core->release(tn.host, text);
    return NULL;
}

static struct library *read_description_file(const char *path, struct faults *faults) {
    struct library *library = NULL;
    const char *slash = strrchr(path, '/');
    size_t length = 0;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        faults_add(faults, "%s: cannot be read: %s", path, strerror(errno));
        return NULL;
    }
    char *text = read_description_text(descriptor, path, &length, faults);
    (void)close(descriptor);
    if (text == NULL) return NULL;
    struct tn_arena arena = TN_ARENA;
    char *folder = slash != NULL ? tn_arena_copy(&arena, path, slash > path ? (size_t)(slash - path) : 1)
                                 : tn_arena_copy(&arena, ".", 1);
    if (folder != NULL) library = library_read(text, length, path, folder, faults);
    tn_arena_free(&arena);
    tn.core->release(tn.host, text);
    return library;
}

/* Reads a description that is written in tenon.yaml itself. Its JSON is valid YAML, so the same reader is used. */
static struct library *read_inline_description(tn_value description, uint64_t index, struct faults *faults) {
    char where[96];
    uint64_t length = 0;
    tn_value json = tn_to_json(description);
    const char *text = tn_chars(json, &length);
    (void)snprintf(where, sizeof where, "tenon.yaml: plugins.config.tenon.ffi.libraries[%llu]",
                   (unsigned long long)index);
    struct library *library = NULL;
    if (text != NULL) library = library_read(text, length, where, NULL, faults);
    tn_release(json);
    return library;
}

static void add_library(struct library *library, struct faults *faults) {
    for (const struct library *other = libraries; other != NULL; other = other->next)
        if (strcmp(other->name, library->name) == 0)
            faults_add(faults, "%s: the name `%s` is already used by %s", library->where, library->name, other->where);
    struct library **last = &libraries;
    while (*last != NULL) last = &(*last)->next;
    *last = library;
    (void)library_open(library, faults);
}

static void register_functions(struct faults *faults) {
    for (const struct library *library = libraries; library != NULL; library = library->next) {
        for (uint32_t i = 0; i < library->count; i++) {
            tn_value component = function_component(&library->functions[i]);
            int32_t status = component != NULL ? registry->add(tn.host, component, NULL) : TN_NO_MEMORY;
            if (status != TN_OK) /* the reason has been logged */
                faults_add(faults, "%s: function `%s`: the host refused the tool `%s`", library->where,
                           library->functions[i].name, library->functions[i].id);
            tn_release(component);
        }
    }
}

static void ffi_free_all(void) {
    handle_free_all();
    while (libraries != NULL) {
        struct library *library = libraries;
        libraries = library->next;
        library_free(library);
    }
}

static int32_t ffi_init(void *self, tn_value config) {
    tn_value list = tn_get(config, "libraries");
    struct faults faults = {0};
    (void)self;
    for (uint64_t i = 0; i < tn.value->count(list); i++) {
        tn_value item = tn.value->at(list, i);
        const char *path = tn_chars(item, NULL);
        struct library *library =
            path != NULL ? read_description_file(path, &faults) : read_inline_description(item, i, &faults);
        if (library != NULL) add_library(library, &faults);
    }
    if (faults.count == 0) register_functions(&faults);
    faults_log_rest(&faults);
    if (faults.count == 0) return TN_OK;
    ffi_free_all();
    return TN_INVALID;
}

static void ffi_deinit(void *self) {
    (void)self;
    ffi_free_all();
}

/* ---- Components: the instance is the struct function ---- */

static int32_t ffi_create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                          void **instance) {
    (void)self, (void)config, (void)binder;
    for (struct library *library = libraries; library != NULL; library = library->next) {
        for (uint32_t i = 0; i < library->count; i++) {
            const char *known = library->functions[i].id;
            if (strlen(known) != length || memcmp(known, id, length) != 0) continue;
            *instance = &library->functions[i];
            return TN_OK;
        }
    }
    return tn_refuse("NOT_FOUND", "no description has this function");
}

static int32_t ffi_start(void *instance, tn_task task, tn_value input) {
    const struct function *function = instance;
    if (tn.task->cancelled(task) == 1) return TN_CANCELLED;
    struct call *call = function_call_new(function);
    if (call == NULL) return TN_NO_MEMORY;
    tn_value output = function_call_run(call, input);
    if (output != NULL)
        (void)tn.task->complete(task, output);
    else
        (void)tn_fail_take(task, function_call_error(call));
    tn_release(output);
    function_call_free(call);
    return TN_OK;
}

static void ffi_destroy(void *instance) { (void)instance; }

static const tn_component_1 components = {sizeof(tn_component_1), ffi_create, ffi_start, NULL, NULL, ffi_destroy};
static const tn_lifecycle_1 lifecycle = {sizeof(tn_lifecycle_1), ffi_init, NULL, ffi_deinit};

/* ---- Entry ---- */

static const void *ffi_get_interface(void *self, const char *id) {
    (void)self;
    if (strcmp(id, TN_COMPONENT_1) == 0) return &components;
    return strcmp(id, TN_LIFECYCLE_1) == 0 ? &lifecycle : NULL;
}

TN_EXPORT const tn_plugin *tn_plugin_entry_1(const tn_host *host) {
    static const tn_plugin plugin = {sizeof(tn_plugin), NULL, ffi_get_interface};
    if (tn_easy_entry(host) == NULL) return NULL; /* it fills `tn` */
    registry = tn_easy_interface(host, TN_REGISTRY_1, sizeof *registry);
    if (registry != NULL) return &plugin;
    tn_log(TN_LOG_ERROR, "declined: the host does not offer " TN_REGISTRY_1);
    return NULL;
}
