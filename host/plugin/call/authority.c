/*
 * authority.c - decides whether a component may call another one. See authority.h for the rule.
 */
#include "host/plugin/call/authority.h"
#include "adl/document/effects.h"
#include "adl/schema/schema.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "adl/value/wildcard.h"
#include <string.h>

#define CALLS_ANY      "calls.any"
#define CALLS_APPROVED "calls.approved"
#define UNKNOWN        "unknown"

/* ---- Frames ---- */

static struct authority *authority_new(enum authority_kind kind, struct authority *outer) {
    struct authority *authority = mem_zalloc(sizeof *authority);
    authority->references = 1;
    authority->kind = kind;
    authority->outer = authority_ref(outer);
    return authority;
}

struct authority *authority_of_component(struct authority *outer, const struct component_info *info, tn_value config,
                                         const char *node) {
    struct authority *authority = authority_new(AUTHORITY_COMPONENT, outer);
    authority->info = info;
    authority->config = value_ref(config);
    authority->name = node ? mem_text(node) : NULL;
    return authority;
}

struct authority *authority_of_document(struct authority *outer, const char *name, tn_value tools, bool from_text) {
    struct authority *authority = authority_new(AUTHORITY_DOCUMENT, outer);
    authority->name = mem_text(name);
    authority->tools = value_ref(tools);
    authority->from_text = from_text;
    return authority;
}

struct authority *authority_of_session(struct authority *outer, tn_value roles, tn_value tools, bool starts_programs) {
    struct authority *authority = authority_new(AUTHORITY_SESSION, outer);
    authority->roles = value_ref(roles);
    authority->own_tools = value_ref(tools);
    authority->starts_programs = starts_programs;
    return authority;
}

bool authority_starts_programs(const struct authority *authority) {
    while (authority && !authority->starts_programs) authority = authority->outer;
    return authority != NULL;
}

struct authority *authority_ref(struct authority *authority) {
    if (authority) atomic_fetch_add_explicit(&authority->references, 1, memory_order_relaxed);
    return authority;
}

void authority_unref(struct authority *authority) {
    while (authority && atomic_fetch_sub_explicit(&authority->references, 1, memory_order_acq_rel) == 1) {
        struct authority *outer = authority->outer;
        mem_free(authority->name);
        value_unref(authority->tools);
        value_unref(authority->models);
        value_unref(authority->roles);
        value_unref(authority->own_tools);
        value_unref(authority->budget);
        value_unref(authority->config);
        mem_free(authority);
        authority = outer;
    }
}

const struct authority *authority_document(const struct authority *authority) {
    while (authority && authority->kind != AUTHORITY_DOCUMENT) authority = authority->outer;
    return authority;
}

bool authority_is_from_text(const struct authority *authority) {
    for (; authority; authority = authority->outer)
        if (authority->from_text) return true;
    return false;
}

/* ---- What a component may call ---- */

/* The word for a kind of callee in annotations `x-tenon`, in rights and in messages. */
static const char *annotation_of_kind(const char *kind) { return strcmp(kind, "graph") == 0 ? "document" : kind; }

struct named_search {
    const char *kind, *name;
    bool patterns; /* the configuration may have patterns of names */
    bool found;
};

static void on_annotation(void *self, const char *pointer, bool on_key, tn_value where, tn_value annotation) {
    struct named_search *search = self;
    (void)pointer, (void)on_key;
    if (search->found || !value_text_is(annotation, search->kind)) return;
    search->found = search->patterns && where == value_bool(true); /* `search: true` names every tool */
    if (!value_is(where, TN_STRING)) return;
    const char *text = value_chars(where, NULL);
    if (search->patterns)
        search->found = wildcard_matches_tool(text, search->name);
    else
        search->found =
            strcmp(search->kind, "tool") == 0 ? wildcard_is_tool(text, search->name) : strcmp(text, search->name) == 0;
}

/*
 * True if the author of the component's configuration has named the callee in it, or a pattern of it. A configuration
 * names no node types: the annotation `node` is for ids of nodes.
 */
static bool config_has(const struct authority *caller, const char *kind, const char *name, bool patterns) {
    struct named_search search = {annotation_of_kind(kind), name, patterns, false};
    if (strcmp(kind, "node") == 0) return false;
    if (caller->config && caller->info->config)
        schema_each_annotation(caller->info->config, caller->config, "x-tenon", on_annotation, &search);
    return search.found;
}

static bool config_names(const struct authority *caller, const char *kind, const char *name) {
    return config_has(caller, kind, name, strcmp(kind, "tool") == 0 || strcmp(kind, "approval") == 0);
}

