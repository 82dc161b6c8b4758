/*
 * embed_program.c - the plugin of the embedding program's components.
 *
 * It is a native plugin whose components are added at run time, so a program can register one at any time, and both
 * documents and messages treat it like a component of a file.
 */
#include "host/embed/embed_program.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/abi_table.h"
#include "host/assembly/host.h"
#include "host/engine/graph/graph.h"
#include "host/plugin/call/binder.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include <inttypes.h>
#include <string.h>

struct embed_program {
    tn_plugin plugin; /* registered with the registry */
    struct embed_entry *first;
};

/* ---- tn_component_1 ---- */

static int32_t program_create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                              void **instance) {
    const struct embed_program *program = self;
    const struct embed_entry *entry = program->first;
    struct embed_instance *created = NULL;
    (void)length; /* ids contain no NUL */
    while (entry && strcmp(entry->id, id) != 0) entry = entry->next;
    if (!entry) return TN_NOT_FOUND;
    int32_t status = entry->ops->create(entry, config, binder, &created);
    if (status != TN_OK) return status;
    created->entry = entry;
    *instance = created;
    return TN_OK;
}

static int32_t program_start(void *instance, tn_task task, tn_value input) {
    struct embed_instance *of = instance;
    return of->entry->ops->start(of, task, input);
}

static void program_cancel(void *instance, tn_task task) {
    struct embed_instance *of = instance;
    if (of->entry->ops->cancel) of->entry->ops->cancel(of, task);
}

static void program_ready(void *instance, tn_task task) {
    struct embed_instance *of = instance;
    if (of->entry->ops->ready) of->entry->ops->ready(of, task);
}

static void program_destroy(void *instance) {
    struct embed_instance *of = instance;
    of->entry->ops->destroy(of);
}

static const void *program_get(void *self, const char *interface_id) {
    static const tn_component_1 component = {sizeof component, program_create, program_start,
                                             program_cancel,   program_ready,  program_destroy};
    (void)self;
    return strcmp(interface_id, TN_COMPONENT_1) == 0 ? &component : NULL;
}

/* ---- Entries ---- */

/* Creates the plugin, once. */
static int32_t program_open(tenon *handle) {
    static const char manifest_text[] =
        "{\"plugin\": {\"id\": \"" EMBED_PROGRAM_ID "\", \"version\": \"1.0.0\","
        " \"title\": \"The components of the program that contains the host\","
        " \"dynamic\": [\"node\", \"tool\", \"model\", \"reducer\"]}, \"components\": []}";
    if (handle->program) return TN_OK;
    struct embed_program *program = mem_zalloc(sizeof *program);
    program->plugin = (tn_plugin){sizeof program->plugin, program, program_get};
    tn_value manifest = NULL;
    (void)json_read(manifest_text, sizeof manifest_text - 1, NULL, &manifest, NULL);
    struct registry *registry = host_registry(handle->host);
    int32_t status = registry_add_native(registry, manifest, &program->plugin, "the program", &handle->error);
    if (status == TN_OK) status = plugin_load(registry_plugin(registry, EMBED_PROGRAM_ID), &handle->error);
    value_unref(manifest);
    if (status == TN_OK)
        handle->program = program;
    else
        mem_free(program);
    return status;
}

int32_t embed_program_add_take(tenon *handle, struct embed_entry *entry, tn_value component) {
    int32_t status = program_open(handle);
    if (status == TN_OK) {
        struct plugin *plugin = registry_plugin(host_registry(handle->host), EMBED_PROGRAM_ID);
        status = registry_add_component(plugin, component, &handle->error);
    }
    if (status != TN_OK) {
        if (entry->ops->release) entry->ops->release(entry);
        entry->ops->free(entry);
        return status;
    }
    entry->next = handle->program->first;
    handle->program->first = entry;
    return TN_OK;
}

const struct embed_entry *embed_program_find(const tenon *handle, const char *id) {
    const struct embed_entry *entry = handle->program ? handle->program->first : NULL;
    while (entry && strcmp(entry->id, id) != 0) entry = entry->next;
    return entry;
}

char *embed_program_name(tenon *handle, const char *prefix) {
    struct buffer name;
    buffer_init(&name, SIZE_MAX);
    buffer_format(&name, "%s%" PRIu64, prefix, ++handle->components);
    return buffer_detach(&name, NULL);
}

void embed_program_release(tenon *handle) {
    for (struct embed_entry *entry = handle->program ? handle->program->first : NULL; entry; entry = entry->next)
        if (entry->ops->release) entry->ops->release(entry);
}

void embed_program_free(tenon *handle) {
    struct embed_program *program = handle->program;
    while (program && program->first) {
        struct embed_entry *entry = program->first;
        program->first = entry->next;
        entry->ops->free(entry);
    }
    mem_free(program);
    handle->program = NULL;
}

/* ---- The whole state ---- */

static void state_add_field(void *user, const char *name) {
    struct embed_state *state = user;
    MEM_EXTEND(state->fields, state->count);
    state->fields[state->count++] = (struct embed_field){value_text(name), 0};
}

int32_t embed_state_bind(struct embed_state *state, tn_binder *binder) {
    const struct instance_scope *scope = binder->scope;
    int32_t status = TN_OK;
    *state = (struct embed_state){0};
    if (scope->each_field) scope->each_field(scope->self, state_add_field, state);
    for (uint32_t i = 0; status == TN_OK && i < state->count; i++)
        status = binder_read(binder, value_chars(state->fields[i].name, NULL), &state->fields[i].index);
    if (status != TN_OK) embed_state_finish(state);
    return status;
}

tn_value embed_state_read(const struct embed_state *state, tn_task task) {
    const tn_task_1 *api = interface_find(TN_TASK_1);
    if (state->count == 1 && value_text_is(state->fields[0].name, GRAPH_WHOLE_STATE)) {
        tn_value whole = NULL;
        (void)api->read(task, state->fields[0].index, &whole);
        return whole ? whole : value_object();
    }
    tn_value object = value_object_reserve(state->count);
    for (uint32_t i = 0; i < state->count; i++) {
        tn_value value = NULL;
        (void)api->read(task, state->fields[i].index, &value);
        if (value) object = value_set_key_take(object, value_ref(state->fields[i].name), value);
    }
    return object;
}

void embed_state_finish(struct embed_state *state) {
    for (uint32_t i = 0; i < state->count; i++) value_unref(state->fields[i].name);
    mem_free(state->fields);
    *state = (struct embed_state){0};
}
