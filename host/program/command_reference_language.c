/*
 * command_reference_language.c - the topics adl, expressions and config of the reference.
 *
 * Keys, operators, functions, kinds and limits come from the tables and constants that the readers use. This file only
 * adds the text between them.
 */
#include "adl/document/document.h"
#include "adl/document/keys.h"
#include "adl/document/model_role.h"
#include "adl/expr/expr.h"
#include "adl/template/template.h"
#include "adl/tree/tree.h"
#include "adl/value/buffer.h"
#include "adl/value/codes.h"
#include "host/base/config/config.h"
#include "host/program/command_reference.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Prints 1000000 as 1,000,000. */
static void print_number(uint64_t number) {
    if (number >= 1000) {
        print_number(number / 1000);
        printf(",%03" PRIu64, number % 1000);
    } else {
        printf("%" PRIu64, number);
    }
}

struct reference_limit {
    const char *subject;
    uint64_t most;
};

static void print_limits(const struct reference_limit *limits, size_t count) {
    fputs("\n| What | At most |\n|---|---:|\n", stdout);
    for (size_t i = 0; i < count; i++) {
        printf("| %s | ", limits[i].subject);
        print_number(limits[i].most);
        puts(" |");
    }
}

/* ---- ADL ---- */

/* Appends the forms of a list's items, or of a mapping's values. */
static void add_items(struct buffer *out, const struct document_key *key) {
    if (key->forms & KEY_TEXTS) buffer_text(out, " of texts");
    if (key->forms & KEY_MAPPINGS)
        buffer_format(out, "%s, each %s", key->forms & KEY_TEXTS ? " or of mappings" : " of mappings",
                      document_mapping(key->of)->name);
}

static void add_form(struct buffer *out, const char *form) {
    buffer_format(out, "%s%s", out->length ? ", or " : "", form);
}

static void print_forms(const struct document_key *key) {
    static const struct {
        uint32_t form;
        const char *name;
    } plain[] = {{KEY_TEXT, "a text"},         {KEY_INTEGER, "a whole number"},
                 {KEY_NUMBER, "a number"},     {KEY_BOOL, "`true` or `false`"},
                 {KEY_DURATION, "a duration"}, {KEY_ANY, "any value"},
                 {KEY_SCHEMA, "a JSON Schema"}};
    struct buffer out;
    buffer_init(&out, SIZE_MAX);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (key->forms & plain[i].form) add_form(&out, plain[i].name);
    if (key->forms & KEY_MAPPING) add_form(&out, "a mapping");
    if (key->forms & KEY_MAPPING && key->of) buffer_format(&out, " (see %s)", document_mapping(key->of)->name);
    if (key->forms & KEY_LIST) add_form(&out, "a list");
    if (key->forms & KEY_LIST) add_items(&out, key);
    printf("%s%s", key->forms & KEY_NAMES ? "a mapping of names, each to " : "", buffer_cstr(&out));
    if (key->forms & KEY_POSITIVE) fputs("; more than 0", stdout);
    if (key->forms & KEY_AT_LEAST_ONE) fputs("; at least 1", stdout);
    for (size_t i = 0; key->words && key->words[i]; i++)
        printf("%s`%s`", i ? ", " : key->words[1] ? "; one of " : ": ", key->words[i]);
    buffer_finish(&out);
}