/* True for a right to call that covers `name`: "calls.KIND" or "calls.KIND:PATTERN". */
static bool right_covers(tn_value effect, const char *kind, const char *name) {
    static const char prefix[] = "calls.";
    if (!value_is(effect, TN_STRING)) return false;
    const char *text = value_chars(effect, NULL);
    size_t length = strlen(kind);
    if (strncmp(text, prefix, sizeof prefix - 1) != 0 || strncmp(text + sizeof prefix - 1, kind, length) != 0)
        return false;
    const char *rest = text + sizeof prefix - 1 + length;
    return !*rest || (*rest == ':' && wildcard_matches(rest + 1, name));
}

static bool declares_call(const struct component_info *info, const char *kind, const char *name) {
    for (size_t i = 0; i < value_count(info->effects); i++)
        if (right_covers(value_at(info->effects, i), annotation_of_kind(kind), name)) return true;
    return false;
}

static bool declares(const struct component_info *info, const char *effect) {
    for (size_t i = 0; i < value_count(info->effects); i++)
        if (value_text_is(value_at(info->effects, i), effect)) return true;
    return false;
}

bool authority_matters(const struct component_info *info) {
    for (size_t i = 0; i < value_count(info->effects); i++) {
        tn_value effect = value_at(info->effects, i);
        if (!value_is(effect, TN_STRING)) continue;
        const char *text = value_chars(effect, NULL);
        if (effect_is_call(text) || strcmp(text, "document.run") == 0 || effect_covers("host.method", text))
            return true;
    }
    return false;
}

/* The component that wrote the configuration of `frame`; NULL if it was the user: in a document, or as the operator. */
static const struct authority *author_of(const struct authority *frame) {
    const struct authority *outer = frame->outer;
    if (outer && outer->kind == AUTHORITY_DOCUMENT) outer = outer->outer;
    while (outer && outer->kind == AUTHORITY_SESSION) outer = outer->outer;
    return outer && outer->kind == AUTHORITY_COMPONENT ? outer : NULL;
}

/* True if it stands for the rights of a manifest's `plugin`, which calls outside of tasks. */
static bool is_whole_plugin(const struct component_info *info) { return strcmp(info->kind, "plugin") == 0; }

tn_value authority_component_text(const struct component_info *info) {
    if (is_whole_plugin(info)) return value_format("plugin `%s`", info->plugin_id);
    return value_format("%s `%s` of plugin `%s`", info->kind, info->id, info->plugin_id);
}

static int32_t refuse_undeclared(const struct authority *caller, const char *kind, const char *name,
                                 struct error *error) {
    tn_value who = authority_component_text(caller->info);
    bool whole = is_whole_plugin(caller->info);
    error_set(error, TN_INVALID, "PERMISSION_DENIED",
              "the %s may not call the %s `%s`: its manifest does not declare it; add \"calls.%s:%s\" to the %s",
              value_chars(who, NULL), annotation_of_kind(kind), name, annotation_of_kind(kind), name,
              whole ? "`effects` of the manifest's `plugin`"
                    : "component's `effects`, or let its configuration name it");
    value_unref(who);
    return TN_INVALID;
}

static int32_t refuse_effect(const struct authority *caller, const struct component_info *callee, const char *effect,
                             struct error *error) {
    tn_value who = authority_component_text(caller->info);
    if (!effect)
        error_set(error, TN_INVALID, "PERMISSION_DENIED",
                  "the %s may not call the %s `%s` of plugin `%s`, which declares no effects and may therefore have "
                  "any; declare the effects of `%s`",
                  value_chars(who, NULL), callee->kind, callee->id, callee->plugin_id, callee->id);
    else
        error_set(
            error, TN_INVALID, "PERMISSION_DENIED",
            "the %s may not call the %s `%s` of plugin `%s`, which has the effect `%s`: `%s` does not declare this "
            "effect%s, and may cause only effects that it declares",
            value_chars(who, NULL), callee->kind, callee->id, callee->plugin_id, effect, caller->info->id,
            is_whole_plugin(caller->info) ? " in its manifest's `plugin`" : "");
    value_unref(who);
    return TN_INVALID;
}

static int32_t check_effects(const struct authority *caller, const struct component_info *callee, struct error *error) {
    const char *missing;
    if (!callee || effects_within(callee->effects, caller->info->effects, &missing)) return TN_OK;
    return refuse_effect(caller, callee, missing, error);
}

/*
 * True if the component itself may call: its manifest declares the call, and its effects include the callee's. If
 * `made`, a document or configuration that it has made names the callee; then the manifest need not name a component.
 */
