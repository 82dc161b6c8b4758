/*
 * reference_component.c - components and plugins of the reference.
 *
 * Everything is read from manifests; no plugin runs for it. Texts come from plugins of others, so they are printed with
 * command_printf.
 */
#include "host/program/reference_component.h"
#include "adl/value/codes.h"
#include "adl/value/memory.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/preset.h"
#include "host/program/command.h"
#include "host/program/command_schema.h"
#include "host/program/yaml_text.h"
#include <stdio.h>
#include <string.h>

/* ---- Words ---- */

static const struct {
    const char *kind, *words;
} kinds[] = {{"node", "node type"},
             {"tool", "tool"},
             {"model", "provider of models"},
             {"reducer", "reducer"},
             {"runner", "runner"}};

const char *reference_kind_words(const char *kind) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].kind, kind) == 0) return kinds[i].words;
    return kind;
}

/* An effect, without the part after its colon. A row that ends in a dot is for all effects that begin with it. */
static const struct {
    const char *effect, *meaning;
} effects[] = {
    {"calls.model", "calls models"},
    {"calls.tool", "calls tools"},
    {"calls.node", "calls node types"},
    {"calls.document", "runs documents"},
    {"calls.any", "calls what it is asked to call; each call is judged as if its caller had made it"},
    {"calls.approved", "passes on approvals that a person has granted"},
    {"host.method", "calls methods of the host"},
    {"server.route", "answers HTTP requests for paths"},
    {"tool.call", "calls tools that a model has chosen"},
    {"document.run", "runs a document that it receives as a text, or whose name is known only at run time"},
    {"network.http", "sends HTTP requests"},
    {"net", "opens sockets"},
    {"secret", "uses secrets"},
    {"fs.read", "reads files"},
    {"fs.write", "changes files"},
    {"process.spawn", "starts programs"},
    {"clock", "reads the time"},
    {"random", "can return another result for the same input"},
    {"destructive", "can destroy data"},
    {"unknown", "can have any effect"},
    {"mcp.write", "changes something on an MCP server"},
    {"state.read", "reads Tasks, Artifacts or memories"},
    {"state.", "changes Tasks, Artifacts or memories"},
};

static const char *effect_meaning(const char *effect) {
    size_t length = strcspn(effect, ":");
    for (size_t i = 0; i < sizeof effects / sizeof *effects; i++) {
        size_t known = strlen(effects[i].effect);
        bool prefix = effects[i].effect[known - 1] == '.';
        if ((prefix ? length > known : length == known) && memcmp(effects[i].effect, effect, known) == 0)
            return effects[i].meaning;
    }
    return "";
}

static const char *text_at(tn_value array, size_t index) {
    tn_value item = value_at(array, index);
    return value_is(item, TN_STRING) ? value_chars(item, NULL) : "";
}

/* Prints a title as a sentence: some end in a full stop, others do not. */
static void print_title(const char *title) {
    size_t length = strlen(title);
    command_printf(stdout, "%s%s", title, length && title[length - 1] == '.' ? "" : ".");
}

/* ---- Sections ---- */

static void print_heading(const char *mark, const char *text) { command_printf(stdout, "\n%s# %s\n\n", mark, text); }

static void print_schema(const char *mark, const char *heading, tn_value schema) {
    struct buffer form;
    if (!schema || !value_is(schema, TN_OBJECT)) return;
    buffer_init(&form, SIZE_MAX);
    command_schema_form(&form, schema, schema);
    print_heading(mark, heading);
    tn_value properties = value_get(schema, "properties"), description = value_get(schema, "description");
    if (!properties) command_printf(stdout, "%s%s", buffer_cstr(&form), description ? ": " : "");
    if (description) command_printf(stdout, "%s", command_text(schema, "description", ""));
    if (!properties || description) fputs("\n", stdout);
    if (properties && description) fputs("\n", stdout);
    command_schema_markdown(schema);
    buffer_finish(&form);
}

