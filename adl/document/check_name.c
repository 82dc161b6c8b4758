/*
 * check_name.c - checks names of components: providers of models, tools; and suggests near names.
 *
 * If a required plugin is missing, a name that is not near a known one is probably one of its components: the missing
 * plugin was reported, so the name is not.
 */
#include "adl/document/effects.h"
#include "adl/document/place.h"
#include "adl/document/reader.h"
#include "adl/value/wildcard.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- What was meant ---- */

static bool add_name(void *user, const struct component_info *component) {
    names_add(user, component->id, strlen(component->id));
    return true;
}

void add_component_candidates(struct reader *reader, const char *kind, struct nearest *nearest) {
    const struct catalog *catalog = reader->catalog;
    if (!catalog || !catalog->each) return;
    for (size_t i = 0; i < sizeof reader->session->kinds / sizeof *reader->session->kinds; i++) {
        struct session_kind *known = &reader->session->kinds[i];
        if (known->kind && strcmp(known->kind, kind) != 0) continue;
        if (!known->kind) {
            known->kind = kind;
            catalog->each(catalog->self, kind, add_name, &known->names);
        }
        names_nearest(&known->names, nearest);
        return;
    }
}

void suggest_nearest(struct reader *reader, struct diagnostic *diagnostic, struct span span,
                     const struct nearest *nearest) {
    if (nearest_result(nearest))
        diagnostic_suggest_name(diagnostic, place_in_quotes(reader->source, span), nearest->best, nearest->best_length);
}

const char *missing_text(const struct reader *reader) {
    const struct catalog *catalog = reader->catalog;
    return catalog && catalog->missing ? catalog->missing(catalog->self) : "";
}

/* True if a component that is not known may exist nevertheless. */
static bool may_be_added(const struct reader *reader, const char *kind) {
    const struct catalog *catalog = reader->catalog;
    return reader->plugin_missing || (catalog && catalog->unloaded && catalog->unloaded(catalog->self, kind));
}

/* ---- Models ---- */

static size_t provider_length(const char *text, size_t length) {
    const char *colon = memchr(text, ':', length);
    return colon ? (size_t)(colon - text) : length;
}

bool provider_known(struct reader *reader, const char *text, size_t length) {
    const struct catalog *catalog = reader->catalog;
    return !catalog || catalog->find(catalog->self, "model", text, provider_length(text, length)) != NULL;
}

/* `openai/gpt-4o` is the form of other programs. */
static void suggest_colon(struct reader *reader, struct diagnostic *it, const char *text, size_t length,
                          struct span span) {
    const char *slash = memchr(text, '/', length);
    const struct catalog *catalog = reader->catalog;
    size_t provider = slash ? (size_t)(slash - text) : 0;
    if (it->suggestion || !provider || provider + 1 == length || !catalog) return;
    if (memchr(text, ':', length) || !catalog->find(catalog->self, "model", text, provider)) return;
    tn_value meant = value_format("%.*s:%.*s", (int)provider, text, (int)(length - provider - 1), slash + 1);
    struct nearest nearest = {.wanted = text, .wanted_length = length};
    nearest.best = value_chars(meant, &nearest.best_length);
    suggest_nearest(reader, it, span, &nearest);
    value_unref(meant);
}

bool check_provider(struct reader *reader, const char *text, size_t length, struct span span, bool fallback) {
    size_t provider = provider_length(text, length);
    if (provider_known(reader, text, length)) return true;
    struct nearest nearest;
    nearest_init(&nearest, text, provider);
    add_component_candidates(reader, "model", &nearest);
    if (!nearest_result(&nearest) && may_be_added(reader, "model")) return false;
    struct diagnostic *it =
        report(reader, fallback ? ADL_W107 : ADL_E055, span, "no plugin provides the model provider `%.*s`%s",
               provider > 80 ? 80 : (int)provider, text, missing_text(reader));
    struct span name = place_in_quotes(reader->source, span);
    if (name.end - name.start == length) name.end = name.start + (uint32_t)provider;
    suggest_nearest(reader, it, name, &nearest);
    suggest_colon(reader, it, text, length, span);
    if (!it->suggestion && provider == length && memchr(text, '-', length))
        diagnostic_suggest(it, "write the provider before the name of the model, as in `openai:%.*s`", (int)length,
                           text);
    if (!it->suggestion)
        diagnostic_suggest(it, "`tenon model list` lists the providers; the operator can bind the role to "
                               "another one");
    return false;
}

