/*
 * binding.c - what a node may call, found by kind and name.
 */
#include "host/engine/binding.h"
#include "adl/text/source.h"
#include "adl/value/memory.h"
#include "host/call/instance.h"
#include "host/config/config.h"
#include "host/engine/graph.h"
#include "host/host.h"
#include "host/plugin/registry.h"
#include <string.h>

/* A component that is called reads no channels: it gets an input. */
static struct callable *component_callee(struct host *host, const char *kind, const char *id, tn_value config,
                                         struct error *error) {
    static const struct instance_scope nothing = {.where = "a component that is called"};
    struct component *component;
    struct callable *callable = NULL;
    if (registry_resolve(host->registry, kind, id, &component, error) != TN_OK) return NULL;
    instance_new(component, config ? config : value_object(), &nothing, &callable, error);
    return callable;
}

/* '*' stands for any run of characters. */
static bool matches(const char *pattern, const char *name) {
    for (; *pattern; pattern++, name++) {
        if (*pattern == '*') {
            if (!pattern[1]) return true;
            for (; *name; name++)
                if (matches(pattern + 1, name)) return true;
            return matches(pattern + 1, name);
        }
        if (*pattern != *name) return false;
    }
    return !*name;
}

static bool tool_allowed(const struct document *document, const char *name) {
    if (!document->tools_given) return true;
    for (uint32_t i = 0; i < document->tool_count; i++)
        if (matches(value_chars(document->tools[i].pattern, NULL), name)) return true;
    return false;
}

/* ---- Models ---- */

/* "openai:gpt-4o-mini", or {provider, model, …}: the provider's component with the rest as its config. */
static struct callable *bound_model(struct host *host, tn_value binding, tn_value config, struct error *error) {
    tn_value options = config ? value_ref(config) : value_object();
    char *provider = NULL;
    if (value_is(binding, TN_STRING)) {
        size_t length;
        const char *text = value_chars(binding, &length);
        const char *colon = memchr(text, ':', length);
        provider = colon ? mem_text_n(text, (size_t)(colon - text)) : mem_text(text);
        if (colon)
            options = value_set_take(options, "model", value_string(colon + 1, length - (size_t)(colon + 1 - text)));
    } else if (value_is(binding, TN_OBJECT)) {
        tn_value named = value_get(binding, "provider");
        provider = mem_text(named && value_is(named, TN_STRING) ? value_chars(named, NULL) : "");
        for (size_t i = 0, n = value_count(binding); i < n; i++)
            if (!value_text_is(value_key_at(binding, i), "provider"))
                options = value_set_key_take(options, value_ref(value_key_at(binding, i)),
                                             value_ref(value_value_at(binding, i)));
    }
    struct callable *callable = component_callee(host, "model", provider ? provider : "", options, error);
    mem_free(provider);
    value_unref(options);
    return callable;
}

/* A role's binding: the configuration's, else the document's; NULL where neither names it. */
static tn_value role_binding(struct graph *graph, const char *role) {
    tn_value configured = config_model(graph->host->config, role);
    if (configured) return configured;
    const struct document_model *model = document_find_model(graph->document, role);
    return model ? model->binding : NULL;
}

static struct callable *model_callee(struct graph *graph, const char *name, tn_value config, struct error *error) {
    tn_value binding = role_binding(graph, name);
    tn_value named = binding ? NULL : value_text(name);
    if (!binding) binding = named;
    struct callable *callable = NULL;
    if (value_is(binding, TN_ARRAY)) {
        /* The first of the list whose provider can be had; the last one's refusal is the error. */
        for (size_t i = 0, n = value_count(binding); !callable && i < n; i++) {
            if (error) error_finish(error);
            callable = bound_model(graph->host, value_at(binding, i), config, error);
        }
    } else {
        callable = bound_model(graph->host, binding, config, error);
    }
    value_unref(named);
    return callable;
}

struct callable *binding_callee(struct graph *graph, const char *kind, const char *name, tn_value config,
                                struct error *error) {
    if (strcmp(kind, "graph") == 0) {
        const struct source *source = graph->document->source;
        struct graph *inner = NULL;
        graph_open(graph->host, source ? source_name(source) : NULL, name, graph->depth + 1, &inner, error);
        return inner ? &inner->callable : NULL;
    }
    if (strcmp(kind, "model") == 0) return model_callee(graph, name, config, error);
    if (strcmp(kind, "tool") == 0 && !tool_allowed(graph->document, name)) {
        error_set(error, TN_NOT_FOUND, "TOOL_NOT_FOUND",
                  "the tool `%s` is not on the document's list `tools`; add it there to allow it", name);
        return NULL;
    }
    return component_callee(graph->host, kind, name, config, error);
}