static bool may_call(const struct authority *caller, const char *kind, const char *name,
                     const struct component_info *callee, bool made) {
    const char *missing;
    bool component = strcmp(kind, "model") != 0 && strcmp(kind, "graph") != 0;
    bool declared = declares_call(caller->info, kind, name) || (made && (component || declares(caller->info, UNKNOWN)));
    return declared && (!component || !callee || effects_within(callee->effects, caller->info->effects, &missing));
}

int32_t authority_check(const struct authority *caller, const char *kind, const char *name,
                        const struct component_info *callee, struct error *error) {
    bool made = false;
    while (caller && !may_call(caller, kind, name, callee, made)) {
        bool passes_on = config_names(caller, kind, name) || declares(caller->info, CALLS_ANY);
        if (!passes_on) {
            bool declared = made || declares_call(caller->info, kind, name);
            return declared && callee ? check_effects(caller, callee, error)
                                      : refuse_undeclared(caller, kind, name, error);
        }
        caller = author_of(caller);
        made = true;
    }
    return TN_OK;
}

/* True if the user has written this member: in the configuration of `caller`, and of every component that wrote that.
 */
static bool may_set(const struct authority *caller, tn_value key, tn_value value) {
    for (; caller; caller = author_of(caller)) {
        if (declares(caller->info, "network.http") && declares(caller->info, "secret")) return true;
        tn_value written = value_get_key(caller->config, key);
        if (!written || !value_identical(written, value)) return false;
    }
    return true;
}

int32_t authority_check_settings(const struct authority *caller, const char *model, tn_value settings,
                                 struct error *error) {
    for (size_t i = 0; value_is(settings, TN_OBJECT) && i < value_count(settings); i++) {
        tn_value key = value_key_at(settings, i);
        if (value_text_is(key, "timeout_ms") || may_set(caller, key, value_value_at(settings, i))) continue;
        tn_value who = authority_component_text(caller->info);
        error_set(error, TN_INVALID, "PERMISSION_DENIED",
                  "the %s may not set `%s` of the model `%s`: the user has not written it; only tenon.yaml and "
                  "documents of the user choose the address and the credentials of a model",
                  value_chars(who, NULL), value_chars(key, NULL), model);
        value_unref(who);
        return TN_INVALID;
    }
    return TN_OK;
}

int32_t authority_check_node(const struct authority *document, const struct component_info *type, struct error *error) {
    const struct authority *maker = document ? document->outer : NULL;
    while (maker && maker->kind == AUTHORITY_SESSION) maker = maker->outer;
    while (maker && maker->kind == AUTHORITY_COMPONENT && declares(maker->info, CALLS_ANY)) maker = author_of(maker);
    if (!maker || maker->kind != AUTHORITY_COMPONENT) return TN_OK;
    return check_effects(maker, type, error);
}

/* ---- Documents ---- */

static bool entries_name(tn_value tools, const char *name) {
    for (size_t i = 0; i < value_count(tools); i++) {
        tn_value pattern = value_get(value_at(tools, i), "name");
        if (pattern && value_is(pattern, TN_STRING) && wildcard_matches_tool(value_chars(pattern, NULL), name))
            return true;
    }
    return false;
}

static bool is_of_session(const struct authority *session, const char *name) {
    for (size_t i = 0; i < value_count(session->own_tools); i++)
        if (wildcard_matches(value_chars(value_at(session->own_tools, i), NULL), name)) return true;
    return false;
}

bool authority_allows_tool(const struct authority *authority, const char *name) {
    bool of_session = strncmp(name, AUTHORITY_SESSION_TOOLS, strlen(AUTHORITY_SESSION_TOOLS)) == 0;
    bool allowed = !authority || !of_session;
    for (; authority; authority = authority->outer) {
        if (authority->kind == AUTHORITY_SESSION)
            allowed |= of_session && is_of_session(authority, name);
        else if (authority->tools && !entries_name(authority->tools, name))
            return false;
    }
    return allowed;
}

bool authority_each_tool_pattern(const struct authority *authority, void (*visit)(void *user, const char *pattern),
                                 void *user) {
    while (authority && (authority->kind == AUTHORITY_SESSION || !authority->tools)) authority = authority->outer;
    if (!authority) return false;
    for (size_t i = 0; i < value_count(authority->tools); i++) {
        tn_value pattern = value_get(value_at(authority->tools, i), "name");
        if (pattern && value_is(pattern, TN_STRING)) visit(user, value_chars(pattern, NULL));
    }
    return true;
}