/* Prints which errors of a model select the next entry of a binding, from the table that error_retryable uses. */
static void print_fallback(void) {
    fputs("\nA transient failure of a call is retried twice by default, after a pause, if nothing was streamed "
          "(`retry`). "
          "Then, if\nthere is another entry, it is called, and after some other failures, too. The provider can say "
          "whether an error is\nretryable; if it does not, errors with these codes are:\n",
          stdout);
    const char *before = "";
    for (size_t i = 0; i < error_code_count(); i++) {
        if (!error_code_at(i)->retryable) continue;
        printf("%s`%s`", before, error_code_at(i)->code);
        before = ", ";
    }
    fputs(".\nErrors that are not retryable, but after which the next entry is called, are: ", stdout);
    before = "";
    for (size_t i = 0; model_role_fallback_codes[i]; i++) {
        printf("%s`%s`", before, model_role_fallback_codes[i]);
        before = ", ";
    }
    fputs(".\nAll other errors fail the call at once, for example: ", stdout);
    before = "";
    for (size_t i = 0; i < error_code_count(); i++) {
        const struct error_code *row = error_code_at(i);
        bool falls_back = row->retryable;
        for (size_t j = 0; model_role_fallback_codes[j]; j++)
            falls_back |= strcmp(model_role_fallback_codes[j], row->code) == 0;
        if (falls_back || strncmp(row->family, "Model::", 7) != 0) continue;
        printf("%s`%s`", before, row->code);
        before = ", ";
    }
    fputs(
        ".\nAfter CONTEXT_LENGTH, entries with a smaller or equal `context_tokens` are left out. If all entries fail, "
        "the "
        "call fails\nwith the last error. An entry whose provider is not installed is skipped with a warning.\n\n"
        "With `{models: […], …}` a role has more: `fallback: {on: [CODE, …]}` are the codes after which the next "
        "entry is\ncalled (`retryable` and `any` are several), and `fallback: false` is none. `balance: round_robin` "
        "or "
        "`least_busy`\nmakes the entries share the load; an entry of `models` that is a list has deployments that do. "
        "A "
        "deployment that has\nfailed is avoided for `cooldown` (30s), or longer if its service asks for that. `retry` "
        "and "
        "`cache` are as in a\nsingle model: `retry: false` or `{attempts: 2, initial: 500ms, max: 8s, retry_after_max: "
        "60s}`; `cache: {ttl: 1h}` keeps\nanswers in memory for equal requests, marks them with `cached: true`, and "
        "counts "
        "no tokens for them.\n",
        stdout);
}

static void print_key(void *user, const struct document_mapping *mapping, const struct document_key *key) {
    const struct document_mapping **last = user;
    if (*last != mapping) {
        printf("\n## %s\n\n%s%s\n", mapping->name, mapping->documentation,
               mapping->open ? " Other keys are allowed and not interpreted." : "");
        *last = mapping;
    }
    printf("\n### %s\n\n%s\n\n- %s\n- ", key->name, key->documentation, key->required ? "Required." : "Optional.");
    print_forms(key);
    printf("\n\n```yaml\n%s: %s\n```\n", key->name, key->example);
    if (key == document_key(KEY_MODELS)) print_fallback();
}

void reference_adl(struct host *host) {
    (void)host;
    static const struct reference_limit limits[] = {
        {"bytes of a document", TREE_SIZE_MAX},
        {"bytes of one key or text", TREE_SCALAR_MAX},
        {"levels of nested lists and mappings", TREE_DEPTH_MAX},
        {"items of one list or mapping", TREE_ITEMS_MAX},
        {"values of a document, counted once per alias", TREE_NODES_MAX},
        {"anchors", TREE_ANCHORS_MAX},
        {"nodes", DOCUMENT_NODES_MAX},
        {"channels", DOCUMENT_CHANNELS_MAX},
        {"edges", DOCUMENT_EDGES_MAX},
        {"conditions of one edge", DOCUMENT_CONDITIONS_MAX},
        {"roles of models", DOCUMENT_MODELS_MAX},
        {"tools", DOCUMENT_TOOLS_MAX},
        {"requirements", DOCUMENT_REQUIREMENTS_MAX},
        {"documents that a document refers to, directly or indirectly", DOCUMENT_SUBGRAPHS_MAX},
        {"levels of nested documents", DOCUMENT_SUBGRAPH_DEPTH_MAX},
        {"bytes of all files that a document and the documents inside it name", DOCUMENT_FILES_MAX},
        {"bytes of a name", DOCUMENT_NAME_MAX},
    };
    const struct document_mapping *last = NULL;
    fputs("# ADL\n\n"
          "A document describes one agent: the channels of its state, its nodes, and the edges between them. It is\n"
          "written in YAML 1.2, or in JSON if the file's name ends in `.json`. Unknown keys are errors, except keys "
          "that\n"
          "begin with `x-`, which are ignored. A duration is a number with a unit (`ms`, `s`, `m`, `h`, `d`), or a "
          "number\n"
          "of seconds. `tenon schema` prints this reference as a JSON Schema for editors. `tenon plugin show` prints "
          "the\n"
          "configuration of node types.\n\n"
          "```yaml\n"
          "version: \"1.0\"\n"
          "channels:\n"
          "  - {name: name, type: last_value, default: world}\n"
          "  - {name: greeting, type: last_value}\n"
          "nodes:\n"
          "  - {id: greet, type: prompt, config: {template: \"Hello, {name}!\", output_key: greeting}}\n"
          "edges:\n"
          "  - {from: START, to: greet}\n"
          "  - {from: greet, to: END}\n"
          "```\n",
          stdout);
    document_each_key(print_key, (void *)&last);
    fputs("\n## Limits\n", stdout);
    print_limits(limits, sizeof limits / sizeof *limits);
}

