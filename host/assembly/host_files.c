/*
 * host_files.c - configures the reader of documents' files (base/files.h) with what is allowed: the project, the
 * installed packs, files.roots, and what sections of plugins name.
 */
#include "adl/document/inner_file.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/assembly/host_internal.h"
#include "host/base/config/config.h"
#include "host/base/files.h"
#include "host/plugin/pack/pack_installed.h"
#include "host/plugin/pack/pack_name.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/plugin_search.h"
#include "host/plugin/registry/registry.h"
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void host_each_config_folder(void *user, void (*visit)(void *to, const char *folder), void *to) {
    const struct host *host = user;
    tn_value sections = config_plugin_sections(host->config);
    for (size_t i = 0; i < value_count(sections); i++)
        visit(to, config_plugin_folder(host->config, value_chars(value_key_at(sections, i), NULL)));
}

struct granted_file {
    const char *path;
    bool found;
};

static void host_look_for_grant(void *user, struct plugin *plugin) {
    static const char prefix[] = "fs.read:";
    struct granted_file *file = user;
    tn_value grants = plugin_grants(plugin);
    for (size_t i = 0; grants && !file->found && i < value_count(grants); i++) {
        const char *grant = value_chars(value_at(grants, i), NULL);
        char granted[PATH_MAX], wanted[PATH_MAX];
        file->found = strncmp(grant, prefix, strlen(prefix)) == 0 && realpath(grant + strlen(prefix), granted) &&
                      realpath(file->path, wanted) && strcmp(granted, wanted) == 0;
    }
}

/* True if the section of a plugin in tenon.yaml names the file. */
static bool host_grants_file(void *user, const char *path) {
    struct granted_file file = {path, false};
    registry_each_plugin(((const struct host *)user)->registry, host_look_for_grant, &file);
    return file.found;
}

/* ---- `pack:NAME/FILE` and `tenon:NAME` ---- */

#define INSTALLED_PREFIX "tenon:"

struct document_visit {
    void (*visit)(void *user, const char *name, const char *title);
    void *user;
};

static void visit_installed_name(const struct document_visit *to, const char *name, size_t length) {
    tn_value whole = value_format(INSTALLED_PREFIX "%.*s", (int)length, name);
    to->visit(to->user, value_chars(whole, NULL), "");
    value_unref(whole);
}

/* The length of the name that an entry of DATA/documents has after `tenon:`, or 0. */
static size_t installed_document_name(const char *folder, const char *entry) {
    const char *end = strrchr(entry, '.');
    (void)folder;
    return end && strcmp(end, ".yaml") == 0 ? (size_t)(end - entry) : 0;
}

/* The same for DATA/strategies, where NAME/NAME.yaml is a document. */
static size_t installed_strategy_name(const char *folder, const char *entry) {
    tn_value path = value_format("%s/%s/%s.yaml", folder, entry, entry);
    struct stat status;
    bool there = entry[0] != '.' && stat(value_chars(path, NULL), &status) == 0 && S_ISREG(status.st_mode);
    value_unref(path);
    return there ? strlen(entry) : 0;
}

static void visit_installed_folder(const char *data, const char *below,
                                   size_t (*name_length)(const char *folder, const char *entry),
                                   const struct document_visit *to) {
    struct dirent **items = NULL;
    tn_value folder = value_format("%s/%s", data, below);
    int count = scandir(value_chars(folder, NULL), &items, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        size_t length = name_length(value_chars(folder, NULL), items[i]->d_name);
        if (length) visit_installed_name(to, items[i]->d_name, length);
        free(items[i]);
    }
    free((void *)items);
    value_unref(folder);
}

static void visit_installed_documents(const char *data, const struct document_visit *to) {
    visit_installed_folder(data, "documents", installed_document_name, to);
    visit_installed_folder(data, "strategies", installed_strategy_name, to);
}

static void append_document_name(void *text, const char *name, const char *title) {
    (void)title;
    buffer_format(text, "%s%s", ((struct buffer *)text)->length ? ", " : "; available: ", name);
}

/* Finds the regular file `name` below `root`, which is released. Links must not lead out of it. */
static bool host_find_below_take(tn_value root, const char *name, const char *ending, struct catalog_file *found) {
    tn_value path = value_format("%s/%s%s", value_chars(root, NULL), name, ending);
    char folder[PATH_MAX], resolved[PATH_MAX];
    struct stat status;
    bool there = realpath(value_chars(root, NULL), folder) && realpath(value_chars(path, NULL), resolved) &&
                 stat(resolved, &status) == 0 && S_ISREG(status.st_mode) &&
                 strncmp(resolved, folder, strlen(folder)) == 0 && resolved[strlen(folder)] == '/';
    if (there) *found = (struct catalog_file){mem_text(resolved), mem_text(folder)};
    value_unref(root);
    value_unref(path);
    return there;
}

static bool host_find_installed(const char *data, const char *folder, const char *name, const char *ending,
                                struct catalog_file *found) {
    return host_find_below_take(value_format("%s/%s", data, folder), name, ending, found);
}

/* A strategy is `NAME`, and a file beside it `NAME/FILE`. Its root is its own folder. */
static bool host_find_strategy(const char *data, const char *name, struct catalog_file *found) {
    int length = (int)strcspn(name, "/");
    const char *file = name[length] ? name + length + 1 : name;
    return host_find_below_take(value_format("%s/strategies/%.*s", data, length, name), file,
                                name[length] ? "" : ".yaml", found);
}

