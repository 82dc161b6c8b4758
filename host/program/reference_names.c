/*
 * reference_names.c - finds the entries of the reference that have a name.
 *
 * A name is NAME, or KIND:NAME if several entries have it. Functions, keys and commands often have the names of other
 * entries. If one other entry has the name, it is printed, and they are listed after it. So is a topic.
 */
#include "host/program/reference_names.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/document/keys.h"
#include "adl/expr/expr.h"
#include "adl/value/codes.h"
#include "adl/value/nearest.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/plugin/conformance/finding.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include "host/program/command.h"
#include "host/program/command_reference.h"
#include "host/program/reference_component.h"
#include "host/program/reference_event.h"
#include "host/program/reference_method.h"
#include <string.h>

#define MATCHES_MAX 64u

/* What a name stands for. All texts are borrowed from tables, from the host, or from `types`. */
struct reference_match {
    const char *kind, *name, *summary;
    const void *row;
    void (*print)(const struct reference_match *match, struct host *host);
};

struct reference_search {
    const char *kind; /* NULL: any */
    size_t kind_length;
    const char *name;
    struct reference_match matches[MATCHES_MAX];
    size_t count;
    size_t strong; /* how many of the matches are no functions, keys or commands; these are first */
    struct nearest nearest;
};

static void search_visit(struct reference_search *search, const struct reference_match *match) {
    if (search->kind &&
        (strlen(match->kind) != search->kind_length || memcmp(match->kind, search->kind, search->kind_length) != 0))
        return;
    nearest_add_candidate(&search->nearest, match->name, strlen(match->name));
    if (strcmp(match->name, search->name) != 0 || search->count == MATCHES_MAX) return;
    for (size_t i = 0; i < search->count; i++)
        if (strcmp(search->matches[i].kind, match->kind) == 0) return; /* a key of another mapping, another form */
    search->matches[search->count++] = *match;
}

/* ---- The tables ---- */

static void print_topic(const struct reference_match *match, struct host *host) {
    ((const struct reference_topic *)match->row)->print(host);
}

static void visit_topics(struct reference_search *search) {
    const struct reference_topic *topic;
    for (size_t i = 0; (topic = reference_topic_at(i)) != NULL; i++)
        search_visit(search, &(struct reference_match){"topic", topic->name, topic->summary, topic, print_topic});
}

static void print_diagnostic_match(const struct reference_match *match, struct host *host) {
    (void)host;
    reference_diagnostic(match->row);
}

static void print_error_match(const struct reference_match *match, struct host *host) {
    (void)host;
    reference_error(match->row);
}

static void print_finding_match(const struct reference_match *match, struct host *host) {
    (void)host;
    reference_finding(match->row);
}

static void visit_codes(struct reference_search *search) {
    for (int i = 0; i < DIAGNOSTIC_CODES; i++) {
        const struct diagnostic_info *info = diagnostic_info((enum diagnostic_code)i);
        search_visit(search,
                     &(struct reference_match){"diagnostic", info->code, info->title, info, print_diagnostic_match});
    }
    for (size_t i = 0; i < error_code_count(); i++) {
        const struct error_code *row = error_code_at(i);
        search_visit(search, &(struct reference_match){"error", row->code, "an error code", row, print_error_match});
    }
    for (int i = 0; i < FINDING_COUNT; i++) {
        const struct finding_info *info = finding_info((enum finding)i);
        search_visit(search, &(struct reference_match){"finding", info->code, "a finding of `tenon plugin check`", info,
                                                       print_finding_match});
    }
}

static void print_event_match(const struct reference_match *match, struct host *host) {
    (void)host;
    reference_print_event("#", match->name);
}

static void print_method_match(const struct reference_match *match, struct host *host) {
    (void)host;
    reference_print_method("#", match->row);
}

static void print_method_event_match(const struct reference_match *match, struct host *host) {
    (void)host;
    reference_print_method_event("#", match->name);
}