void check_model_name(struct reader *reader, const char *text, size_t length, struct span span, uint32_t node,
                      const char *pointer) {
    struct names *roles = &reader->whole->models;
    const struct catalog *catalog = reader->catalog;
    if (names_find(roles, text, length) >= 0) return;
    if (catalog && catalog->role_bound && catalog->role_bound(catalog->role_self, text, length)) return;
    if (memchr(text, ':', length)) {
        check_provider(reader, text, length, span, false);
        return;
    }
    if (catalog && catalog->find(catalog->self, "model", text, length)) return;
    struct nearest nearest;
    nearest_init(&nearest, text, length);
    names_nearest(roles, &nearest);
    add_component_candidates(reader, "model", &nearest);
    if (!nearest_result(&nearest) && may_be_added(reader, "model")) return;
    if (may_be_unread(reader, reader->models_whole, "models", &nearest, text, length)) return;
    char where[256];
    struct diagnostic *it = report(
        reader, ADL_E054, span, "%s names the model `%.*s`, which is not a role under `models`%s",
        where_in_config(reader, node, pointer, where), length > 80 ? 80 : (int)length, text, missing_text(reader));
    suggest_nearest(reader, it, span, &nearest);
    suggest_colon(reader, it, text, length, span);
    if (!it->suggestion) diagnostic_suggest(it, "declare it: `models: {%.*s: provider:model}`", (int)length, text);
}

/* ---- Secrets ---- */

/*
 * The name in `$NAME`, `${NAME}` or `${{ secrets.NAME }}`, in capitals as those of variables; NULL if the text has
 * another form, such as the path `$.name`.
 */
static const char *name_in_placeholder(const char *text, size_t length, size_t *name) {
    size_t end = length, start, braces = 0;
    if (length < 2 || text[0] != '$') return NULL;
    while (end > 0 && (text[end - 1] == '}' || text[end - 1] == ' ')) braces += text[--end] == '}';
    for (start = end;
         isupper((unsigned char)text[start - 1]) || isdigit((unsigned char)text[start - 1]) || text[start - 1] == '_';)
        start--;
    *name = end - start;
    bool expression = braces == 2 && strncmp(text, "${{", 3) == 0;
    return *name && (expression || (start == 1 + braces && braces <= 1)) ? text + start : NULL;
}

void check_placeholders(struct reader *reader, const struct tree_node *mapping) {
    static const char *const words[] = {"key", "token", "secret", "password"};
    for (uint32_t i = 0; mapping && mapping->kind == TN_OBJECT && i < mapping->count; i++) {
        const struct tree_item *item = &mapping->items[i];
        size_t length, key_length, name;
        const char *text = tree_text(reader->tree, item->node, &length), *key = value_chars(item->key, &key_length);
        bool secret = false;
        for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
            size_t size = strlen(words[k]);
            bool whole = key_length == size || (key_length > size && key[key_length - size - 1] == '_');
            secret |= whole && memcmp(key + key_length - size, words[k], size) == 0;
        }
        const char *meant = secret && text ? name_in_placeholder(text, length, &name) : NULL;
        if (!meant) continue;
        struct diagnostic *it =
            report(reader, ADL_W115, item->node->span, "`%s` is a placeholder, which documents do not replace", key);
        diagnostic_suggest(it, "name the secret: %s: {secret: %.*s}", key, name <= 80 ? (int)name : 4,
                           name <= 80 ? meant : "NAME");
    }
}

/* ---- Tools ---- */

static bool is_pattern(const char *text, size_t length) { return memchr(text, '*', length) != NULL; }

struct unprotected {
    const struct catalog *catalog;
    const char *text; /* a pattern */
    size_t length;
    const struct component_info *first, *cause; /* `cause` is what `first` calls, or `first` itself */
    size_t count;
};

/* Returns the tool itself, or a tool that it calls by name, if it must not be called twice and receives no key. */
static const struct component_info *find_unprotected(const struct catalog *catalog, const struct component_info *tool,
                                                     int depth) {
    static const char right[] = "calls.tool:";
    const struct component_info *found = component_unprotected(tool) ? tool : NULL;
    for (size_t i = 0; !found && depth < 4 && i < value_count(tool->effects); i++) {
        size_t length = 0;
        const char *effect = value_chars(value_at(tool->effects, i), &length);
        if (!effect || strncmp(effect, right, strlen(right)) != 0) continue;
        const struct component_info *callee =
            catalog->find(catalog->self, "tool", effect + strlen(right), length - strlen(right));
        if (callee) found = find_unprotected(catalog, callee, depth + 1);
    }
    return found;
}