#define INNER_MAX 8u /* mappings that keys of one name contain */

struct key_search {
    const char *name;
    const struct document_mapping *last;             /* whose heading was printed */
    const struct document_mapping *inner[INNER_MAX]; /* what the keys of this name contain */
    size_t inner_count;
};

static bool is_inner(const struct key_search *search, const struct document_mapping *mapping) {
    for (size_t i = 0; i < search->inner_count; i++)
        if (search->inner[i] == mapping) return true;
    return false;
}

static void print_key_called(void *user, const struct document_mapping *mapping, const struct document_key *key) {
    struct key_search *search = user;
    if (strcmp(key->name, search->name) != 0) return;
    print_key(&search->last, mapping, key);
    const struct document_mapping *inner = key->of ? document_mapping(key->of) : NULL;
    if (inner && !is_inner(search, inner) && search->inner_count < INNER_MAX)
        search->inner[search->inner_count++] = inner;
}

static void print_inner_key(void *user, const struct document_mapping *mapping, const struct document_key *key) {
    struct key_search *search = user;
    if (is_inner(search, mapping)) print_key(&search->last, mapping, key);
}

void reference_key(const char *name) {
    struct key_search search = {.name = name};
    printf("# %s\n\nA key of documents.\n", name);
    document_each_key(print_key_called, &search);
    document_each_key(print_inner_key, &search);
}

const char *reference_mapping_noun(const struct document_mapping *mapping) {
    const char *space = strchr(mapping->name, ' ');
    return space ? space + 1 : NULL;
}

void reference_mapping(const struct document_mapping *mapping) {
    const struct document_mapping *last = mapping; /* its heading is printed here */
    printf("# %s\n\n%s\n", reference_mapping_noun(mapping), mapping->documentation);
    for (uint32_t i = 0; i < mapping->key_count; i++) print_key(&last, mapping, &mapping->keys[i]);
}

/* ---- Expressions ---- */

static void print_kinds(uint32_t kinds) {
    char text[160];
    fputs(expr_kinds_text(kinds, text, sizeof text), stdout);
}

static void print_operator(const struct expr_operator *operator) {
    uint32_t left, right, result;
    printf("\n### `%s`\n\n%s\n\n- `%s` returns `%s`\n", operator->form, operator->documentation, operator->example,
                                                                                                 operator->result);
    for (size_t i = 0; operator->binding && expr_operator_overload(operator, i, &left, &right, &result); i++) {
        fputs("- ", stdout);
        print_kinds(left);
        fputs(" with ", stdout);
        print_kinds(right);
        fputs(": ", stdout);
        print_kinds(result);
        putchar('\n');
    }
}

static void print_functions(bool macros) {
    for (size_t i = 0; i < expr_function_count(); i++) {
        const struct expr_function *row = expr_function_at(i);
        if (row->macro == macros) printf("\n### `%s`\n\n%s\n", row->signature, row->documentation);
    }
}

