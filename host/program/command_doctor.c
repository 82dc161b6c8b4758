/*
 * command_doctor.c - `tenon doctor`: shows this installation and its search paths, and reports problems.
 *
 * Every finding is a row: a section, a label, a text and a state. Doctor continues where other commands end: if the
 * configuration cannot be read, this is a finding, and the rest is checked without a configuration.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/config_lint.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/base/log.h"
#include "host/data/store/store.h"
#include "host/data/store/store_collections.h"
#include "host/engine/engine.h"
#include "host/plugin/call/worker.h"
#include "host/plugin/pack/pack_installed.h"
#include "host/plugin/registry/loader.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/plugin_search.h"
#include "host/plugin/registry/registry.h"
#include "host/plugin/sandbox/sandbox.h"
#include "host/program/command.h"
#include "host/program/command_plugin_reset.h"
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

enum finding_state { FINE, NOTE, WRONG };

struct doctor_report {
    const struct arguments *arguments;
    struct host *host; /* while its plugins are looked at */
    tn_value rows;     /* [{section, label, text, state}] */
    const char *section;
    const char *plugin; /* while its section is checked */
    tn_value reported;  /* [message]: problems that have a row; each message is reported once */
    size_t wrong;
    bool config_failed;
};

static void doctor_row(struct doctor_report *report, enum finding_state state, const char *label, const char *format,
                       ...) __attribute__((format(printf, 4, 5)));