/* True if a part of the schema marks what the component will call. */
static bool names_callees(tn_value schema) {
    static const char *const marks[] = {"model", "tool", "document"};
    bool object = value_is(schema, TN_OBJECT), found = false;
    if (!object && !value_is(schema, TN_ARRAY)) return false;
    for (size_t i = 0; object && i < sizeof marks / sizeof *marks; i++)
        found |= strcmp(command_text(schema, "x-tenon", ""), marks[i]) == 0;
    for (size_t i = 0; !found && i < value_count(schema); i++)
        found = names_callees(object ? value_value_at(schema, i) : value_at(schema, i));
    return found;
}

static void print_effects(const char *mark, tn_value declared, tn_value config) {
    bool callees = config && names_callees(config);
    print_heading(mark, "Effects");
    if (!declared) {
        fputs("Not declared: the most restricted policy applies.\n", stdout);
    } else if (!value_count(declared)) {
        fputs(callees ? "None itself.\n" : "None: the result depends only on the input and the configuration.\n",
              stdout);
    }
    for (size_t i = 0; declared && i < value_count(declared); i++) {
        const char *meaning = effect_meaning(text_at(declared, i));
        command_printf(stdout, "- `%s`%s%s\n", text_at(declared, i), *meaning ? ": " : "", meaning);
    }
    if (callees) fputs("\nWhat its configuration names is called, too, and has its own effects.\n", stdout);
}

static void print_errors(const char *mark, tn_value errors) {
    if (!errors || !value_is(errors, TN_OBJECT) || !value_count(errors)) return;
    print_heading(mark, "Errors");
    for (size_t i = 0; i < value_count(errors); i++) {
        const char *code = value_chars(value_key_at(errors, i), NULL);
        const struct error_code *row = error_code_find(code);
        command_printf(stdout, "- `%s`: %s%s\n", code, command_text(errors, code, ""),
                       row && row->retryable ? " Another attempt may succeed." : "");
    }
}

/* ---- Examples ---- */

static void print_yaml(tn_value value, unsigned indent) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    yaml_text(&text, value, indent);
    command_printf(stdout, "%s", buffer_cstr(&text));
    buffer_finish(&text);
}

static void print_json_block(const char *before, tn_value value) {
    if (!value) return;
    char *text = json_text(value, JSON_COMPACT);
    command_printf(stdout, "%s:\n\n```json\n%s\n```\n", before, text);
    mem_free(text);
}

static bool has_members(tn_value config) { return config && value_is(config, TN_OBJECT) && value_count(config); }

static void print_members(tn_value config, unsigned indent) {
    if (has_members(config)) print_yaml(config, indent);
}

static void print_node_example(const char *id, tn_value example) {
    const char *dot = strrchr(id, '.');
    tn_value config = value_get(example, "config");
    command_printf(stdout, "```yaml\nnodes:\n  - id: %s\n    type: %s\n", dot ? dot + 1 : id, id);
    if (has_members(config)) fputs("    config:\n", stdout);
    print_members(config, 6);
    fputs("```\n", stdout);
}

static void print_model_example(const char *id, tn_value example) {
    tn_value input = value_get(example, "input");
    command_printf(stdout, "```yaml\nmodels:\n  default:\n    provider: %s\n", id);
    print_members(value_get(example, "config"), 4);
    fputs("```\n", stdout);
    if (input) fputc('\n', stdout);
    print_json_block("Input", input);
    if (input && value_get(example, "output")) fputc('\n', stdout);
    print_json_block("Output", value_get(example, "output"));
}

/* Prints a blank and a word of a shell in single quotes. */
static void print_shell_word(const char *text) {
    struct buffer word;
    buffer_init(&word, SIZE_MAX);
    for (; *text; text++)
        if (*text == '\'')
            buffer_text(&word, "'\\''");
        else
            buffer_char(&word, *text);
    command_printf(stdout, " '%s'", buffer_cstr(&word));
    buffer_finish(&word);
}

