/*
 * command_reference_parts.c - the topics of components, plugins, events and annotations.
 *
 * reference_component.c and reference_event.c print the entries. A topic has all components that are found, those of
 * other plugins too.
 */
#include "adl/document/catalog.h"
#include "host/assembly/host.h"
#include "host/plugin/registry/registry.h"
#include "host/program/command_reference.h"
#include "host/program/reference_component.h"
#include "host/program/reference_event.h"
#include <stdio.h>

static bool print_one(void *user, const struct component_info *info) {
    (void)user;
    if (value_get(info->manifest, "preset")) return true; /* the page of its component has a table of them */
    putchar('\n');
    reference_print_component("##", info);
    return true;
}

static void print_kind(const struct host *host, const char *kind) {
    host_catalog(host)->each(host_catalog(host)->self, kind, print_one, NULL);
}

void reference_nodes(struct host *host) {
    fputs(
        "# Node types\n\n"
        "A node of a document has a `type` and a `config`. `tenon reference key:nodes` has all of its keys. Every node "
        "can also\n"
        "fail with the codes of the engine, such as TIMEOUT and INVALID_CONFIG; see `tenon reference errors`.\n",
        stdout);
    print_kind(host, "node");
}

void reference_tools(struct host *host) {
    fputs("# Tools\n\n"
          "Models and documents call tools by name. `tenon tool list` shows the policy of each. Tools that plugins add "
          "at run\n"
          "time (of MCP servers, REST services, commands) are not here; `tenon tool show NAME` describes them.\n",
          stdout);
    print_kind(host, "tool");
}

void reference_models(struct host *host) {
    fputs(
        "# Providers of models\n\n"
        "A binding of a role, in a document or in tenon.yaml, names a provider; its other members are the provider's\n"
        "configuration.\n",
        stdout);
    print_kind(host, "model");
}

void reference_reducers(struct host *host) {
    fputs("# Reducers\n\n"
          "A channel of `type: reduce` merges each write into its value with a reducer.\n",
          stdout);
    for (size_t i = 0; i < document_reducer_count(); i++) {
        putchar('\n');
        reference_print_reducer("##", document_reducer_at(i));
    }
    print_kind(host, "reducer");
}

static void print_plugin(void *user, struct plugin *plugin) {
    (void)user;
    putchar('\n');
    reference_print_plugin("##", plugin);
}

void reference_plugins(struct host *host) {
    fputs("# Plugins\n\n"
          "Each plugin can have a section in tenon.yaml, `plugins: {config: {ID: {…}}}`.\n",
          stdout);
    registry_each_plugin(host_registry(host), print_plugin, NULL);
}

void reference_events(struct host *host) {
    (void)host;
    tn_value types = reference_event_types();
    fputs("# Events\n\n"
          "`tenon run --stream MODES --json` and `tenon chat --json` print one event per line, as JSON. Ignore members "
          "that "
          "you do\n"
          "not know: events may gain members.\n",
          stdout);
    for (size_t i = 0; i < value_count(types); i++) {
        putchar('\n');
        reference_print_event("##", value_chars(value_at(types, i), NULL));
    }
    value_unref(types);
}

void reference_annotations(struct host *host) {
    (void)host;
    fputs(
        "# Annotations\n\n"
        "A schema in a manifest marks what a text or another part of a configuration is with `x-tenon`. The fields of\n"
        "`tenon/easy.h` set it: `READ` is `channel-read`.\n",
        stdout);
    for (size_t i = 0; i < schema_annotation_count(); i++) {
        putchar('\n');
        reference_print_annotation("##", schema_annotation_at(i));
    }
}
