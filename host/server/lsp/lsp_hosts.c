/*
 * lsp_hosts.c - the hosts for documents: that of the server, and one for each other project (a folder with a
 * tenon.yaml).
 *
 * A project's host is opened by the first check of one of its documents. Its loop runs inside the loop of the server.
 * When the tenon.yaml, or a file of a plugin, changes, the host is retired: the next check opens another one, and the
 * old one is freed when no checked document uses it any more. The server's own host is never opened again, because its
 * clients use it: instead of it, documents get another host with the same configuration. The copy of a host's catalog
 * is made again after a change of its components.
 */
#include "adl/assist/names.h"
#include "adl/schema/schema.h"
#include "adl/value/memory.h"
#include "host/assembly/config_names.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/base/loop_nest.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include "host/server/lsp/lsp_catalog.h"
#include "host/server/lsp/lsp_internal.h"
#include "host/server/lsp/lsp_plugins.h"
#include "host/server/lsp/lsp_watch.h"
#include "host/server/lsp/lsp_world.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct project_host {
    struct project_host *next;
    char *config;      /* the path of tenon.yaml; NULL: the configuration is that of the server's host */
    struct host *host; /* NULL: it could not be opened, so the server's host is used */
    struct loop_nest *nest;
    struct catalog_copy *copy; /* or NULL */
    struct schema *form;       /* of tenon.yaml with the names of this host; NULL until it is needed */
    uint64_t form_generation;  /* of the registry when `form` was made */
    size_t worlds;             /* atomic: those that use the host */
    tn_value followed;         /* lsp_plugins_follow */
    uint64_t follows;          /* the registry_generation of the server's host, then */
    uint64_t files;            /* lsp_plugins_fingerprint, when the host was opened … */
    uint64_t seen;             /* … and when it was looked at last */
    bool retired;
};

struct lsp_hosts {
    struct project_host server; /* its host is borrowed; retired: its plugins have changed on the disk */
    char *server_config;        /* the canonical path of the server's own tenon.yaml; NULL: none, or it has changed */
    struct project_host *projects;
    struct lsp *first;       /* connections */
    struct lsp_watch *watch; /* of the files of plugins; NULL before the first check */
    lsp_open_host *open;     /* or NULL */
    void *user;
    size_t texts_max;
    size_t checks; /* that run: they use hosts */
    bool starts_tools, fixed;
};

/* The canonical path of the server's own tenon.yaml, or NULL. */
static char *own_config(struct host *host) {
    const char *file = config_file(host_config(host));
    char resolved[PATH_MAX];
    return file && realpath(file, resolved) ? mem_text(resolved) : NULL;
}

struct lsp_hosts *lsp_hosts_new(struct host *host, lsp_open_host *open, void *user) {
    struct lsp_hosts *hosts = mem_zalloc(sizeof *hosts);
    hosts->server.host = host;
    hosts->server_config = own_config(host);
    hosts->server.files = hosts->server.seen = lsp_plugins_fingerprint(host);
    hosts->open = open;
    hosts->user = user;
    hosts->texts_max = LSP_TEXTS_SIZE_MAX;
    return hosts;
}

void lsp_hosts_limit_texts(struct lsp_hosts *hosts, size_t bytes) { hosts->texts_max = bytes; }
size_t lsp_hosts_texts_max(const struct lsp_hosts *hosts) { return hosts->texts_max; }

void lsp_hosts_fix_config(struct lsp_hosts *hosts) { hosts->fixed = true; }

void lsp_hosts_join(struct lsp_hosts *hosts, struct lsp *lsp) {
    lsp->next = hosts->first;
    hosts->first = lsp;
}

void lsp_hosts_leave(struct lsp_hosts *hosts, const struct lsp *lsp) {
    struct lsp **link = &hosts->first;
    while (*link != lsp) link = &(*link)->next;
    *link = lsp->next;
}

static void project_free(struct project_host *project) {
    catalog_copy_unref(project->copy);
    schema_unref(project->form);
    loop_nest_free(project->nest);
    host_free(project->host);
    value_unref(project->followed);
    mem_free(project->config);
    mem_free(project);
}

/* Frees retired hosts that no world uses. */
static void hosts_sweep(struct lsp_hosts *hosts) {
    for (struct project_host **link = &hosts->projects; *link;) {
        struct project_host *project = *link;
        if (project->retired && __atomic_load_n(&project->worlds, __ATOMIC_ACQUIRE) == 0) {
            *link = project->next;
            project_free(project);
        } else {
            link = &project->next;
        }
    }
}

void lsp_hosts_begin_check(struct lsp_hosts *hosts) { hosts->checks++; }

void lsp_hosts_end_check(struct lsp_hosts *hosts) {
    hosts->checks--;
    hosts_sweep(hosts);
}

static bool hosts_have_no_check(void *user) { return ((const struct lsp_hosts *)user)->checks == 0; }

