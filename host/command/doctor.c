/*
 * doctor.c - `tenon doctor`: what this installation has, where it looks, and what is wrong with it.
 *
 * Every fact is a row: a section, a label, a text, and whether it is fine. It goes on where another command would end:
 * a configuration that cannot be read is a finding, and the rest is then looked at without it.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/call/worker.h"
#include "host/command/command.h"
#include "host/config/config.h"
#include "host/host.h"
#include "host/log.h"
#include "host/pack/installed.h"
#include "host/plugin/loader.h"
#include "host/plugin/manifest.h"
#include "host/plugin/plugin.h"
#include "host/plugin/registry.h"
#include "host/plugin/search.h"
#include "host/sandbox/sandbox.h"
#include "host/store/collections.h"
#include "host/store/store.h"
#include "host/unknown.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <uv.h>
#include <yaml.h>

enum state { FINE, NOTE, WRONG };

struct report {
    const struct arguments *arguments;
    tn_value rows; /* [{section, label, text, state}] */
    const char *section;
    tn_value told; /* [message]: each is told once, whoever else it concerns */
    size_t wrong;
    bool config_failed;
};

static void row(struct report *report, enum state state, const char *label, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void row(struct report *report, enum state state, const char *label, const char *format, ...) {
    static const char *const names[] = {"ok", "note", "problem"};
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    va_list args;
    va_start(args, format);
    buffer_vformat(&text, format, args);
    va_end(args);
    tn_value fact = value_set_take(value_object_reserve(4), "section", value_text(report->section));
    fact = value_set_take(fact, "label", value_text(label));
    fact = value_set_take(fact, "text", value_text(buffer_cstr(&text)));
    fact = value_set_take(fact, "state", value_text(names[state]));
    report->rows = value_push_take(report->rows, fact);
    report->wrong += state == WRONG;
    buffer_finish(&text);
}

/* ---- Sections ---- */

static void look_at_versions(struct report *report) {
    char pcre[64] = "";
    struct utsname kernel;
    report->section = "versions";
    row(report, FINE, "tenon", "%s", TENON_VERSION);
    row(report, FINE, "libuv", "%s", uv_version_string());
    row(report, FINE, "libyaml", "%s", yaml_get_version_string());
    if (pcre2_config(PCRE2_CONFIG_VERSION, pcre) > 0) row(report, FINE, "PCRE2", "%s", pcre);
    if (uname(&kernel) == 0) row(report, FINE, "kernel", "%s %s %s", kernel.sysname, kernel.release, kernel.machine);
}

static void look_at_config(struct report *report, const struct host *host) {
    const char *file = config_file(host->config);
    report->section = "configuration";
    if (!report->config_failed) row(report, FINE, "tenon.yaml", "%s", file ? file : "none, which is fine");
    row(report, FINE, "workers", "%u thread%s for blocking components", workers_count(),
        workers_count() == 1 ? "" : "s");
    if (host->concurrency_max != UINT32_MAX) row(report, FINE, "concurrency", "at most %u", host->concurrency_max);
    if (host->recursion_max != UINT32_MAX) row(report, FINE, "recursion", "at most %u steps", host->recursion_max);
}

static void look_at_path(struct report *report, const struct host *host) {
    struct search search;
    search_init(&search);
    for (size_t i = 0; i < argument_count(report->arguments, "plugins"); i++)
        search_add(&search, argument_at(report->arguments, "plugins", i), SEARCH_FLAG, "--plugins");
    search_add_environment(&search);
    for (size_t i = 0; i < config_plugin_paths(host->config); i++)
        search_add(&search, config_plugin_path(host->config, i), SEARCH_CONFIG, "tenon.yaml");
    search_add_user(&search);
    packs_search(host->config, &search);
    search_add_installed(&search);
    report->section = "plugin search path";
    bool installed = false;
    for (size_t i = 0; i < search.count; i++) {
        const struct search_entry *entry = &search.entries[i];
        struct stat status;
        bool there = stat(entry->path, &status) == 0;
        installed |= entry->origin == SEARCH_INSTALLED;
        if (entry->fault.code)
            row(report, NOTE, entry->source, "%s cannot be used; why is said below", entry->path);
        else if (there && access(entry->path, R_OK) != 0)
            row(report, WRONG, entry->source, "%s cannot be read: %s", entry->path, strerror(errno));
        else if (there)
            row(report, FINE, entry->source, "%s", entry->path);
        else
            row(report, entry->origin == SEARCH_USER ? NOTE : WRONG, entry->source, "%s is not there%s", entry->path,
                entry->origin == SEARCH_USER ? ", which is fine" : "");
    }
    if (!installed)
        row(report, WRONG, "installed",
            "there is no lib/tenon/plugins beside the program: the bundled node types are missing");
    search_finish(&search);
}

static void tell(struct report *report, const char *label, const char *message, const char *code) {
    for (size_t i = 0; i < value_count(report->told); i++)
        if (value_text_is(value_at(report->told, i), message)) return;
    report->told = value_push_take(report->told, value_text(message));
    row(report, WRONG, label, "%s [%s]", message, code);
}

/* ---- What each plugin is told in tenon.yaml ---- */

/* What a plugin says of its section while it is loaded. */
static void note_line(void *user, int32_t level, const char *who, const char *line) {
    if (level >= LOG_WARN) row(user, WRONG, who ? who : "plugins", "%s", line);
}

static bool names(tn_value ids, const char *prefix) {
    for (size_t i = 0; i < value_count(ids); i++) {
        tn_value id = value_at(ids, i);
        if (value_is(id, TN_STRING) && strncmp(value_chars(id, NULL), prefix, strlen(prefix)) == 0) return true;
    }
    return false;
}

/* It came with the host, reads what its section names, and has nothing to wait for: no servers, that is. */
static bool only_reads(const struct plugin *plugin) {
    tn_value manifest = manifest_plugin(plugin_manifest(plugin));
    return plugin_bundled(plugin) && value_count(value_get(manifest, "dynamic")) > 0 &&
           !names(value_get(manifest, "requires"), "tenon.expect/") &&
           !names(value_get(manifest, "optional"), "tenon.expect/");
}

static void look_at_section(struct report *report, struct plugin *plugin, const struct host *host) {
    struct error error = ERROR_INIT;
    size_t before = report->wrong;
    if (!config_plugin(host->config, plugin_id(plugin))) return;
    log_set_sink(note_line, report);
    int32_t status = plugin_check_section(plugin, &error);
    if (status == TN_OK && only_reads(plugin)) status = plugin_load(plugin, &error);
    log_set_sink(NULL, NULL);
    if (status != TN_OK && (report->wrong == before || strcmp(error.code, "PLUGIN_REFUSED") != 0))
        tell(report, plugin_id(plugin), error.message, error.code);
    else if (status == TN_OK && report->wrong == before)
        row(report, FINE, plugin_id(plugin), "its section of tenon.yaml fits");
    error_finish(&error);
}

static void visit_section(void *user, struct plugin *plugin) {
    struct report *report = user;
    struct host *host = registry_user(plugin_registry(plugin));
    struct error error = ERROR_INIT;
    if (!plugin_refusal(plugin) && loader_preflight(plugin, &error) == TN_OK) look_at_section(report, plugin, host);
    error_finish(&error);
}

static void say_unknown(void *user, const char *message) { tell(user, "tenon.yaml", message, "NOT_FOUND"); }
static void say_rule(void *user, const char *message) { tell(user, "tools", message, "NOT_FOUND"); }
static void say_model(void *user, const char *message) { tell(user, "models", message, "INVALID_CONFIG"); }

static void look_at_sections(struct report *report, struct host *host) {
    report->section = "what tenon.yaml says";
    unknown_plugins(host, say_unknown, report);
    registry_each_plugin(host->registry, visit_section, report);
    unknown_providers(host, say_model, report);
    unknown_tools(host, say_rule, report);
}

static void look_at_plugin(void *user, struct plugin *plugin) {
    struct report *report = user;
    const struct error *refusal = plugin_refusal(plugin);
    struct error error = ERROR_INIT;
    if (!refusal && loader_preflight(plugin, &error) != TN_OK) refusal = &error;
    if (refusal)
        tell(report, plugin_id(plugin), refusal->message, refusal->code);
    else
        row(report, FINE, plugin_id(plugin), "%s, %s (%s)", plugin_version(plugin), plugin_path(plugin),
            plugin_source(plugin));
    error_finish(&error);
}

static void look_at_plugins(struct report *report, struct host *host) {
    report->section = "plugins";
    registry_each_plugin(host->registry, look_at_plugin, report);
    for (size_t i = 0; i < registry_problems(host->registry); i++) {
        const struct problem *problem = registry_problem_at(host->registry, i);
        if (strcmp(problem->code, "NOT_FOUND") != 0) /* the search path has said that */
            tell(report, "search path", problem->message, problem->code);
    }
}

static void look_at_machine(struct report *report) {
    report->section = "this machine";
    if (access("/usr/share/zoneinfo/Europe/Berlin", R_OK) == 0)
        row(report, FINE, "time zones", "/usr/share/zoneinfo");
    else
        row(report, NOTE, "time zones", "none: expressions know UTC and fixed offsets only; install tzdata");
}

/* What holds a plugin in a process of its own. */
static void look_at_sandbox(struct report *report) {
    struct sandbox_support support;
    sandbox_look(&support);
    report->section = "isolation";
    if (support.no_new_privileges)
        row(report, FINE, "no_new_privs", "yes");
    else
        row(report, WRONG, "no_new_privs", "this kernel has it not: plugins cannot be isolated");
    if (!support.filter)
        row(report, NOTE, "seccomp", "this kernel has no filters: an isolated plugin may call anything");
    else
        row(report, support.audit ? FINE : NOTE, "seccomp", "filters%s, libseccomp %s",
            support.audit ? ", each refusal told in the log" : "; refusals cannot be told in the log",
            support.seccomp_version);
    if (support.landlock)
        row(report, FINE, "Landlock", "version %d: %s", support.landlock, sandbox_landlock_text(support.landlock));
    else
        row(report, NOTE, "Landlock",
            "this kernel has none, or it is switched off: files are guarded against mistakes only");
}

/* ---- The whole ---- */

static void print_rows(const struct report *report) {
    static const struct { const char *state, *mark; } marks[] = {{"ok", "✓"}, {"note", "·"}, {"problem", "✗"}};
    tn_value last = NULL;
    for (size_t i = 0; i < value_count(report->rows); i++) {
        tn_value fact = value_at(report->rows, i), section = value_get(fact, "section");
        const char *mark = "";
        for (size_t j = 0; j < sizeof marks / sizeof *marks; j++)
            if (value_text_is(value_get(fact, "state"), marks[j].state)) mark = marks[j].mark;
        if (!last || !value_equal(last, section)) printf("%s%s\n", last ? "\n" : "", value_chars(section, NULL));
        command_say(stdout, "  %s %-18s %s\n", mark, value_chars(value_get(fact, "label"), NULL),
                    value_chars(value_get(fact, "text"), NULL));
        last = section;
    }
    if (report->wrong)
        printf("\n%zu problem%s\n", report->wrong, report->wrong == 1 ? "" : "s");
    else
        printf("\nno problems found\n");
}

/* Nothing is made by looking: a store that is not there yet stays so. */
static void look_at_store(struct report *report, struct host *host) {
    struct error error = ERROR_INIT;
    struct stat file;
    report->section = "store";
    struct store *store = host_store(host, &error);
    if (!store) {
        row(report, WRONG, "store", "%s [%s]", error.message, error.code);
    } else if (stat(store_path(store), &file) != 0) {
        row(report, NOTE, "store", "%s: nothing has been kept yet", store_path(store));
    } else {
        tn_value of = value_set_take(value_object_reserve(1), "collection", value_text(STORE_THREADS)), count = NULL;
        tn_value query = value_set_take(value_object_reserve(1), "count", of);
        bool counted = store_query_wait(store, query, &count, &error) == TN_OK;
        long long threads = value_is(count, TN_INT) ? (long long)value_to_int(count) : 0;
        if (counted)
            row(report, FINE, "store", "%s: %lld thread%s", store_path(store), threads, threads == 1 ? "" : "s");
        else
            row(report, WRONG, "store", "%s [%s]", error.message, error.code);
        value_unref(count);
    }
    error_finish(&error);
}

/* As the options say; else without what cannot be used of them. */
static struct host *open_somehow(struct report *report, struct error *error) {
    const struct arguments *arguments = report->arguments;
    struct host *host = command_open(arguments, error);
    if (host) return host;
    bool missing = strcmp(error->code, "NOT_FOUND") == 0; /* of --plugins, which the search path will say */
    if (missing) {
        error_finish(error);
        host = host_new(&(struct host_options){.config_file = argument_text(arguments, "config"),
                                               .no_config = argument_given(arguments, "no-config"),
                                               .allow_drafts = argument_given(arguments, "allow-drafts")},
                        error);
    }
    if (host) return host;
    row(report, WRONG, "tenon.yaml", "%s [%s]", error->message, error->code);
    report->config_failed = true;
    error_finish(error);
    return host_new(&(struct host_options){.no_config = true}, error);
}

int command_doctor(const struct arguments *arguments) {
    struct report report = {.arguments = arguments, .rows = value_array(), .told = value_array()};
    struct error error = ERROR_INIT;
    look_at_versions(&report);
    report.section = "configuration";
    struct host *host = open_somehow(&report, &error);
    if (host) {
        look_at_config(&report, host);
        look_at_path(&report, host);
        look_at_plugins(&report, host);
        look_at_sections(&report, host);
        look_at_store(&report, host);
    } else {
        row(&report, WRONG, "host", "%s [%s]", error.message, error.code);
    }
    look_at_machine(&report);
    look_at_sandbox(&report);
    if (argument_given(arguments, "json")) {
        tn_value all = value_set_take(value_object_reserve(2), "facts", value_ref(report.rows));
        all = value_set_take(all, "problems", value_int((int64_t)report.wrong));
        command_print(all);
        value_unref(all);
    } else {
        print_rows(&report);
    }
    value_unref(report.rows);
    value_unref(report.told);
    error_finish(&error);
    host_free(host);
    return report.wrong ? COMMAND_PLUGIN_PROBLEM : COMMAND_OK;
}
