/*
 * reference_language.c - the reference of what people write: documents, expressions, tenon.yaml.
 *
 * Keys, operators, functions, kinds and limits come from the tables and constants that reading goes by; here is only
 * what stands between them.
 */
#include "adl/document/document.h"
#include "adl/document/keys.h"
#include "adl/expr/expr.h"
#include "adl/template/template.h"
#include "adl/text/tree.h"
#include "adl/value/buffer.h"
#include "adl/value/codes.h"
#include "host/command/reference.h"
#include "host/config/config.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* 1000000 as 1,000,000. */
static void print_number(uint64_t number) {
    if (number >= 1000) {
        print_number(number / 1000);
        printf(",%03" PRIu64, number % 1000);
    } else {
        printf("%" PRIu64, number);
    }
}

struct limit {
    const char *of;
    uint64_t most;
};

static void print_limits(const struct limit *limits, size_t count) {
    fputs("\n| What | At most |\n|---|---:|\n", stdout);
    for (size_t i = 0; i < count; i++) {
        printf("| %s | ", limits[i].of);
        print_number(limits[i].most);
        puts(" |");
    }
}

/* ---- ADL ---- */

/* What the items of a list, or the values of names, may be. */
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

/* Which errors of a model lead to the next of its list: those that error_retryable, by the same table, takes. */
static void print_fallback(void) {
    fputs(
        "\nOf a list the next one is asked where the one before failed with an error that may be gone at another try:\n"
        "that is retryable, as the provider says, or where it says nothing, by its code:\n",
        stdout);
    const char *before = "";
    for (size_t i = 0; i < error_code_count(); i++) {
        if (!error_code_at(i)->retryable) continue;
        printf("%s`%s`", before, error_code_at(i)->code);
        before = ", ";
    }
    fputs(".\nAny other one is the call's error at once, as these are: ", stdout);
    before = "";
    for (size_t i = 0; i < error_code_count(); i++) {
        if (error_code_at(i)->retryable || strncmp(error_code_at(i)->family, "Model::", 7) != 0) continue;
        printf("%s`%s`", before, error_code_at(i)->code);
        before = ", ";
    }
    fputs(".\nThe last one's error is the call's. One whose provider no plugin has is left out, with a warning.\n",
          stdout);
}

static void print_key(void *user, const struct document_mapping *mapping, const struct document_key *key) {
    const struct document_mapping **last = user;
    if (*last != mapping) {
        printf("\n## %s\n\n%s%s\n", mapping->name, mapping->documentation,
               mapping->open ? " Other keys are not read here." : "");
        *last = mapping;
    }
    printf("\n### %s\n\n%s\n\n- %s\n- ", key->name, key->documentation, key->required ? "Required." : "Optional.");
    print_forms(key);
    printf("\n\n```yaml\n%s: %s\n```\n", key->name, key->example);
    if (key == document_key(KEY_MODELS)) print_fallback();
}