static bool match_unprotected(void *user, const struct component_info *tool) {
    struct unprotected *found = user;
    if (!wildcard_matches_tool_n(found->text, found->length, tool->id)) return true;
    const struct component_info *cause = find_unprotected(found->catalog, tool, 0);
    if (!cause || found->count++) return true;
    found->first = tool;
    found->cause = cause;
    return true;
}

void check_tool_key(struct reader *reader, const char *text, size_t length, struct span span) {
    const struct catalog *catalog = reader->catalog;
    struct unprotected found = {.catalog = catalog, .text = text, .length = length};
    char more[40] = "", calls[300] = "";
    if (!catalog) return;
    if (is_pattern(text, length)) {
        catalog->each(catalog->self, "tool", match_unprotected, &found);
    } else {
        const struct component_info *tool = catalog->find(catalog->self, "tool", text, length);
        if (tool) (void)match_unprotected(&found, tool);
    }
    if (!found.count) return;
    const char *obstacle = component_obstacle(found.cause);
    if (found.count > 1) snprintf(more, sizeof more, " (and %zu more)", found.count - 1);
    if (found.cause != found.first) snprintf(calls, sizeof calls, " calls `%.250s`, which", found.cause->id);
    struct diagnostic *it =
        report(reader, ADL_W112, span,
               "the tool `%s`%s%s %s%.200s%s, which must not happen twice, and receives no idempotency key",
               found.first->id, more, calls, obstacle ? "has the effect `" : "has effects that are not declared",
               obstacle ? obstacle : "", obstacle ? "`" : "");
    diagnostic_suggest(it, "a run that is resumed during its call makes the call again; `tenon reference ADL-W112` "
                           "says what to do");
}

struct pattern {
    const char *text;
    size_t length;
    bool matched;
};

static bool match_tool(void *user, const struct component_info *component) {
    struct pattern *pattern = user;
    pattern->matched = wildcard_matches_tool_n(pattern->text, pattern->length, component->id);
    return !pattern->matched;
}

/* True if the document's list of tools has it, or if the document has no list. */
static bool tool_allowed(const struct reader *reader, const char *text) {
    const struct document *document = reader->document;
    for (uint32_t i = 0; i < document->tool_count; i++) {
        size_t length;
        const char *pattern = value_chars(document->tools[i].pattern, &length);
        if (wildcard_matches_tool_n(pattern, length, text)) return true;
    }
    return !document->tools_given || !reader->tools_whole;
}

/* The tools that clients add for their own runs are not known before (host/server/acp). */
#define CLIENT_TOOLS "acp."

static void check_pattern_matches(struct reader *reader, const char *text, size_t length, struct span span) {
    struct pattern pattern = {text, length, false};
    if (length >= strlen(CLIENT_TOOLS) && memcmp(text, CLIENT_TOOLS, strlen(CLIENT_TOOLS)) == 0) return;
    reader->catalog->each(reader->catalog->self, "tool", match_tool, &pattern);
    if (pattern.matched) return;
    /* Looking up an unknown name loads the plugins that add tools at run time. */
    (void)reader->catalog->find(reader->catalog->self, "tool", text, length);
    reader->catalog->each(reader->catalog->self, "tool", match_tool, &pattern);
    if (pattern.matched || may_be_added(reader, "tool")) return;
    report(reader, ADL_W106, span, "no installed tool matches `%.*s`%s", length > 80 ? 80 : (int)length, text,
           missing_text(reader));
}

void check_tool_name(struct reader *reader, const char *text, size_t length, struct span span, uint32_t node,
                     const char *pointer) {
    const struct catalog *catalog = reader->catalog;
    if (!catalog) return;
    if (is_pattern(text, length)) {
        check_pattern_matches(reader, text, length, span);
        return;
    }
    const struct component_info *tool = catalog->find(catalog->self, "tool", text, length);
    if (tool) {
        if (!pointer || tool_allowed(reader, tool->id)) return;
        char where[256];
        struct diagnostic *it = report(reader, ADL_E057, span,
                                       "%s names the tool `%s`, which the document's `tools` do "
                                       "not allow",
                                       where_in_config(reader, node, pointer, where), tool->id);
        diagnostic_suggest(it, "add `%s` to `tools`", tool->id);
        return;
    }
    struct nearest nearest;
    nearest_init(&nearest, text, length);
    add_component_candidates(reader, "tool", &nearest);
    if (!nearest_result(&nearest) && may_be_added(reader, "tool")) return;
    struct diagnostic *it = report(reader, ADL_E056, span, "there is no tool `%.*s`%s", length > 80 ? 80 : (int)length,
                                   text, missing_text(reader));
    suggest_nearest(reader, it, span, &nearest);
    if (!it->suggestion) diagnostic_suggest(it, "`tenon tool list` lists the tools");
}