const char *authority_role(const struct authority *authority, const char *role) {
    for (; authority; authority = authority->outer) {
        tn_value other = authority->kind == AUTHORITY_SESSION ? value_get(authority->roles, role) : NULL;
        if (other && value_is(other, TN_STRING)) return value_chars(other, NULL);
    }
    return role;
}

bool authority_is_named(const struct authority *caller, const char *kind, const char *name) {
    for (; caller; caller = author_of(caller))
        if (!config_names(caller, kind, name)) return false;
    return true;
}

bool authority_chooses_tool(const struct authority *caller, const char *name) {
    if (!caller) return false;
    /* Another tool has been judged by its own effects, which include those of what it calls. */
    if (strcmp(caller->info->kind, "node") != 0 && !declares(caller->info, CALLS_ANY)) return false;
    for (; caller; caller = author_of(caller))
        if (!config_has(caller, "tool", name, false)) return true;
    return false;
}

bool authority_is_made(const struct authority *document) {
    for (; document; document = document->outer)
        if (document->kind == AUTHORITY_COMPONENT) return true;
    return false;
}

bool authority_grants_approval(const struct authority *caller, const char *tool) {
    for (; caller; caller = author_of(caller))
        if (!declares(caller->info, CALLS_APPROVED) && !config_names(caller, "approval", tool)) return false;
    return true;
}

struct authority *authority_around_document(struct authority *caller, const char *path) {
    const struct authority *writer = caller;
    while (writer && (config_names(writer, "graph", path) || declares(writer->info, CALLS_ANY)))
        writer = author_of(writer);
    if (writer) return caller;
    struct authority *document = caller;
    while (document && document->kind != AUTHORITY_SESSION && !document->tools && !document->budget)
        document = document->outer;
    return document;
}

/* ---- What documents count ---- */

/* The limit of this document as a text; NULL if it has none. */
static tn_value use_limit(const struct authority *document) {
    if (value_count(document->budget)) return value_text("`budget`");
    for (size_t i = 0; i < value_count(document->tools); i++) {
        tn_value entry = value_at(document->tools, i);
        if (value_get(entry, "max_calls"))
            return value_format("`max_calls` of the tool `%s`", value_chars(value_get(entry, "name"), NULL));
    }
    return NULL;
}

const struct authority *authority_counting_document(const struct authority *authority, tn_value *limit) {
    for (; authority; authority = authority->outer) {
        tn_value found = authority->kind == AUTHORITY_DOCUMENT ? use_limit(authority) : NULL;
        if (!found) continue;
        *limit = found;
        return authority;
    }
    return NULL;
}

uint32_t authority_document_count(const struct authority *authority) {
    uint32_t count = 0;
    for (; authority; authority = authority->outer) count += authority->kind == AUTHORITY_DOCUMENT;
    return count;
}

/* ---- The chain, for people ---- */

tn_value authority_chain(const struct authority *authority) {
    tn_value chain = value_array();
    for (; authority; authority = authority->outer) {
        if (authority->kind == AUTHORITY_SESSION) continue;
        tn_value frame = value_object_reserve(4);
        bool document = authority->kind == AUTHORITY_DOCUMENT;
        frame = value_set_take(frame, "kind", value_text(document ? "document" : authority->info->kind));
        if (document) {
            frame = value_set_take(frame, "name", value_text(authority->name));
        } else {
            frame = value_set_take(frame, "id", value_text(authority->info->id));
            frame = value_set_take(frame, "plugin", value_text(authority->info->plugin_id));
            if (authority->name) frame = value_set_take(frame, "node", value_text(authority->name));
        }
        chain = value_push_take(chain, frame);
    }
    return chain;
}

/* "agent `a`" for a node; "`words.title` of plugin `x`" for what it calls; "plugin `x`" outside of tasks. */
static void write_component(struct buffer *out, const struct authority *frame) {
    if (is_whole_plugin(frame->info))
        buffer_format(out, "plugin `%s`", frame->info->plugin_id);
    else if (frame->name)
        buffer_format(out, "%s `%s`", frame->info->id, frame->name);
    else
        buffer_format(out, "`%s` of plugin `%s`", frame->info->id, frame->info->plugin_id);
}

tn_value authority_chain_text(const struct authority *authority) {
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    for (; authority; authority = authority->outer) {
        if (authority->kind == AUTHORITY_SESSION) continue;
        if (authority->kind == AUTHORITY_DOCUMENT) {
            buffer_format(&out, "%sdocument `%s`", out.length ? " of " : "", authority->name);
            continue;
        }
        if (out.length) buffer_text(&out, ", for ");
        write_component(&out, authority);
    }
    tn_value text = value_string_lossy(buffer_cstr(&out), out.length);
    buffer_finish(&out);
    return text;
}