void reference_expressions(struct host *host) {
    (void)host;
    static const struct reference_limit limits[] = {
        {"bytes of an expression", EXPR_TEXT_MAX},
        {"levels of nested brackets", EXPR_DEPTH},
        {"operations of one evaluation", EXPR_OPERATIONS},
        {"bytes of a computed string", EXPR_STRING_LENGTH},
        {"items of a computed list or map", EXPR_LIST_LENGTH},
        {"bytes that one evaluation allocates", EXPR_MEMORY},
        {"bytes of a pattern of `matches` and `regex`", EXPR_PATTERN_LENGTH},
        {"groups of a pattern of `regex`, with the whole match", EXPR_PATTERN_GROUPS},
        {"steps to match a pattern", EXPR_MATCH_STEPS},
        {"bytes of a template", TEMPLATE_TEXT_MAX},
        {"holes of a template, with the expressions of its blocks", TEMPLATE_HOLES_MAX},
        {"blocks of a template inside each other", TEMPLATE_BLOCKS_MAX},
        {"steps of a template with loops: texts, holes and marks of blocks", TEMPLATE_STEPS},
        {"operations of all expressions of a template with loops", TEMPLATE_OPERATIONS},
        {"bytes of a template's result", TEMPLATE_OUTPUT},
    };
    fputs(
        "# Expressions\n\n"
        "Conditions, `over` of map edges and the holes of templates are expressions in CEL, the Common Expression\n"
        "Language. An expression has no side effects, and its evaluation is limited; it returns a value or an error.\n"
        "Try expressions with `tenon eval`. Extensions of CEL: `default` is true, int and double can be mixed in\n"
        "arithmetic, and `len` is a synonym of `size`. The functions include CEL's extension libraries strings, "
        "lists,\n"
        "encoders, math, sets and regex, and its comprehensions of two variables; functions that only Tenon has say "
        "so.\n\n"
        "## Names\n\n"
        "- `state`: the channels, for example `state.score`\n"
        "- `input`: the run's input; in a node's configuration, the task's input\n"
        "- `run`: `run.run_id`, `run.thread_id`, `run.step`, `run.now` (milliseconds since 1970), `run.tags`, "
        "`run.metadata`, `run.configurable`\n"
        "- `item`: in a node's configuration, the item of a map edge\n"
        "- `config`: in a node's configuration, the configuration itself\n\n"
        "## Literals\n\n"
        "- `1`, `-1`, `0x1f`: int; `1u`: uint; `1.0`, `1e9`: double\n"
        "- `\"text\"`, `'text'`, `\"\"\"text of lines\"\"\"`: string, with escapes as `\\n` and `\\u00e9`; "
        "`r\"\\d\"`: without escapes\n"
        "- `b\"bytes\"`: bytes; `true`, `false`: bool; `null`. A map `{\"$bytes\": base64}` in a result becomes bytes, "
        "as in "
        "JSON.\n"
        "- `[1, 2]`: list; `{\"key\": 1}`: map, with keys that are strings, ints, uints or bools\n\n"
        "## Templates\n\n"
        "`Tell {name} about {state.topic}.` A hole contains an expression; a channel can be written as its name.\n"
        "Strings are inserted unchanged, other values as JSON, so a list is usually formatted by a loop or a method.\n"
        "`{{` and `}}` are literal braces.\n\n"
        "- `{for x in LIST}…{end}` repeats a text for each item of a list, or key of a map. `{for i, x in LIST}` also "
        "names\n"
        "  the index from 0, or for a map the key and its value.\n"
        "- `{if CONDITION}…{else if CONDITION}…{else}…{end}` chooses a text.\n\n"
        "A line with nothing but one of these marks is left out. Outside of blocks, `{end}` is the channel `end`.\n\n"
        "A channel without a default is null until something is written to it. A hole or a loop that is only the name "
        "of\n"
        "such a channel, or `input`, fails with MISSING_VARIABLE if it is null. An expression can test that: `{if name "
        "!= "
        "null}`.\n"
        "Null elsewhere is a value, and is rendered as `null`: in a field or an item, as the result of an expression, "
        "and\n"
        "in a channel that declares `default: null`.\n\n"
        "## Operators\n\n"
        "In order of precedence, highest first. Binary operators have three levels: `*` `/` `%`, then `+` `-`, then\n"
        "comparisons and `in`.\n",
        stdout);
    for (size_t i = 0; i < expr_operator_count(); i++) print_operator(expr_operator_at(i));
    fputs("\n## Macros\n", stdout);
    print_functions(true);
    fputs("\n## Functions\n", stdout);
    print_functions(false);
    fputs("\n## Limits\n\n"
          "Every operation and every turn of a loop costs one operation; every 64 items or 4 KiB that it walks cost "
          "one more.\n"
          "A function of `regex` costs 100 more for its pattern and 4 for each match. Comparing each item of a list "
          "with each\n"
          "of another one (`sets`, `distinct`) costs as many items.\n",
          stdout);
    print_limits(limits, sizeof limits / sizeof *limits);
}