void lsp_hosts_free(struct lsp_hosts *hosts) {
    if (!hosts) return;
    (void)loop_run(host_loop(hosts->server.host), hosts_have_no_check, hosts);
    lsp_watch_free(hosts->watch);
    while (hosts->projects) {
        struct project_host *project = hosts->projects;
        hosts->projects = project->next;
        project_free(project);
    }
    catalog_copy_unref(hosts->server.copy);
    schema_unref(hosts->server.form);
    mem_free(hosts->server_config);
    mem_free(hosts);
}

/* ---- The project of a document ---- */

/*
 * The person has opened a file, and not chosen its folder to work in, as with the program: also in the folder itself, a
 * tenon.yaml of another user does not count.
 */
char *lsp_project_of_folder(const char *folder) {
    char *config = NULL;
    struct stat status;
    if (config_find_project(folder, &config, NULL) != TN_OK || !config) return NULL;
    if (stat(config, &status) == 0 && (status.st_uid == geteuid() || status.st_uid == 0)) return config;
    mem_free(config);
    return NULL;
}

bool lsp_same_project(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

/* ---- Files of plugins ---- */

static void watch_place(void *user, const char *path) { lsp_watch_add(user, path); }

/* A host that could not be opened may have failed because of a plugin that the command line names: it is tried again.
 */
static const struct host *searching_host(const struct lsp_hosts *hosts, const struct project_host *project) {
    return project->host ? project->host : hosts->server.host;
}

/* True while the files are still being written: they are looked at again. */
static bool project_look(const struct lsp_hosts *hosts, struct project_host *project, bool *changed) {
    uint64_t files = project->retired ? project->files : lsp_plugins_fingerprint(searching_host(hosts, project));
    bool settled = files == project->seen;
    project->seen = files;
    if (files == project->files) return false;
    if (settled) project->retired = *changed = true;
    return !settled;
}

static void hosts_watch(struct lsp_hosts *hosts) {
    lsp_watch_begin(hosts->watch);
    if (!hosts->server.retired) lsp_plugins_each_place(hosts->server.host, watch_place, hosts->watch);
    for (const struct project_host *project = hosts->projects; project; project = project->next)
        if (!project->retired) lsp_plugins_each_place(searching_host(hosts, project), watch_place, hosts->watch);
    lsp_watch_end(hosts->watch);
}

static bool hosts_look(void *user) {
    struct lsp_hosts *hosts = user;
    bool changed = false, again = project_look(hosts, &hosts->server, &changed);
    for (struct project_host *project = hosts->projects; project; project = project->next)
        again = project_look(hosts, project, &changed) || again;
    if (!changed) return again;
    hosts_sweep(hosts);
    for (struct lsp *lsp = hosts->first; lsp; lsp = lsp->next) lsp_refresh_all(lsp);
    return again;
}

/* What has changed since the server's host was opened is noticed soon, too. */
static void hosts_start_watch(struct lsp_hosts *hosts) {
    if (hosts->watch || !hosts->open) return;
    hosts->watch = lsp_watch_new(host_loop(hosts->server.host), hosts_look, hosts);
    hosts_watch(hosts);
    lsp_watch_touch(hosts->watch);
}

void lsp_hosts_look(struct lsp_hosts *hosts) {
    if (hosts->watch) lsp_watch_touch(hosts->watch);
}

/* ---- Projects ---- */

/* Opens a host with the configuration, or with that of the server's host. */
static void project_open_host(struct lsp_hosts *hosts, struct project_host *project) {
    struct log *log = log_ref(log_current());
    struct error error = ERROR_INIT;
    const char *config = project->config ? project->config : hosts->server_config;
    project->host = hosts->open(hosts->user, hosts->fixed ? NULL : config, &error);
    log_enter(log);
    log_unref(log);
    if (project->host) {
        project->nest = loop_nest_new(host_loop(hosts->server.host), host_loop(project->host));
    } else {
        log_write(LOG_WARN, NULL, "%s cannot be used: %s", config ? config : "the configuration", error.message);
    }
    error_finish(&error);
}

static struct project_host *project_open(struct lsp_hosts *hosts, const char *config) {
    struct project_host *project = mem_zalloc(sizeof *project);
    project->config = config ? mem_text(config) : NULL;
    project->followed = value_object();
    project_open_host(hosts, project);
    project->files = project->seen = lsp_plugins_fingerprint(searching_host(hosts, project));
    project->next = hosts->projects;
    hosts->projects = project;
    hosts_watch(hosts);
    return project;
}

static bool is_own_config(const struct lsp_hosts *hosts, const char *config) {
    if (!config || !hosts->open || hosts->fixed) return true;
    return hosts->server_config && strcmp(hosts->server_config, config) == 0;
}

static struct project_host *project_find(struct lsp_hosts *hosts, const char *config) {
    size_t count = 0;
    bool own = is_own_config(hosts, config);
    hosts_start_watch(hosts);
    if (own && !hosts->server.retired) return &hosts->server;
    if (own) config = NULL;
    for (struct project_host *project = hosts->projects; project; project = project->next, count++)
        if (!project->retired && lsp_same_project(project->config, config)) return project;
    return count < LSP_PROJECTS_MAX ? project_open(hosts, config) : &hosts->server;
}

/* True if every host reads this tenon.yaml. */
static bool is_config_of_user(const char *config) {
    char *file = config_user_file(), resolved[PATH_MAX];
    bool same = file && realpath(file, resolved) && strcmp(resolved, config) == 0;
    mem_free(file);
    return same;
}

bool lsp_hosts_forget(struct lsp_hosts *hosts, const char *config) {
    bool all = is_config_of_user(config);
    bool own = hosts->server_config && (all || strcmp(hosts->server_config, config) == 0);
    for (struct project_host *project = hosts->projects; project; project = project->next)
        if (all || (project->config ? strcmp(project->config, config) == 0 : own)) project->retired = true;
    if (own && hosts->open && !hosts->fixed) {
        mem_free(hosts->server_config);
        hosts->server_config = NULL;
    }
    if (all && hosts->open && !hosts->fixed) hosts->server.retired = true;
    hosts_sweep(hosts);
    return all;
}

void lsp_hosts_start_tools(struct lsp_hosts *hosts) { hosts->starts_tools = true; }

/* ---- Worlds ---- */

struct dynamic_load {
    const struct config *config;
    bool starts_tools;
};

static bool may_load(void *user, const struct plugin *plugin) {
    const struct dynamic_load *load = user;
    return load->starts_tools || !config_plugin_section(load->config, plugin_id(plugin));
}

/* What methods have changed in the server's host counts in projects, too. */
static void project_follow(const struct lsp_hosts *hosts, struct project_host *project) {
    uint64_t generation = registry_generation(host_registry(hosts->server.host));
    if (project == &hosts->server || project->follows == generation) return;
    project->follows = generation;
    lsp_plugins_follow(project->host, hosts->server.host, &project->followed);
    loop_nest_wake(project->nest);
}

static struct catalog_copy *project_catalog(const struct lsp_hosts *hosts, struct project_host *project) {
    struct dynamic_load load = {host_config(project->host), hosts->starts_tools};
    project_follow(hosts, project);
    if (!project->copy) registry_load_bundled_dynamic(host_registry(project->host), may_load, &load);
    uint64_t generation = registry_generation(host_registry(project->host));
    if (project->copy && catalog_copy_generation(project->copy) == generation) return project->copy;
    catalog_copy_unref(project->copy);
    project->copy = catalog_copy_new(host_catalog(project->host), generation);
    return project->copy;
}

static struct schema *compile_take(tn_value document) {
    struct schema *schema = NULL;
    struct error error = ERROR_INIT;
    if (schema_compile(document, NULL, &schema, &error) != TN_OK)
        log_write(LOG_WARN, NULL, "the schema of tenon.yaml cannot be used: %s", error.message);
    error_finish(&error);
    value_unref(document);
    return schema;
}

/* If the schemas of plugins are too large together (schema.h), the form has no names. */
static struct schema *project_form(struct project_host *project) {
    uint64_t generation = registry_generation(host_registry(project->host));
    if (project->form && project->form_generation == generation) return project->form;
    schema_unref(project->form);
    project->form = compile_take(config_schema_of_host(project->host));
    if (!project->form) project->form = compile_take(config_schema());
    project->form_generation = generation;
    return project->form;
}

/* {role: null} of the open documents of a project. */
static tn_value used_roles(const struct lsp *lsp, const char *config) {
    tn_value roles = value_object();
    for (const struct lsp_text *text = lsp->texts; text && value_count(roles) < ASSIST_ROLES_MAX; text = text->next) {
        bool inside = config && text->project && strcmp(text->project, config) == 0;
        for (size_t i = 0; inside && i < value_count(text->roles); i++)
            roles = value_set_key_take(roles, value_ref(value_key_at(text->roles, i)), value_null());
    }
    return roles;
}

/* {path: text} of all open documents; of `except`, which may be NULL, the checked text itself is used. */
static tn_value open_texts(const struct lsp *lsp, const struct lsp_text *except) {
    tn_value open = value_object();
    for (struct lsp_text *text = lsp->texts; text; text = text->next) {
        if (text == except || !text->path) continue;
        if (!text->content) text->content = value_string_lossy(source_text(text->source), source_length(text->source));
        open = value_set_take(open, text->path, value_ref(text->content));
    }
    return open;
}

static struct lsp_world *project_world(struct lsp_hosts *hosts, const char *config, const struct lsp *lsp,
                                       const struct lsp_text *except) {
    struct project_host *project = project_find(hosts, config);
    if (!project->host) project = &hosts->server;
    tn_value open = open_texts(lsp, except);
    struct lsp_world *world =
        lsp_world_new(project->host, project_catalog(hosts, project), lsp->files ? open : NULL, &project->worlds);
    value_unref(open);
    if (except && except->is_config) {
        tn_value roles = used_roles(lsp, config);
        lsp_world_set_form(world, project_form(project), roles);
        value_unref(roles);
    }
    return world;
}

struct lsp_world *lsp_hosts_world(struct lsp_hosts *hosts, const struct lsp_text *text) {
    return project_world(hosts, text->project, text->lsp, text);
}

struct lsp_world *lsp_hosts_world_of_project(struct lsp_hosts *hosts, const struct lsp *lsp, const char *config) {
    return project_world(hosts, config, lsp, NULL);
}