static void print_tool_example(const char *id, tn_value example) {
    tn_value input = value_get(example, "input"), output = value_get(example, "output");
    char *text = input ? json_text(input, JSON_COMPACT) : NULL;
    command_printf(stdout, "```console\n$ tenon tool call %s", id);
    if (text) print_shell_word(text);
    putchar('\n');
    mem_free(text);
    if (output && value_is(output, TN_STRING)) {
        command_printf(stdout, "%s\n", value_chars(output, NULL));
    } else if (output) {
        text = json_text(output, JSON_COMPACT);
        command_printf(stdout, "%s\n", text);
        mem_free(text);
    }
    fputs("```\n", stdout);
}

static void print_other_example(const char *kind, const char *id, tn_value example) {
    if (strcmp(kind, "reducer") == 0)
        command_printf(stdout, "```yaml\nchannels:\n  - {name: result, type: reduce, reducer: %s}\n```\n\n", id);
    print_json_block("Input", value_get(example, "input"));
    if (value_get(example, "output")) fputc('\n', stdout);
    print_json_block("Output", value_get(example, "output"));
}

static void print_examples(const char *mark, const char *kind, const char *id, tn_value examples) {
    size_t count = examples && value_is(examples, TN_ARRAY) ? value_count(examples) : 0;
    if (count) print_heading(mark, count > 1 ? "Examples" : "Example");
    for (size_t i = 0; i < count; i++) {
        tn_value example = value_at(examples, i);
        command_printf(stdout, "%s%s:\n\n", i ? "\n" : "", command_text(example, "title", "An example"));
        if (strcmp(kind, "node") == 0)
            print_node_example(id, example);
        else if (strcmp(kind, "tool") == 0)
            print_tool_example(id, example);
        else if (strcmp(kind, "model") == 0)
            print_model_example(id, example);
        else
            print_other_example(kind, id, example);
    }
}

/* ---- Components and plugins ---- */

/* The sections that depend on the kind: what the component receives and returns. */
static void print_payloads(const char *mark, const struct component_info *info) {
    bool tool = strcmp(info->kind, "tool") == 0;
    print_schema(mark, tool ? "Arguments" : "Input", value_get(info->manifest, "input"));
    print_schema(mark, tool ? "Result" : "Output", value_get(info->manifest, "output"));
    if (strcmp(info->kind, "node") == 0)
        fputs("\nA node reads and writes the channels that its configuration names; `tenon schema node` is the form of "
              "its "
              "task.\n",
              stdout);
    else if (!tool)
        command_printf(stdout, "\nIts payloads have the form of `tenon schema %s`.\n", info->kind);
}

/* The rows of a component's presets: each with its address, its key and the rest of its configuration. */
static void print_presets(const char *mark, tn_value presets) {
    if (!value_count(presets)) return;
    print_heading(mark, "Names");
    fputs("Each of these providers is this component with a configuration, over which the members of a binding win. A "
          "binding with a\n`base_url` of another host does not get the key.\n\n"
          "| provider | | address | key | `dialect` |\n|---|---|---|---|---|\n",
          stdout);
    for (size_t i = 0; i < value_count(presets); i++) {
        const char *name = value_chars(value_key_at(presets, i), NULL);
        tn_value preset = value_value_at(presets, i), config = value_get(preset, "config");
        tn_value flags = value_get(config, "dialect");
        const char *key = command_text(value_get(config, "api_key"), "secret", "");
        const char *address = command_text(config, "base_url", "");
        command_printf(stdout, "| `%s` | %s | %s | %s%s%s | ", name, command_text(preset, "title", ""), address,
                       *key ? "`" : "", key, *key ? "`" : "");
        for (size_t j = 0; j < value_count(flags); j++) {
            char *value = json_text(value_value_at(flags, j), JSON_COMPACT);
            command_printf(stdout, "%s`%s: %s`", j ? ", " : "", value_chars(value_key_at(flags, j), NULL), value);
            mem_free(value);
        }
        fputs(" |\n", stdout);
    }
    for (size_t i = 0; i < value_count(presets); i++) {
        const char *text = command_text(value_value_at(presets, i), "documentation", "");
        if (*text) command_printf(stdout, "\n`%s`: %s\n", value_chars(value_key_at(presets, i), NULL), text);
    }
}