void reference_function(const char *name) {
    printf("# %s\n\nA function of expressions.\n", name);
    for (size_t i = 0; i < expr_function_count(); i++) {
        const struct expr_function *row = expr_function_at(i);
        if (strcmp(row->name, name) == 0) printf("\n- `%s`: %s\n", row->signature, row->documentation);
    }
}

/* ---- tenon.yaml ---- */

/* Prints a key, its form and an example. */
static void print_config_key(const struct config_key *key) {
    printf("\n## %s%s%s\n\n%s\n\n- %s\n\n```yaml\n", key->parent, *key->parent ? "." : "", key->name,
           key->documentation, key->form);
    if (*key->parent) printf("%s:\n  ", key->parent);
    printf("%s: %s\n```\n", key->name, key->example);
    if (!*key->parent && strcmp(key->name, "models") == 0) print_fallback();
}

static void print_config_limit(const char *name, uint64_t least, uint64_t most, const char *documentation) {
    printf("| `%s` | ", name);
    print_number(least);
    fputs(" | ", stdout);
    print_number(most);
    printf(" | %s |\n", documentation);
}

static void print_config_limits(void) {
    fputs("\n| Limit | Least | Most | |\n|---|---:|---:|---|\n", stdout);
#define CONFIG_LIMIT(name, least, most, documentation) print_config_limit(#name, least, most, documentation);
    CONFIG_LIMITS(CONFIG_LIMIT)
#undef CONFIG_LIMIT
}

static void print_serve_limit(const char *name, uint64_t least, uint64_t most, uint64_t otherwise,
                              const char *documentation) {
    printf("| `%s` | ", name);
    print_number(least);
    fputs(" | ", stdout);
    print_number(most);
    fputs(" | ", stdout);
    if (otherwise)
        print_number(otherwise);
    else
        fputs("none", stdout);
    printf(" | %s |\n", documentation);
}

static void print_serve_limits(void) {
    fputs("\n| Limit | Least | Most | Default | |\n|---|---:|---:|---:|---|\n", stdout);
#define SERVE_LIMIT(name, least, most, otherwise, documentation)                                                       \
    print_serve_limit(#name, least, most, otherwise, documentation);
    CONFIG_SERVE_LIMITS(SERVE_LIMIT)
#undef SERVE_LIMIT
    print_serve_limit("cost_per_day", 0, 1000000000000, 0,
                      "Cost of models of one key in a day (UTC), a number, from `prices`.");
}

void reference_config_key(const char *name) {
    printf("# %s\n\nA key of tenon.yaml.\n", name);
    for (size_t i = 0; i < config_key_count(); i++)
        if (strcmp(config_key_at(i)->name, name) == 0) print_config_key(config_key_at(i));
}

void reference_config(struct host *host) {
    (void)host;
    fputs("# tenon.yaml\n\n"
          "The operator's configuration. Every key is optional. The project's file is the nearest `tenon.yaml` in the\n"
          "working directory or above it, or the one given with `--config`. The user's file is\n"
          "`~/.config/tenon/tenon.yaml`. Both are read; a key of the project's file overrides the same key of the "
          "user's\n"
          "file. With `--no-config`, neither is read. Unknown keys are errors.\n",
          stdout);
    for (size_t i = 0; i < config_key_count(); i++) {
        print_config_key(config_key_at(i));
        if (strcmp(config_key_at(i)->name, "limits") != 0) continue;
        if (!*config_key_at(i)->parent) print_config_limits();
        if (strcmp(config_key_at(i)->parent, "serve") == 0) print_serve_limits();
    }
}
