/*
 * lsp_world.c - answers of a host for threads.
 */
#include "host/server/lsp/lsp_world.h"
#include "adl/assist/assist.h"
#include "adl/document/model_role.h"
#include "adl/schema/schema.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/base/files.h"
#include "host/server/lsp/lsp_catalog.h"
#include <string.h>

struct lsp_world {
    uint32_t references; /* atomic */
    size_t *users;       /* atomic: worlds of the host */
    struct assist_world world;
    struct catalog catalog;
    struct catalog_copy *components;
    struct schema *schema; /* of the text if it is a tenon.yaml, or NULL */
    struct component_info form;
    const struct host *host;
    const struct catalog *of_host; /* `read` and `read_self`, which any thread may use */
    tn_value roles;                /* {role: binding}, or NULL */
    tn_value open;                 /* {path: text}, or NULL: no files are read */
    size_t reads;
    tn_value read; /* {path: hash of its text}: the files that were read */
};

static int64_t hash_text(const char *text, size_t length) {
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    return (int64_t)(hash >> 1);
}

static void remember_read(struct lsp_world *world, const char *path, tn_value text) {
    size_t length;
    const char *chars = value_chars(text, &length);
    if (!path || value_get(world->read, path)) return;
    world->read = value_set_take(world->read, path, value_int(hash_text(chars, length)));
}

size_t lsp_world_reads(const struct lsp_world *world) { return world->reads; }

bool lsp_world_has_read(const struct assist_world *world, const char *path) {
    return value_get(((const struct lsp_world *)world->self)->read, path) != NULL;
}

bool lsp_world_has_read_other(const struct assist_world *world, const char *path, const struct source *source) {
    tn_value hash = value_get(((const struct lsp_world *)world->self)->read, path);
    return hash && value_to_int(hash) != hash_text(source_text(source), source_length(source));
}

/* The file is read in any case: that decides whether the document may name it. */
static tn_value world_read(void *self, const struct source *from, const char *file, struct catalog_file *found,
                           struct error *error) {
    struct lsp_world *world = self;
    world->reads++;
    if (!world->open && strncmp(file, "tenon:", strlen("tenon:")) != 0) {
        error_set(error, TN_INVALID, "PERMISSION_DENIED",
                  "this client may not name files of the host, so the language server reads none for it; only clients "
                  "with the scope `admin` may (`tenon serve --scope`)");
        return NULL;
    }
    tn_value text = world->of_host->read(world->of_host->read_self, from, file, found, error);
    tn_value open = text && world->open && found->path ? value_get(world->open, found->path) : NULL;
    if (open) {
        value_unref(text);
        text = value_ref(open);
    }
    if (text) remember_read(world, found->path, text);
    return text;
}

static bool world_role_bound(void *self, const char *role, size_t length) {
    const struct lsp_world *world = self;
    tn_value name = value_string(role, length);
    bool bound = world->roles && name && value_get_key(world->roles, name);
    value_unref(name);
    return bound;
}

/* The model of a binding: a text, {provider, model?}, or the first one of several. */
static const char *model_of(tn_value binding) {
    binding = model_role_first(binding);
    if (binding && value_is(binding, TN_OBJECT)) binding = value_get(binding, "provider");
    return binding && value_is(binding, TN_STRING) ? value_chars(binding, NULL) : "";
}

static void world_each_role(void *self, void (*visit)(void *user, const char *role, const char *model), void *user) {
    const struct lsp_world *world = self;
    for (size_t i = 0; world->roles && i < value_count(world->roles); i++)
        visit(user, value_chars(value_key_at(world->roles, i), NULL), model_of(value_value_at(world->roles, i)));
}

static void world_each_file(void *self, const struct source *from, const char *folder,
                            void (*visit)(void *user, const char *name, bool is_folder), void *user) {
    const struct lsp_world *world = self;
    if (world->open) files_list(world->of_host->read_self, from, folder, visit, user);
}

static void world_each_document(void *self, void (*visit)(void *user, const char *name, const char *title),
                                void *user) {
    const struct lsp_world *world = self;
    host_each_document(world->host, visit, user);
}

static void world_ref(void *self) { __atomic_add_fetch(&((struct lsp_world *)self)->references, 1, __ATOMIC_RELAXED); }

static void world_unref(void *self) { lsp_world_unref(self); }

struct lsp_world *lsp_world_new(struct host *host, struct catalog_copy *components, tn_value open, size_t *users) {
    struct lsp_world *world = mem_zalloc(sizeof *world);
    tn_value roles = config_models(host_config(host));
    world->references = 1;
    world->users = users;
    __atomic_add_fetch(users, 1, __ATOMIC_RELAXED);
    world->components = catalog_copy_ref(components);
    world->host = host;
    world->of_host = host_catalog(host);
    world->roles = roles ? value_ref(roles) : NULL;
    world->open = open ? value_ref(open) : NULL;
    world->read = value_object();
    catalog_copy_fill(components, &world->catalog);
    world->catalog.read = world_read;
    world->catalog.read_self = world;
    world->catalog.role_bound = world_role_bound;
    world->catalog.role_self = world;
    world->world = (struct assist_world){.catalog = &world->catalog,
                                         .self = world,
                                         .ref = world_ref,
                                         .unref = world_unref,
                                         .each_role = world_each_role,
                                         .each_file = world_each_file,
                                         .each_document = world_each_document};
    return world;
}

void lsp_world_set_form(struct lsp_world *world, struct schema *schema, tn_value roles) {
    if (!schema) return;
    for (size_t i = 0; i < value_count(roles); i++)
        if (!world->roles || !value_get_key(world->roles, value_key_at(roles, i)))
            world->roles = value_set_key_take(world->roles ? world->roles : value_object(),
                                              value_ref(value_key_at(roles, i)), value_null());
    world->schema = schema_ref(schema);
    world->form = (struct component_info){.id = "tenon.yaml", .kind = "config", .config = schema};
    world->world.form = &world->form;
}

void lsp_world_unref(struct lsp_world *world) {
    if (!world || __atomic_sub_fetch(&world->references, 1, __ATOMIC_ACQ_REL) != 0) return;
    catalog_copy_unref(world->components);
    schema_unref(world->schema);
    value_unref(world->roles);
    value_unref(world->open);
    value_unref(world->read);
    __atomic_sub_fetch(world->users, 1, __ATOMIC_RELEASE);
    mem_free(world);
}

const struct assist_world *lsp_world_assist(const struct lsp_world *world) { return &world->world; }