/* A preset has the form of its component, which has a page itself. */
static void print_preset(const char *mark, const struct component_info *info) {
    const char *of = preset_component(info);
    command_printf(stdout, "%s %s\n\n", mark, info->id);
    print_title(info->title);
    command_printf(stdout, " The provider of models `%s` of the plugin `%s` %s, with this configuration:\n\n```yaml\n",
                   of, info->plugin_id, info->plugin_version);
    print_members(preset_config(info), 0);
    fputs("```\n", stdout);
    if (info->documentation && *info->documentation) command_printf(stdout, "\n%s\n", info->documentation);
    command_printf(
        stdout,
        "\nThe members of a binding win. `tenon reference model:%s` describes all of them, what it receives and "
        "what it\nreturns.\n",
        of);
}

void reference_print_component(const char *mark, const struct component_info *info) {
    if (value_get(info->manifest, "preset")) {
        print_preset(mark, info);
        return;
    }
    const char *deprecated = command_text(info->manifest, "deprecated", "");
    command_printf(stdout, "%s %s\n\n", mark, info->id);
    print_title(info->title);
    command_printf(stdout, " A %s of the plugin `%s` %s.\n", reference_kind_words(info->kind), info->plugin_id,
                   info->plugin_version);
    if (*deprecated) command_printf(stdout, "\n**Deprecated**: %s\n", deprecated);
    if (info->documentation && *info->documentation) command_printf(stdout, "\n%s\n", info->documentation);
    print_presets(mark, value_get(info->manifest, "presets"));
    print_schema(mark, "Configuration", value_get(info->manifest, "config"));
    print_payloads(mark, info);
    print_effects(mark, info->effects, value_get(info->manifest, "config"));
    print_errors(mark, value_get(info->manifest, "errors"));
    print_examples(mark, info->kind, info->id, value_get(info->manifest, "examples"));
}

static void print_texts(const char *label, tn_value set) {
    if (!set || !value_is(set, TN_ARRAY) || !value_count(set)) return;
    command_printf(stdout, "- %s: ", label);
    for (size_t i = 0; i < value_count(set); i++) command_printf(stdout, "%s`%s`", i ? ", " : "", text_at(set, i));
    putchar('\n');
}

static void print_plugin_facts(const char *mark, const struct plugin *plugin, tn_value manifest) {
    print_heading(mark, "Facts");
    command_printf(stdout, "- Version: %s%s%s\n", plugin_version(plugin),
                   *manifest_text(manifest, "licence") ? ", " : "", manifest_text(manifest, "licence"));
    if (*manifest_text(manifest, "homepage")) command_printf(stdout, "- %s\n", manifest_text(manifest, "homepage"));
    print_texts("Requires", value_get(manifest, "requires"));
    print_texts("Uses if the host has them", value_get(manifest, "optional"));
    print_texts("Provides", value_get(manifest, "provides"));
    print_texts("Adds at run time", value_get(manifest, "dynamic"));
}

void reference_print_plugin(const char *mark, const struct plugin *plugin) {
    tn_value manifest = manifest_plugin(plugin_manifest(plugin));
    tn_value components = manifest_components(plugin_manifest(plugin)), config = value_get(manifest, "config");
    command_printf(stdout, "%s %s\n\n", mark, plugin_id(plugin));
    print_title(plugin_title(plugin));
    fputs(" A plugin.\n", stdout);
    if (*manifest_text(manifest, "description"))
        command_printf(stdout, "\n%s\n", manifest_text(manifest, "description"));
    if (config) {
        print_schema(mark, "Configuration", config);
        command_printf(stdout, "\nThis is its section of tenon.yaml: `plugins: {config: {%s: {…}}}`.\n",
                       plugin_id(plugin));
    }
    if (components && value_count(components)) print_heading(mark, "Components");
    for (size_t i = 0; components && i < value_count(components); i++) {
        tn_value component = value_at(components, i);
        command_printf(stdout, "- `tenon reference %s:%s`: %s\n", manifest_text(component, "kind"),
                       manifest_text(component, "id"), manifest_text(component, "title"));
    }
    print_plugin_facts(mark, plugin, manifest);
}