void reference_adl(void) {
    static const struct limit limits[] = {
        {"bytes of a document", TREE_SIZE_MAX},
        {"bytes of one key or text", TREE_SCALAR_MAX},
        {"lists and mappings inside each other", TREE_DEPTH_MAX},
        {"items of one list or mapping", TREE_ITEMS_MAX},
        {"values of a document, each alias counted", TREE_NODES_MAX},
        {"anchors", TREE_ANCHORS_MAX},
        {"nodes", DOCUMENT_NODES_MAX},
        {"channels", DOCUMENT_CHANNELS_MAX},
        {"edges", DOCUMENT_EDGES_MAX},
        {"conditions of one edge", DOCUMENT_CONDITIONS_MAX},
        {"roles of models", DOCUMENT_MODELS_MAX},
        {"tools", DOCUMENT_TOOLS_MAX},
        {"requirements", DOCUMENT_REQUIREMENTS_MAX},
        {"documents that one leads to", DOCUMENT_SUBGRAPHS_MAX},
        {"documents inside each other", DOCUMENT_SUBGRAPH_DEPTH_MAX},
        {"bytes of a name", DOCUMENT_NAME_MAX},
    };
    const struct document_mapping *last = NULL;
    fputs(
        "# ADL\n\n"
        "A document is one agent, in YAML 1.2 or, in a file that ends in `.json`, in JSON: the channels of its state,\n"
        "its nodes, and the edges between them. Unknown keys are errors; keys that begin with `x-` are yours, and are\n"
        "passed over. A duration is a number with a unit (`ms`, `s`, `m`, `h`, `d`), or a number of seconds.\n"
        "`tenon schema` prints the same as a JSON Schema, for editors; the configuration of node types is in\n"
        "`tenon plugin show`.\n\n"
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

/* ---- Expressions ---- */

static void print_kinds(uint32_t kinds) {
    char text[160];
    fputs(expr_kinds_text(kinds, text, sizeof text), stdout);
}

static void print_operator(const struct expr_operator *operator) {
    uint32_t left, right, gives;
    printf("\n### `%s`\n\n%s\n\n- `%s` gives `%s`\n", operator->form, operator->documentation, operator->example,
                                                                                               operator->gives);
    for (size_t i = 0; operator->binding && expr_operator_overload(operator, i, &left, &right, &gives); i++) {
        fputs("- ", stdout);
        print_kinds(left);
        fputs(" with ", stdout);
        print_kinds(right);
        fputs(": ", stdout);
        print_kinds(gives);
        putchar('\n');
    }
}

static void print_functions(bool macros) {
    for (size_t i = 0; i < expr_function_count(); i++) {
        const struct expr_function *row = expr_function_at(i);
        if (row->macro == macros) printf("\n### `%s`\n\n%s\n", row->signature, row->documentation);
    }
}

void reference_expressions(void) {
    static const struct limit limits[] = {
        {"bytes of an expression", EXPR_TEXT_MAX},
        {"brackets inside each other", EXPR_DEPTH},
        {"operations of one evaluation", EXPR_OPERATIONS},
        {"bytes of a string that is built", EXPR_STRING_LENGTH},
        {"items of a list or map that is built", EXPR_LIST_LENGTH},
        {"bytes that one evaluation builds", EXPR_MEMORY},
        {"bytes of a pattern of `matches`", EXPR_PATTERN_LENGTH},
        {"steps of matching it", EXPR_MATCH_STEPS},
        {"bytes of a template", TEMPLATE_TEXT_MAX},
        {"holes of a template", TEMPLATE_HOLES_MAX},
        {"bytes that a template gives", TEMPLATE_OUTPUT},
    };
    fputs("# Expressions\n\n"
          "Conditions, `over` of map edges and the holes of templates are expressions of CEL, the Common Expression\n"
          "Language. An expression has no side effects and ends within limits, in a value or an error. `tenon eval` "
          "tries\n"
          "one out. Beyond CEL, `default` is true, int and double mix in arithmetic, and `len` is another name of "
          "`size`.\n\n"
          "## Names\n\n"
          "- `state`: the channels, as `state.score`\n"
          "- `input`: what the run was started with; in a node's configuration, what its task was given\n"
          "- `run`: `run.run_id`, `run.thread_id`, `run.step`, `run.now` (milliseconds since 1970), `run.tags`, "
          "`run.metadata`, `run.configurable`\n"
          "- `item`: in a node's configuration, the item of a map edge\n"
          "- `config`: in a node's configuration, the configuration itself\n\n"
          "## Literals\n\n"
          "- `1`, `-1`, `0x1f`: int; `1u`: uint; `1.0`, `1e9`: double\n"
          "- `\"text\"`, `'text'`, `\"\"\"text of lines\"\"\"`: string, with escapes as `\\n` and `\\u00e9`; "
          "`r\"\\d\"`: without\n"
          "- `b\"bytes\"`: bytes; `true`, `false`: bool; `null`\n"
          "- `[1, 2]`: list; `{\"key\": 1}`: map, with keys that are strings, ints, uints or bools\n\n"
          "## Templates\n\n"
          "`Tell {name} about {state.topic}.` A hole holds an expression; a channel may be written by its name alone. "
          "Strings\n"
          "are put in as they are, anything else as JSON. `{{` and `}}` are braces.\n\n"
          "## Operators\n\n"
          "Those that bind most tightly come first; operators between two operands are in three groups, `*` `/` `%`, "
          "then\n"
          "`+` `-`, then comparisons and `in`.\n",
          stdout);
    for (size_t i = 0; i < expr_operator_count(); i++) print_operator(expr_operator_at(i));
    fputs("\n## Macros\n", stdout);
    print_functions(true);
    fputs("\n## Functions\n", stdout);
    print_functions(false);
    fputs("\n## Limits\n", stdout);
    print_limits(limits, sizeof limits / sizeof *limits);
}

/* ---- tenon.yaml ---- */

/* The key, and what is inside of it. */
static void print_config_key(const struct config_key *key) {
    printf("\n## %s%s%s\n\n%s\n\n- %s\n\n```yaml\n", key->section, *key->section ? "." : "", key->name,
           key->documentation, key->form);
    if (*key->section) printf("%s:\n  ", key->section);
    printf("%s: %s\n```\n", key->name, key->example);
    if (!*key->section && strcmp(key->name, "models") == 0) print_fallback();
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

void reference_config(void) {
    fputs(
        "# tenon.yaml\n\n"
        "What the operator decides; documents say what they need, and nothing of it has to be there. The project's "
        "file\n"
        "is the nearest `tenon.yaml` from the working directory upwards, or the one of `--config`; the user's is\n"
        "`~/.config/tenon/tenon.yaml`. Both are read, and the project's keys win, each by itself; `--no-config` reads\n"
        "none. Unknown keys are errors.\n",
        stdout);
    for (size_t i = 0; i < config_key_count(); i++) {
        print_config_key(config_key_at(i));
        if (!*config_key_at(i)->section && strcmp(config_key_at(i)->name, "limits") == 0) print_config_limits();
    }
}