static void visit_methods(struct reference_search *search) {
    const struct method *method;
    tn_value events = method_events();
    for (size_t i = 0; (method = method_at(i)) != NULL; i++)
        search_visit(search,
                     &(struct reference_match){"method", method->name, method->summary, method, print_method_match});
    for (size_t i = 0; i < value_count(events); i++) {
        const char *name = value_chars(value_key_at(events, i), NULL);
        search_visit(search,
                     &(struct reference_match){"event", name, "an event of a host", NULL, print_method_event_match});
    }
}

static void print_annotation_match(const struct reference_match *match, struct host *host) {
    (void)host;
    reference_print_annotation("#", match->row);
}

static void print_reducer_match(const struct reference_match *match, struct host *host) {
    (void)host;
    reference_print_reducer("#", match->row);
}

static void visit_parts(struct reference_search *search, tn_value types) {
    for (size_t i = 0; i < value_count(types); i++) {
        const char *type = value_chars(value_at(types, i), NULL);
        search_visit(search, &(struct reference_match){"event", type, "an event", NULL, print_event_match});
    }
    for (size_t i = 0; i < schema_annotation_count(); i++) {
        const struct schema_annotation *row = schema_annotation_at(i);
        search_visit(search,
                     &(struct reference_match){"annotation", row->name, row->phrase, row, print_annotation_match});
    }
    for (size_t i = 0; i < document_reducer_count(); i++) {
        const struct document_reducer *row = document_reducer_at(i);
        search_visit(search,
                     &(struct reference_match){"reducer", row->name, row->documentation, row, print_reducer_match});
    }
}

static void print_function_match(const struct reference_match *match, struct host *host) {
    (void)host;
    reference_function(match->name);
}

static void print_key_match(const struct reference_match *match, struct host *host) {
    (void)host;
    reference_key(match->name);
}

static void print_mapping_match(const struct reference_match *match, struct host *host) {
    (void)host;
    reference_mapping(match->row);
}

static void print_config_match(const struct reference_match *match, struct host *host) {
    (void)host;
    reference_config_key(match->name);
}

static void print_command_match(const struct reference_match *match, struct host *host) {
    (void)host;
    reference_command(match->row);
}

static void visit_key(void *user, const struct document_mapping *mapping, const struct document_key *key) {
    const char *noun = key == mapping->keys ? reference_mapping_noun(mapping) : NULL;
    search_visit(user, &(struct reference_match){"key", key->name, "a key of documents", key, print_key_match});
    if (noun)
        search_visit(user,
                     &(struct reference_match){"key", noun, mapping->documentation, mapping, print_mapping_match});
}

static void visit_language(struct reference_search *search) {
    for (size_t i = 0; i < expr_function_count(); i++) {
        const struct expr_function *row = expr_function_at(i);
        search_visit(search,
                     &(struct reference_match){"function", row->name, row->documentation, row, print_function_match});
    }
    document_each_key(visit_key, search);
    for (size_t i = 0; i < config_key_count(); i++) {
        const struct config_key *row = config_key_at(i);
        search_visit(search,
                     &(struct reference_match){"config", row->name, "a key of tenon.yaml", row, print_config_match});
    }
    for (size_t i = 0; i < command_count; i++)
        if (!commands[i].hidden)
            search_visit(search, &(struct reference_match){"command", commands[i].name, commands[i].summary,
                                                           &commands[i], print_command_match});
}

/* ---- Plugins ---- */

static void print_component_match(const struct reference_match *match, struct host *host) {
    (void)host;
    reference_print_component("#", match->row);
}

static bool visit_component(void *user, const struct component_info *info) {
    search_visit(user, &(struct reference_match){info->kind, info->id, info->title, info, print_component_match});
    return true;
}

static void print_plugin_match(const struct reference_match *match, struct host *host) {
    (void)host;
    reference_print_plugin("#", match->row);
}

static void visit_plugin(void *user, struct plugin *plugin) {
    search_visit(
        user, &(struct reference_match){"plugin", plugin_id(plugin), plugin_title(plugin), plugin, print_plugin_match});
}

static void visit_plugins(struct reference_search *search, struct host *host) {
    host_catalog(host)->each(host_catalog(host)->self, NULL, visit_component, search);
    registry_each_plugin(host_registry(host), visit_plugin, search);
}

/* ---- The command ---- */