static void doctor_row(struct doctor_report *report, enum finding_state state, const char *label, const char *format,
                       ...) {
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

static void doctor_check_versions(struct doctor_report *report) {
    char pcre[64] = "";
    struct utsname kernel;
    report->section = "versions";
    doctor_row(report, FINE, "tenon", "%s", TENON_VERSION);
    doctor_row(report, FINE, "libuv", "%s", uv_version_string());
    doctor_row(report, FINE, "libyaml", "%s", yaml_get_version_string());
    if (pcre2_config(PCRE2_CONFIG_VERSION, pcre) > 0) doctor_row(report, FINE, "PCRE2", "%s", pcre);
    if (uname(&kernel) == 0)
        doctor_row(report, FINE, "kernel", "%s %s %s", kernel.sysname, kernel.release, kernel.machine);
}

static void doctor_check_config(struct doctor_report *report, const struct host *host) {
    const char *file = config_file(host_config(host));
    report->section = "configuration";
    if (!report->config_failed) doctor_row(report, FINE, "tenon.yaml", "%s", file ? file : "none found, which is fine");
    doctor_row(report, FINE, "workers", "%u thread%s for blocking components", workers_count(),
               workers_count() == 1 ? "" : "s");
    if (host_engine(host)->concurrency_max != UINT32_MAX)
        doctor_row(report, FINE, "concurrency", "at most %u", host_engine(host)->concurrency_max);
    if (host_engine(host)->recursion_max != UINT32_MAX)
        doctor_row(report, FINE, "recursion", "at most %u steps", host_engine(host)->recursion_max);
    tn_value roots = config_file_roots(host_config(host));
    for (size_t i = 0; i < value_count(roots); i++)
        doctor_row(report, FINE, "files.roots", "documents may read below %s", value_chars(value_at(roots, i), NULL));
}

static void doctor_check_path(struct doctor_report *report, const struct host *host) {
    struct search search;
    search_init(&search);
    for (size_t i = 0; i < argument_count(report->arguments, "plugins"); i++)
        search_add(&search, argument_at(report->arguments, "plugins", i), SEARCH_FLAG, "--plugins");
    search_add_environment(&search);
    for (size_t i = 0; i < config_plugin_path_count(host_config(host)); i++)
        search_add(&search, config_plugin_path(host_config(host), i), SEARCH_CONFIG, "tenon.yaml");
    search_add_user(&search);
    packs_search(host_config(host), &search);
    search_add_installed(&search);
    report->section = "plugin search path";
    bool installed = false;
    for (size_t i = 0; i < search.count; i++) {
        const struct search_entry *entry = &search.entries[i];
        struct stat status;
        bool there = stat(entry->path, &status) == 0;
        installed |= entry->origin == SEARCH_INSTALLED;
        if (entry->fault.code)
            doctor_row(report, NOTE, entry->source, "%s cannot be used; see the section plugins", entry->path);
        else if (there && access(entry->path, R_OK) != 0)
            doctor_row(report, WRONG, entry->source, "%s cannot be read: %s", entry->path, strerror(errno));
        else if (there)
            doctor_row(report, FINE, entry->source, "%s", entry->path);
        else
            doctor_row(report, entry->origin == SEARCH_USER ? NOTE : WRONG, entry->source, "%s does not exist%s",
                       entry->path, entry->origin == SEARCH_USER ? ", which is fine" : "");
    }
    if (!installed)
        doctor_row(report, WRONG, "installed",
                   "there is no lib/tenon/plugins next to the program: the bundled node types are missing");
    search_finish(&search);
}

/* `code` may be NULL. */
static void doctor_problem(struct doctor_report *report, const char *label, const char *message, const char *code) {
    for (size_t i = 0; i < value_count(report->reported); i++)
        if (value_text_is(value_at(report->reported, i), message)) return;
    report->reported = value_push_take(report->reported, value_text(message));
    if (code)
        doctor_row(report, WRONG, label, "%s [%s]", message, code);
    else
        doctor_row(report, WRONG, label, "%s", message);
}

/* ---- Sections of tenon.yaml ---- */

/* A log sink: turns the warnings of a plugin that is being loaded into rows. */
static void doctor_on_log_line(void *user, int32_t level, const char *who, const char *line) {
    if (level >= LOG_WARN) doctor_problem(user, who ? who : "plugins", line, NULL);
}

/* The section of a plugin names a program or folder that cannot be used. */
static void doctor_on_missing_program(void *user, const char *message) {
    struct doctor_report *report = user;
    doctor_problem(report, report->plugin, message, "NOT_FOUND");
}

/* True for a bundled plugin that only reads files that its section names, and starts or contacts no server. */
static bool section_only_reads(const struct plugin *plugin) {
    tn_value manifest = manifest_plugin(plugin_manifest(plugin));
    return plugin_bundled(plugin) && value_count(value_get(manifest, "dynamic")) > 0 &&
           value_get(manifest, "connects") != value_bool(true);
}

static void doctor_check_section(struct doctor_report *report, struct plugin *plugin, const struct host *host) {
    struct error error = ERROR_INIT;
    size_t before = report->wrong;
    if (!config_plugin_section(host_config(host), plugin_id(plugin))) return;
    log_set_sink(NULL, doctor_on_log_line, report);
    report->plugin = plugin_id(plugin);
    int32_t status = plugin_check_section(plugin, doctor_on_missing_program, report, &error);
    if (status == TN_OK && section_only_reads(plugin)) status = plugin_load(plugin, &error);
    log_set_sink(NULL, NULL, NULL);
    if (status != TN_OK && (report->wrong == before || strcmp(error.code, "PLUGIN_REFUSED") != 0))
        doctor_problem(report, plugin_id(plugin), error.message, error.code);
    else if (status == TN_OK && report->wrong == before)
        doctor_row(report, FINE, plugin_id(plugin), "its section of tenon.yaml is valid");
    error_finish(&error);
}

static void doctor_visit_section(void *user, struct plugin *plugin) {
    struct doctor_report *report = user;
    struct error error = ERROR_INIT;
    if (!plugin_refusal(plugin) && loader_preflight(plugin, &error) == TN_OK)
        doctor_check_section(report, plugin, report->host);
    error_finish(&error);
}

static void report_unknown_plugin(void *user, const char *message) {
    doctor_problem(user, "tenon.yaml", message, "NOT_FOUND");
}
static void report_unknown_tool(void *user, const char *message) {
    doctor_problem(user, "tools", message, "NOT_FOUND");
}
static void report_unknown_model(void *user, const char *message) {
    doctor_problem(user, "models", message, "INVALID_CONFIG");
}

static void report_missing_secret(void *user, const char *message) {
    doctor_problem(user, "secrets", message, "SECRET_NOT_FOUND");
}

static void report_work(void *user, const char *message) { doctor_problem(user, "work", message, "INVALID_CONFIG"); }

static void report_schedule(void *user, const char *message) {
    doctor_problem(user, "schedules", message, "INVALID_CONFIG");
}

static void report_serve(void *user, const char *message) { doctor_problem(user, "serve", message, "INVALID_CONFIG"); }

static void report_file_root(void *user, const char *message) {
    doctor_problem(user, "files", message, "INVALID_CONFIG");
}

static void doctor_check_sections(struct doctor_report *report, struct host *host) {
    report->section = "contents of tenon.yaml";
    report->host = host;
    config_lint_plugins(host, NULL, report_unknown_plugin, report);
    registry_each_plugin(host_registry(host), doctor_visit_section, report);
    config_lint_providers(host, report_unknown_model, report);
    config_lint_tools(host, report_unknown_tool, report);
    config_lint_files(host, report_file_root, report);
    config_lint_work(host, report_work, report);
    config_lint_schedules(host, report_schedule, report);
    config_lint_serve(host, report_serve, report);
    config_check_secrets(host_config(host), report_missing_secret, report);
    config_lint_keys(host, report_missing_secret, report);
}

static void doctor_check_plugin(void *user, struct plugin *plugin) {
    struct doctor_report *report = user;
    const struct error *refusal = plugin_refusal(plugin);
    struct error error = ERROR_INIT;
    const struct plugin *shadow = plugin_shadowed_by(plugin);
    if (!refusal && !shadow && loader_preflight(plugin, &error) != TN_OK) refusal = &error;
    if (shadow)
        doctor_row(report, NOTE, plugin_id(plugin), "%s, %s (%s), is shadowed by %s (%s)", plugin_version(plugin),
                   plugin_path(plugin), plugin_source(plugin), plugin_path(shadow), plugin_source(shadow));
    else if (refusal)
        doctor_problem(report, plugin_id(plugin), refusal->message, refusal->code);
    else
        doctor_row(report, FINE, plugin_id(plugin), "%s, %s (%s)", plugin_version(plugin), plugin_path(plugin),
                   plugin_source(plugin));
    struct buffer deaths;
    buffer_init(&deaths, SIZE_MAX);
    tn_value record = host_plugin_deaths(report->host, plugin_id(plugin));
    if (plugin_deaths_describe(record, plugin_id(plugin), loop_wall_ms(host_loop(report->host)), &deaths))
        doctor_row(report, NOTE, plugin_id(plugin), "%s", buffer_cstr(&deaths));
    value_unref(record);
    buffer_finish(&deaths);
    error_finish(&error);
}

static void doctor_check_plugins(struct doctor_report *report, struct host *host) {
    report->section = "plugins";
    report->host = host;
    registry_each_found_plugin(host_registry(host), doctor_check_plugin, report);
    for (size_t i = 0; i < registry_problems(host_registry(host)); i++) {
        const struct problem *problem = registry_problem_at(host_registry(host), i);
        if (strcmp(problem->code, "NOT_FOUND") != 0) /* reported with the search path */
            doctor_problem(report, "search path", problem->message, problem->code);
    }
}

static void doctor_check_machine(struct doctor_report *report) {
    report->section = "this machine";
    if (access("/usr/share/zoneinfo/Europe/Berlin", R_OK) == 0)
        doctor_row(report, FINE, "time zones", "/usr/share/zoneinfo");
    else
        doctor_row(report, NOTE, "time zones",
                   "none found: expressions support only UTC and fixed offsets, schedules only UTC; install tzdata");
}

static void doctor_check_editors(struct doctor_report *report) {
    char *folder = command_data_folder("editors");
    report->section = "editors";
    doctor_row(report, FINE, "language server", "tenon lsp");
    if (folder)
        doctor_row(report, FINE, "settings", "%s/README.md", folder);
    else
        doctor_row(report, NOTE, "settings", "this installation has no share/tenon/editors");
    mem_free(folder);
}

/* What limits an isolated plugin. */
static void doctor_check_sandbox(struct doctor_report *report) {
    struct sandbox_support support;
    sandbox_probe(&support);
    report->section = "isolation";
    if (support.no_new_privileges)
        doctor_row(report, FINE, "no_new_privs", "yes");
    else
        doctor_row(report, WRONG, "no_new_privs", "this kernel does not have it: plugins cannot be isolated");
    if (!support.filter)
        doctor_row(
            report, NOTE, "seccomp",
            "%s: system calls of isolated plugins are not filtered, and plugins of untrusted packs are not started; %s",
            support.seccomp_version ? "missing from this kernel" : "missing, this program was built without libseccomp",
            support.seccomp_version ? "use a kernel with CONFIG_SECCOMP_FILTER"
                                    : "install libseccomp-dev and build with -DTENON_SECCOMP=ON");
    else
        doctor_row(report, support.audit ? FINE : NOTE, "seccomp", "filters%s, libseccomp %s",
                   support.audit ? ", each refusal is logged" : "; this kernel cannot report refusals to the log",
                   support.seccomp_version);
    if (support.landlock)
        doctor_row(report, FINE, "Landlock", "version %d: %s", support.landlock,
                   sandbox_landlock_text(support.landlock));
    else
        doctor_row(report, NOTE, "Landlock",
                   "missing from this kernel, or disabled: file access is checked only in the plugin's own process");
}

/* ---- Output ---- */

static void print_rows(const struct doctor_report *report) {
    static const struct { const char *state, *mark; } marks[] = {{"ok", "✓"}, {"note", "·"}, {"problem", "✗"}};
    tn_value last = NULL;
    for (size_t i = 0; i < value_count(report->rows); i++) {
        tn_value fact = value_at(report->rows, i), section = value_get(fact, "section");
        const char *mark = "";
        for (size_t j = 0; j < sizeof marks / sizeof *marks; j++)
            if (value_text_is(value_get(fact, "state"), marks[j].state)) mark = marks[j].mark;
        if (!last || !value_equal(last, section)) printf("%s%s\n", last ? "\n" : "", value_chars(section, NULL));
        command_printf(stdout, "  %s %-18s %s\n", mark, value_chars(value_get(fact, "label"), NULL),
                       value_chars(value_get(fact, "text"), NULL));
        last = section;
    }
    if (report->wrong)
        printf("\n%zu problem%s\n", report->wrong, report->wrong == 1 ? "" : "s");
    else
        printf("\nno problems found\n");
}

/* Does not create the store if it does not exist. */
static void doctor_check_store(struct doctor_report *report, struct host *host) {
    struct error error = ERROR_INIT;
    struct stat file;
    report->section = "store";
    struct store *store = host_store(host, &error);
    if (!store) {
        doctor_row(report, WRONG, "store", "%s [%s]", error.message, error.code);
    } else if (stat(store_path(store), &file) != 0) {
        doctor_row(report, NOTE, "store", "%s: nothing has been saved yet", store_path(store));
    } else {
        tn_value of = value_set_take(value_object_reserve(1), "collection", value_text(STORE_THREADS)), count = NULL;
        tn_value query = value_set_take(value_object_reserve(1), "count", of);
        bool counted = store_query_wait(store, query, &count, &error) == TN_OK;
        long long threads = value_is(count, TN_INT) ? (long long)value_to_int(count) : 0;
        if (counted)
            doctor_row(report, FINE, "store", "%s: %lld thread%s", store_path(store), threads, threads == 1 ? "" : "s");
        else
            doctor_row(report, WRONG, "store", "%s [%s]", error.message, error.code);
        value_unref(count);
    }
    error_finish(&error);
}

/* Opens a host with the options; if that fails, without the options that cannot be used. */
static struct host *doctor_open_host(struct doctor_report *report, struct error *error) {
    const struct arguments *arguments = report->arguments;
    struct host *host = command_open_quiet(arguments, error); /* warnings become rows */
    if (host) {
        log_set_level(host_log(host), LOG_WARN);
        return host;
    }
    bool missing = strcmp(error->code, "NOT_FOUND") == 0; /* a folder of --plugins: reported with the search path */
    if (missing) {
        error_finish(error);
        host = host_new(&(struct host_options){.config_file = argument_text(arguments, "config"),
                                               .no_config = argument_given(arguments, "no-config"),
                                               .allow_drafts = argument_given(arguments, "allow-drafts")},
                        error);
    }
    if (host) return host;
    doctor_row(report, WRONG, "tenon.yaml", "%s [%s]", error->message, error->code);
    report->config_failed = true;
    error_finish(error);
    return host_new(&(struct host_options){.no_config = true}, error);
}

int command_doctor(const struct arguments *arguments) {
    struct doctor_report report = {.arguments = arguments, .rows = value_array(), .reported = value_array()};
    struct error error = ERROR_INIT;
    doctor_check_versions(&report);
    report.section = "configuration";
    struct host *host = doctor_open_host(&report, &error);
    if (host) {
        doctor_check_config(&report, host);
        doctor_check_path(&report, host);
        doctor_check_plugins(&report, host);
        doctor_check_sections(&report, host);
        doctor_check_store(&report, host);
    } else {
        doctor_row(&report, WRONG, "host", "%s [%s]", error.message, error.code);
    }
    doctor_check_machine(&report);
    doctor_check_editors(&report);
    doctor_check_sandbox(&report);
    if (argument_given(arguments, "json")) {
        tn_value all = value_set_take(value_object_reserve(2), "facts", value_ref(report.rows));
        all = value_set_take(all, "problems", value_int((int64_t)report.wrong));
        command_print(all);
        value_unref(all);
    } else {
        print_rows(&report);
    }
    value_unref(report.rows);
    value_unref(report.reported);
    error_finish(&error);
    host_free(host);
    return report.wrong ? COMMAND_PLUGIN_PROBLEM : COMMAND_OK;
}