static int32_t host_locate_installed(const char *whole, struct catalog_file *found, struct error *error) {
    const char *name = whole + strlen(INSTALLED_PREFIX), *why = NULL;
    char *data = search_data_directory();
    bool valid = pack_path_valid(name, strlen(name), &why), there = false;
    if (data && valid)
        there = host_find_installed(data, "documents", name, "", found) ||
                host_find_installed(data, "documents", name, ".yaml", found) ||
                host_find_installed(data, "schema", name, "", found) || host_find_strategy(data, name, found);
    if (!there) {
        struct buffer text;
        buffer_init(&text, 1024);
        if (data) visit_installed_documents(data, &(struct document_visit){append_document_name, &text});
        error_set(error, TN_NOT_FOUND, "NOT_FOUND", "no file `%.200s` is installed with Tenon%s", whole,
                  buffer_cstr(&text));
        buffer_finish(&text);
    }
    mem_free(data);
    return there ? TN_OK : TN_NOT_FOUND;
}

/* `pack:NAME/FILE` or `tenon:NAME`. */
static int32_t host_locate_named(const struct host *host, const char *name, struct catalog_file *found,
                                 struct error *error) {
    struct pack_location location = {NULL, NULL};
    if (!pack_is_name(name)) return host_locate_installed(name, found, error);
    int32_t status = pack_locate(name, host->config, &location, error);
    if (status == TN_OK) *found = (struct catalog_file){location.path, location.root};
    return status;
}

/* ---- `graph:NAME` ---- */

#define GRAPH_PREFIX "graph:"

static int32_t host_refuse_graph(const struct host *host, const char *name, struct error *error) {
    tn_value graphs = config_graphs(host->config);
    struct buffer names;
    buffer_init(&names, 1024);
    for (size_t i = 0; i < value_count(graphs); i++)
        buffer_format(&names, "%s%s", i ? ", " : "; served: ", value_chars(value_key_at(graphs, i), NULL));
    error_set(error, TN_NOT_FOUND, "NOT_FOUND", "no graph `%.100s` is served%s", name, buffer_cstr(&names));
    buffer_finish(&names);
    return TN_NOT_FOUND;
}

/* The file of a served graph, borrowed; NULL if no graph has this name. */
static const char *host_graph_file(const struct host *host, const char *name) {
    tn_value file = value_get(config_graphs(host->config), name + strlen(GRAPH_PREFIX));
    return file ? value_chars(file, NULL) : NULL;
}

static int32_t host_locate_graph(struct host *host, const char *name, struct catalog_file *found, struct error *error) {
    const char *file = host_graph_file(host, name);
    char path[PATH_MAX];
    if (!file) return host_refuse_graph(host, name + strlen(GRAPH_PREFIX), error);
    if (files_is_special_name(file) && !files_is_graph_name(file)) return host_locate_named(host, file, found, error);
    if (!realpath(file, path))
        return error_set(error, TN_NOT_FOUND, "IO", "the document of the graph `%.100s` cannot be read: %s: %s",
                         name + strlen(GRAPH_PREFIX), file, strerror(errno));
    *found = (struct catalog_file){mem_text(path), files_root_of(host->files, path)};
    return TN_OK;
}

static int32_t host_locate(void *user, const char *name, struct catalog_file *found, struct error *error) {
    struct host *host = user;
    return files_is_graph_name(name) ? host_locate_graph(host, name, found, error)
                                     : host_locate_named(host, name, found, error);
}

/* ---- Lists of documents ---- */

static void visit_pack_documents(void *user, const struct installed_pack *pack) {
    const struct document_visit *to = user;
    tn_value documents = value_get(pack->manifest.value, "documents");
    if (pack->version_in_use || pack->fault.code || !documents || !value_is(documents, TN_ARRAY)) return;
    for (size_t i = 0; i < value_count(documents); i++) {
        tn_value name = value_format("pack:%s/%s", pack->name, value_chars(value_at(documents, i), NULL));
        to->visit(to->user, value_chars(name, NULL), pack->manifest.title ? pack->manifest.title : "");
        value_unref(name);
    }
}

void host_each_document(const struct host *host, void (*visit)(void *user, const char *name, const char *title),
                        void *user) {
    struct document_visit to = {visit, user};
    char *data = search_data_directory();
    if (data) visit_installed_documents(data, &to);
    packs_each(host->config, visit_pack_documents, &to);
    mem_free(data);
}

int32_t host_locate_file(void *host, const char *name, char **path, struct error *error) {
    struct catalog_file found = {NULL, NULL};
    struct installed_pack pack;
    if (!files_is_special_name(name)) return TN_NOT_FOUND;
    const char *file = files_is_graph_name(name) ? host_graph_file(host, name) : NULL;
    if (file && pack_is_name(file)) name = file;
    int32_t status = host_locate(host, name, &found, error);
    if (status == TN_OK && pack_is_name(name)) { /* the caller reads the file later, so check it now */
        status = pack_inspect(found.root, &pack, error);
        if (status == TN_OK) {
            status = pack_verify_part(&pack, found.path + strlen(found.root) + 1, error);
            installed_pack_finish(&pack);
        }
    }
    if (status == TN_OK) *path = mem_text(found.path);
    catalog_file_finish(&found);
    return status == TN_NOT_FOUND ? TN_INVALID : status;
}

struct files *host_files_new(struct host *host, const char *const *roots) {
    const char *config = config_file(host->config);
    const struct files_grants grants = {host_each_config_folder, host_grants_file, host};
    tn_value configured = config_file_roots(host->config);
    char *packs = config_packs_folder(), *project = config ? files_folder_of(config) : NULL;
    struct files *files = files_new(project, packs, &grants);
    files_set_verify(files, packs_verify_read);
    files_set_locate(files, host_locate, host);
    for (; roots && *roots; roots++)
        if (**roots) files_add_root(files, *roots);
    for (size_t i = 0; i < value_count(configured); i++)
        files_add_root(files, value_chars(value_at(configured, i), NULL));
    mem_free(project);
    mem_free(packs);
    return files;
}