static void print_choices(const struct reference_search *search, size_t first) {
    for (size_t i = first; i < search->count; i++) {
        const struct reference_match *match = &search->matches[i];
        command_printf(stdout, "- `tenon reference %s:%s`: %.*s\n", match->kind, match->name,
                       (int)strcspn(match->summary, "\n"), match->summary);
    }
}

static void print_found(const struct reference_search *search, struct host *host) {
    bool one = search->count == 1 || search->strong == 1 || strcmp(search->matches[0].kind, "topic") == 0;
    if (one) search->matches[0].print(&search->matches[0], host);
    if (one && search->count > 1) command_printf(stdout, "\nOther entries with this name:\n\n");
    if (!one) command_printf(stdout, "Several entries are called `%s`:\n\n", search->name);
    print_choices(search, one ? 1 : 0);
}

static int print_unknown(struct host *host, const struct reference_search *search) {
    command_warn("the reference has no topic, entry or code `%s`%s%s", search->name,
                 nearest_hint(&search->nearest).text, registry_altered(host_registry(host)));
    if (!registry_knows_all(host_registry(host), "tool"))
        fputs("Tools that plugins add at run time are shown by `tenon tool show NAME`.\n", stderr);
    fputs("See `tenon reference`, which lists the topics.\n", stderr);
    return COMMAND_USAGE;
}

static bool is_kind(const char *name, size_t length) {
    static const char *const kinds[] = {"topic",    "diagnostic", "error",  "event",   "annotation", "reducer",
                                        "function", "key",        "config", "command", "node",       "tool",
                                        "model",    "runner",     "plugin", "finding", "method"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i]) == length && memcmp(kinds[i], name, length) == 0) return true;
    return false;
}

/* Entries that need no plugins are found even if the configuration has a mistake. */
static struct host *search_all(const struct arguments *arguments, struct reference_search *search, tn_value types) {
    struct error error = ERROR_INIT;
    visit_topics(search);
    visit_codes(search);
    visit_parts(search, types);
    visit_methods(search);
    struct host *host = command_open(arguments, &error);
    if (host) visit_plugins(search, host);
    search->strong = search->count;
    visit_language(search);
    if (!host && (!search->count || strcmp(search->matches[0].kind, "topic") == 0)) {
        command_warn_error(&error);
        search->count = 0;
    }
    error_finish(&error);
    return host;
}

/* Topics that need no plugins, and codes, which nothing else is called, are printed without opening a host. */
static bool print_plain(const char *name) {
    static const char *const plain[] = {"commands", "diagnostics", "adl",    "expressions", "events",
                                        "methods",  "annotations", "errors", "findings",    "config"};
    const struct reference_topic *topic;
    if (strcmp(name, "x-tenon") == 0) name = "annotations"; /* the key of a schema whose values they are */
    const struct diagnostic_info *info = diagnostic_info_find(name);
    const struct error_code *code = error_code_find(name);
    if (info) reference_diagnostic(info);
    const struct finding_info *finding = finding_find(name);
    if (code) reference_error(code);
    if (finding) reference_finding(finding);
    const struct method *method = method_find(name);
    if (method) reference_print_method("#", method);
    if (info || code || finding || method) return true;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        for (size_t k = 0; strcmp(plain[i], name) == 0 && (topic = reference_topic_at(k)) != NULL; k++)
            if (strcmp(topic->name, name) == 0) {
                topic->print(NULL);
                return true;
            }
    return false;
}

int reference_print_name(const struct arguments *arguments, const char *name) {
    const char *colon = strchr(name, ':');
    struct reference_search search = {.name = name};
    if (print_plain(name)) return COMMAND_OK;
    if (colon && is_kind(name, (size_t)(colon - name))) {
        search.kind = name;
        search.kind_length = (size_t)(colon - name);
        search.name = colon + 1;
    }
    nearest_init(&search.nearest, search.name, strlen(search.name));
    tn_value types = reference_event_types();
    struct host *host = search_all(arguments, &search, types);
    int code = COMMAND_OK;
    if (!search.count)
        code = host ? print_unknown(host, &search) : COMMAND_PLUGIN_PROBLEM;
    else
        print_found(&search, host);
    value_unref(types);
    host_free(host);
    return code;
}
