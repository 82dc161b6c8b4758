/*
 * authority_test.c - who may call what, on chains of frames that are built by hand.
 *
 * A chain is JSON, the outermost frame first:
 *   {"document": NAME, "tools": [ENTRY, …]?, "budget": {…}?, "from_text": true?}
 *   {"session": {ROLE: ROLE}, "own": [PATTERN, …]?}
 *   {"component": KIND, "effects": [EFFECT, …]?, "config": {…}?, "node": ID?}
 * The component's id is "c" and its position in the chain, its plugin's "p" and the same. All components have the
 * schema below for their configuration.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* After those: */
#include "adl/document/effects.h"
#include "adl/schema/schema.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/plugin/call/authority.h"
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof *(table))
#define FRAMES_MAX   8

static const char config_schema[] =
    "{\"type\":\"object\",\"properties\":{\"tool\":{\"type\":\"string\",\"x-tenon\":\"tool\"},"
    "\"model\":{\"type\":\"string\",\"x-tenon\":\"model\"},\"node\":{\"type\":\"string\",\"x-tenon\":\"node\"},"
    "\"document\":{\"type\":\"string\",\"x-tenon\":\"document\"},\"free\":{},"
    "\"fallback\":{\"type\":\"string\",\"x-tenon\":\"tool\",\"default\":\"shell.run\"},"
    "\"tools\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"x-tenon\":\"tool\"}},"
    "\"approve\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"x-tenon\":\"approval\"}}}}";

struct chain {
    tn_value parsed;
    struct schema *schema;
    struct component_info infos[FRAMES_MAX];
    char ids[FRAMES_MAX][24], plugins[FRAMES_MAX][24];
    struct authority *innermost;
};

static tn_value parse(const char *text) {
    struct error error = ERROR_INIT;
    tn_value value = NULL;
    if (json_read(text, strlen(text), NULL, &value, &error) != TN_OK) fail_msg("%s: %s", text, error.message);
    return value;
}

static const char *text_of(tn_value object, const char *key) {
    tn_value value = value_get(object, key);
    return value ? value_chars(value, NULL) : NULL;
}

static void chain_init(struct chain *chain, const char *text) {
    *chain = (struct chain){.parsed = parse(text)};
    tn_value schema = parse(config_schema);
    assert_int_equal(schema_compile(schema, NULL, &chain->schema, NULL), TN_OK);
    value_unref(schema);
    assert_true(value_count(chain->parsed) <= FRAMES_MAX);
    for (size_t i = 0; i < value_count(chain->parsed); i++) {
        tn_value frame = value_at(chain->parsed, i);
        struct authority *outer = chain->innermost;
        if (value_get(frame, "document")) {
            chain->innermost = authority_of_document(outer, text_of(frame, "document"), value_get(frame, "tools"),
                                                     value_get(frame, "from_text") != NULL);
            chain->innermost->budget = value_ref(value_get(frame, "budget"));
        } else if (value_get(frame, "session")) {
            chain->innermost = authority_of_session(outer, value_get(frame, "session"), value_get(frame, "own"), false);
        } else {
            snprintf(chain->ids[i], sizeof chain->ids[i], "c%zu", i);
            snprintf(chain->plugins[i], sizeof chain->plugins[i], "p%zu", i);
            chain->infos[i] = (struct component_info){.kind = text_of(frame, "component"),
                                                      .id = chain->ids[i],
                                                      .plugin_id = chain->plugins[i],
                                                      .effects = value_get(frame, "effects"),
                                                      .config = chain->schema};
            chain->innermost =
                authority_of_component(outer, &chain->infos[i], value_get(frame, "config"), text_of(frame, "node"));
        }
        authority_unref(outer);
    }
}

static void chain_finish(struct chain *chain) {
    authority_unref(chain->innermost);
    schema_unref(chain->schema);
    value_unref(chain->parsed);
}

/* ---- authority_check ---- */

#define SPAWN "[\"process.spawn\"]"
#define NONE  "NONE" /* the callee is not a component, or is not known yet */

static const struct {
    const char *chain, *kind, *name, *effects;
    const char *refused; /* a part of the message; NULL: allowed */
} calls[] = {
    /* The operator may do everything. */
    {"[]", "tool", "shell.run", SPAWN, NULL},
    {"[]", "tool", "quiet", NULL, NULL},

    /* A tool that declares too little. */
    {"[{\"component\":\"tool\"}]", "tool", "shell.run", SPAWN,
     "the tool `c0` of plugin `p0` may not call the tool `shell.run`: its manifest does not declare it; add "
     "\"calls.tool:shell.run\""},
    {"[{\"component\":\"tool\",\"effects\":[]}]", "tool", "shell.run", SPAWN, "does not declare it"},
    {"[{\"component\":\"tool\",\"effects\":[]}]", "tool", "pure", "[]", "does not declare it"},
    {"[{\"component\":\"tool\",\"effects\":[\"process.spawn\"]}]", "tool", "shell.run", SPAWN, "does not declare it"},
    {"[{\"component\":\"tool\",\"effects\":[\"tool.call\",\"process.spawn\"]}]", "tool", "shell.run", SPAWN,
     "does not declare it"},
    {"[{\"component\":\"tool\",\"effects\":[\"calls.toolbox\",\"process.spawn\"]}]", "tool", "shell.run", SPAWN,
     "does not declare it"},
    {"[{\"component\":\"tool\",\"effects\":[\"calls.\",\"calls\",\"process.spawn\"]}]", "tool", "shell.run", SPAWN,
     "does not declare it"},
    {"[{\"component\":\"tool\",\"effects\":[\"calls.tool:\",\"process.spawn\"]}]", "tool", "shell.run", SPAWN,
     "does not declare it"},
    {"[{\"component\":\"tool\",\"effects\":[\"calls.tool:shell\",\"process.spawn\"]}]", "tool", "shell.run", SPAWN,
     "does not declare it"},
    {"[{\"component\":\"tool\",\"effects\":[\"calls.node:shell.run\",\"calls.model\",\"process.spawn\"]}]", "tool",
     "shell.run", SPAWN, "does not declare it"},
    {"[{\"component\":\"tool\",\"effects\":[7,null,{},\"process.spawn\"]}]", "tool", "shell.run", SPAWN,
     "does not declare it"},
    {"[{\"component\":\"tool\",\"effects\":\"calls.tool\"}]", "tool", "shell.run", SPAWN, "does not declare it"},

    /* A plugin, outside of its tasks. */
    {"[{\"component\":\"plugin\",\"effects\":[]}]", "tool", "shell.run", SPAWN,
     "the plugin `p0` may not call the tool `shell.run`: its manifest does not declare it; add "
     "\"calls.tool:shell.run\" to the `effects` of the manifest's `plugin`"},
    {"[{\"component\":\"plugin\",\"effects\":[\"calls.tool\"]}]", "tool", "shell.run", SPAWN,
     "the plugin `p0` may not call the tool `shell.run` of plugin `callee`, which has the effect `process.spawn`: `c0` "
     "does not declare this effect in its manifest's `plugin`"},

    /* It declares the call, but not the effect. */
    {"[{\"component\":\"tool\",\"effects\":[\"calls.tool:shell.run\"]}]", "tool", "shell.run", SPAWN,
     "the tool `c0` of plugin `p0` may not call the tool `shell.run` of plugin `callee`, which has the effect "
     "`process.spawn`"},
    {"[{\"component\":\"tool\",\"effects\":[\"calls.tool\",\"process\"]}]", "tool", "shell.run", SPAWN,
     "has the effect `process.spawn`"},
    {"[{\"component\":\"tool\",\"effects\":[\"calls.tool\",\"process.spawn:/bin/true\"]}]", "tool", "shell.run", SPAWN,
     "has the effect `process.spawn`"},
    {"[{\"component\":\"tool\",\"effects\":[\"calls.tool\",\"fs.read:/srv\"]}]", "tool", "read",
     "[\"fs.read:/srv/a\",\"fs.read:/etc\"]", "has the effect `fs.read:/etc`"},
    {"[{\"component\":\"tool\",\"effects\":[\"calls.tool\"]}]", "tool", "quiet", NULL, "declares no effects"},
    {"[{\"component\":\"tool\",\"effects\":[\"calls.tool\",\"unknown\"]}]", "tool", "quiet", NULL,
     "declares no effects"},
    {"[{\"component\":\"tool\",\"effects\":[\"calls.tool\",\"process.spawn\"]}]", "tool", "odd", "[\"unknown\"]",
     "has the effect `unknown`"},
    {"[{\"component\":\"tool\",\"effects\":[\"calls.tool\"]}]", "tool", "agentic", "[\"calls.model\"]",
     "has the effect `calls.model`"},

    /* It declares both. */
    {"[{\"component\":\"tool\",\"effects\":[\"calls.tool:shell.run\",\"process.spawn\"]}]", "tool", "shell.run", SPAWN,
     NULL},
    {"[{\"component\":\"tool\",\"effects\":[\"calls.tool:shell.*\",\"process.spawn\"]}]", "tool", "shell.run", SPAWN,
     NULL},
    {"[{\"component\":\"tool\",\"effects\":[\"calls.tool\",\"process.spawn\"]}]", "tool", "shell.run", SPAWN, NULL},
    {"[{\"component\":\"tool\",\"effects\":[\"calls.tool\",\"unknown\"]}]", "tool", "shell.run", SPAWN, NULL},
    {"[{\"component\":\"tool\",\"effects\":[\"calls.tool:pure\"]}]", "tool", "pure", "[]", NULL},
    {"[{\"component\":\"tool\",\"effects\":[\"calls.tool\"]}]", "tool", "caller", "[\"calls.tool:x\",\"tool.call\"]",
     NULL}, /* what it calls is checked itself */
    {"[{\"component\":\"tool\",\"effects\":[\"calls.tool:shell.run\"]}]", "tool", "shell.run", NONE, NULL},
    {"[{\"component\":\"node\",\"effects\":[\"calls.node:delay\"]}]", "node", "delay", "[]", NULL},
    {"[{\"component\":\"node\",\"effects\":[\"calls.node:delay\"]}]", "node", "emit", "[]", "`emit`"},
    {"[{\"component\":\"node\",\"effects\":[\"calls.model\"]}]", "model", "default", NONE, NULL},
    {"[{\"component\":\"node\",\"effects\":[\"calls.model:cheap\"]}]", "model", "default", NONE,
     "may not call the model `default`"},
    {"[{\"component\":\"node\",\"effects\":[]}]", "model", "default", NONE, "\"calls.model:default\""},
    {"[{\"component\":\"node\",\"effects\":[\"calls.document:inner.yaml\"]}]", "graph", "inner.yaml", NONE, NULL},
    {"[{\"component\":\"node\",\"effects\":[\"calls.document:inner.yaml\"]}]", "graph", "../other.yaml", NONE,
     "may not call the document `../other.yaml`"},
    {"[{\"component\":\"node\",\"effects\":[\"calls.graph\"]}]", "graph", "inner.yaml", NONE,
     "\"calls.document:inner.yaml\""},

    /* The user names it in the configuration, in a member that is annotated with its kind. */
    {"[{\"component\":\"node\",\"effects\":[],\"config\":{\"tool\":\"shell.run\"}}]", "tool", "shell.run", SPAWN, NULL},
    {"[{\"component\":\"node\",\"config\":{\"tools\":[\"a\",\"shell.*\"]}}]", "tool", "shell.run", SPAWN, NULL},
    {"[{\"component\":\"node\",\"config\":{\"tool\":\"quiet\"}}]", "tool", "quiet", NULL, NULL},
    {"[{\"component\":\"node\",\"config\":{\"model\":\"default\"}}]", "model", "default", NONE, NULL},
    /* … but the annotation `node` is for ids of nodes. */
    {"[{\"component\":\"node\",\"effects\":[],\"config\":{\"node\":\"delay\"}}]", "node", "delay", SPAWN,
     "does not declare it"},
    {"[{\"component\":\"node\",\"config\":{\"document\":\"a.yaml\"}}]", "graph", "a.yaml", NONE, NULL},
    {"[{\"component\":\"node\",\"effects\":[],\"config\":{\"tool\":\"shell\"}}]", "tool", "shell.run", SPAWN,
     "does not declare it"},
    {"[{\"component\":\"node\",\"effects\":[],\"config\":{\"tool\":\"Shell.run\"}}]", "tool", "shell.run", SPAWN,
     "does not declare it"},
    {"[{\"component\":\"node\",\"effects\":[],\"config\":{\"free\":\"shell.run\"}}]", "tool", "shell.run", SPAWN,
     "does not declare it"},
    {"[{\"component\":\"node\",\"effects\":[],\"config\":{\"model\":\"shell.run\",\"approve\":[\"shell.run\"]}}]",
     "tool", "shell.run", SPAWN, "does not declare it"},
    {"[{\"component\":\"node\",\"effects\":[],\"config\":{\"tool\":{\"tool\":\"shell.run\"}}}]", "tool", "shell.run",
     SPAWN, "does not declare it"},
    /* A default of the plugin's schema is not the user's choice. */
    {"[{\"component\":\"node\",\"effects\":[],\"config\":{}}]", "tool", "shell.run", SPAWN, "does not declare it"},

    /* Who wrote the configuration must be allowed, too: here the component c0 did. */
    {"[{\"component\":\"node\",\"effects\":[]},{\"component\":\"node\",\"effects\":[],\"config\":{\"tool\":"
     "\"shell.run\"}}]",
     "tool", "shell.run", SPAWN, "the node `c0` of plugin `p0` may not call the tool `shell.run` of plugin `callee`"},
    {"[{\"component\":\"node\",\"effects\":[\"process.spawn\"]},{\"component\":\"node\",\"effects\":[],\"config\":{"
     "\"tool\":\"shell.run\"}}]",
     "tool", "shell.run", SPAWN, NULL},
    {"[{\"component\":\"node\",\"effects\":[],\"config\":{\"tool\":\"shell.run\"}},{\"component\":\"node\","
     "\"effects\":[],\"config\":{\"tool\":\"shell.run\"}}]",
     "tool", "shell.run", SPAWN, NULL},
    {"[{\"component\":\"node\",\"effects\":[]},{\"component\":\"node\",\"config\":{\"model\":\"default\"}}]", "model",
     "default", NONE, "the node `c0` of plugin `p0` may not call the model `default`"},
    {"[{\"component\":\"node\",\"effects\":[\"calls.model\"]},{\"component\":\"node\",\"config\":{\"model\":"
     "\"default\"}}]",
     "model", "default", NONE, NULL},
    /* The same through a document that c0 has made. */
    {"[{\"component\":\"node\",\"effects\":[]},{\"document\":\"made\"},{\"component\":\"node\",\"effects\":[],"
     "\"config\":{\"tool\":\"shell.run\"}}]",
     "tool", "shell.run", SPAWN, "the node `c0` of plugin `p0`"},
    {"[{\"component\":\"node\",\"effects\":[],\"config\":{\"tools\":[\"shell.run\"]}},{\"document\":\"made\"},"
     "{\"component\":\"node\",\"effects\":[],\"config\":{\"tool\":\"shell.run\"}}]",
     "tool", "shell.run", SPAWN, NULL},
    /* A document inside a document of the user: the user wrote both. */
    {"[{\"document\":\"outer\"},{\"document\":\"inner\"},{\"component\":\"node\",\"effects\":[],\"config\":{\"tool\":"
     "\"shell.run\"}}]",
     "tool", "shell.run", SPAWN, NULL},

    /* calls.any: judged as its caller. */
    {"[{\"component\":\"tool\",\"effects\":[]},{\"component\":\"tool\",\"effects\":[\"calls.any\"]}]", "tool",
     "shell.run", SPAWN, "the tool `c0` of plugin `p0`"},
    {"[{\"component\":\"node\",\"effects\":[],\"config\":{\"tool\":\"words\"}},{\"component\":\"tool\",\"effects\":["
     "\"calls.any\"]}]",
     "tool", "shell.run", SPAWN, "the node `c0` of plugin `p0`"},
    {"[{\"component\":\"tool\",\"effects\":[\"calls.any\"]},{\"component\":\"tool\",\"effects\":[\"calls.any\"]},"
     "{\"component\":\"tool\",\"effects\":[\"calls.tool\"]}]",
     "tool", "shell.run", SPAWN, "the tool `c2` of plugin `p2`"},
    {"[{\"component\":\"node\",\"effects\":[\"process.spawn\"]},{\"component\":\"tool\",\"effects\":[\"calls.any\"]}]",
     "tool", "shell.run", SPAWN, NULL},
    /* A document from a text, through document.run: the component that runs it is judged. */
    {"[{\"component\":\"node\",\"effects\":[\"calls.model\"],\"config\":{\"tools\":[\"document.run\"]}},{"
     "\"component\":\"tool\",\"effects\":[\"document.run\",\"calls.any\"]},{\"document\":\"t\",\"from_text\":true},{"
     "\"component\":\"node\",\"effects\":[],\"config\":{\"tool\":\"shell.run\"}}]",
     "tool", "shell.run", SPAWN, "the node `c0` of plugin `p0`"},
};

static void test_calls(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(calls); i++) {
        struct chain chain;
        struct error error = ERROR_INIT;
        chain_init(&chain, calls[i].chain);
        bool component = !calls[i].effects || strcmp(calls[i].effects, NONE) != 0;
        tn_value effects = component && calls[i].effects ? parse(calls[i].effects) : NULL;
        const struct component_info callee = {
            .kind = calls[i].kind, .id = calls[i].name, .plugin_id = "callee", .effects = effects};
        int32_t status =
            authority_check(chain.innermost, calls[i].kind, calls[i].name, component ? &callee : NULL, &error);
        if (!calls[i].refused && status != TN_OK) fail_msg("row %zu: refused: %s", i, error.message);
        if (calls[i].refused && status == TN_OK) fail_msg("row %zu: allowed: %s", i, calls[i].chain);
        if (calls[i].refused) {
            assert_int_equal(status, TN_INVALID);
            assert_string_equal(error.code, "PERMISSION_DENIED");
            if (!strstr(error.message, calls[i].refused)) fail_msg("row %zu: found: %s", i, error.message);
        }
        error_finish(&error);
        value_unref(effects);
        chain_finish(&chain);
    }
}

/* ---- What a component adds to the binding of a model ---- */

#define ADDRESS "{\"base_url\":\"http://a\"}"

static const struct {
    const char *chain, *settings;
    bool allowed;
} added[] = {
    {"[]", ADDRESS, true},
    {"[{\"component\":\"node\",\"config\":" ADDRESS "}]", ADDRESS, true},
    {"[{\"component\":\"node\",\"config\":{\"base_url\":\"http://b\"}}]", ADDRESS, false},
    {"[{\"component\":\"node\",\"config\":" ADDRESS "}]", "{\"api_key\":{\"secret\":\"A\"}}", false},
    {"[{\"component\":\"node\"}]", ADDRESS, false},
    {"[{\"component\":\"node\",\"effects\":[\"calls.model\",\"calls.any\"]}]", ADDRESS, false},
    {"[{\"component\":\"node\"}]", "{\"timeout_ms\":{\"total\":1}}", true},
    {"[{\"component\":\"node\"}]", "7", true},
    /* It could send the same request itself. */
    {"[{\"component\":\"node\",\"effects\":[\"network.http\",\"secret\"]}]", ADDRESS, true},
    {"[{\"component\":\"node\",\"effects\":[\"network.http\"]}]", ADDRESS, false},
    {"[{\"component\":\"node\",\"effects\":[\"network.http:a\",\"secret\"]}]", ADDRESS, false},
    /* A component wrote the configuration: it must have it from the user. */
    {"[{\"component\":\"node\",\"config\":" ADDRESS
     "},{\"document\":\"made\"},{\"component\":\"node\",\"config\":" ADDRESS "}]",
     ADDRESS, true},
    {"[{\"component\":\"node\"},{\"document\":\"made\"},{\"component\":\"node\",\"config\":" ADDRESS "}]", ADDRESS,
     false},
    {"[{\"component\":\"tool\",\"effects\":[\"document.run\",\"calls.any\"]},{\"document\":\"t\",\"from_text\":true},{"
     "\"component\":\"node\",\"config\":" ADDRESS "}]",
     ADDRESS, false},
};

static void test_settings_of_models(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(added); i++) {
        struct chain chain;
        struct error error = ERROR_INIT;
        chain_init(&chain, added[i].chain);
        tn_value settings = parse(added[i].settings);
        int32_t status = authority_check_settings(chain.innermost, "planner", settings, &error);
        if ((status == TN_OK) != added[i].allowed) fail_msg("row %zu: status %d %s", i, status, added[i].chain);
        if (!added[i].allowed) {
            assert_string_equal(error.code, "PERMISSION_DENIED");
            assert_non_null(strstr(error.message, "of plugin `p"));
            assert_non_null(strstr(error.message, "of the model `planner`"));
        }
        error_finish(&error);
        value_unref(settings);
        chain_finish(&chain);
    }
    struct error error = ERROR_INIT;
    assert_int_equal(authority_check_settings(NULL, "planner", NULL, &error), TN_OK);
}

/* ---- Nodes of documents ---- */

static const struct {
    const char *chain, *effects, *refused;
} nodes[] = {
    {"[{\"document\":\"d\"}]", SPAWN, NULL},
    {"[{\"document\":\"d\"},{\"document\":\"e\"}]", NULL, NULL},
    {"[{\"component\":\"node\",\"effects\":[]},{\"document\":\"made\"}]", SPAWN, "the node `c0` of plugin `p0`"},
    {"[{\"component\":\"node\",\"effects\":[]},{\"document\":\"made\"}]", NULL, "declares no effects"},
    {"[{\"component\":\"node\",\"effects\":[]},{\"document\":\"made\"}]", "[]", NULL},
    {"[{\"component\":\"node\",\"effects\":[\"process.spawn\"]},{\"document\":\"made\"}]", SPAWN, NULL},
    {"[{\"component\":\"node\",\"effects\":[]},{\"component\":\"tool\",\"effects\":[\"calls.any\"]},{\"document\":"
     "\"made\"}]",
     SPAWN, "the node `c0` of plugin `p0`"},
    {"[{\"component\":\"tool\",\"effects\":[\"calls.any\"]},{\"document\":\"made\"}]", SPAWN, NULL},
};

static void test_nodes_of_documents(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(nodes); i++) {
        struct chain chain;
        struct error error = ERROR_INIT;
        chain_init(&chain, nodes[i].chain);
        tn_value effects = nodes[i].effects ? parse(nodes[i].effects) : NULL;
        const struct component_info type = {.kind = "node", .id = "n", .plugin_id = "callee", .effects = effects};
        int32_t status = authority_check_node(chain.innermost, &type, &error);
        if ((status == TN_OK) != !nodes[i].refused) fail_msg("row %zu: status %d %s", i, status, error.message);
        if (nodes[i].refused && !strstr(error.message, nodes[i].refused))
            fail_msg("row %zu: found: %s", i, error.message);
        error_finish(&error);
        value_unref(effects);
        chain_finish(&chain);
    }
}

/* ---- Documents narrow the tools ---- */

static const struct {
    const char *chain, *tool;
    bool allowed;
} narrowed[] = {
    {"[]", "a.b", true},
    {"[{\"document\":\"d\"}]", "a.b", true},
    {"[{\"document\":\"d\",\"tools\":[]}]", "a.b", false},
    {"[{\"document\":\"d\",\"tools\":[{\"name\":\"a.*\"}]}]", "a.b", true},
    {"[{\"document\":\"d\",\"tools\":[{\"name\":\"a\"}]}]", "a.b", false},
    {"[{\"document\":\"d\",\"tools\":[{\"name\":7},{}]}]", "a.b", false},
    /* Each document on the chain counts; the inner one cannot widen. */
    {"[{\"document\":\"d\",\"tools\":[{\"name\":\"a.b\"}]},{\"document\":\"e\",\"tools\":[{\"name\":\"*\"}]}]", "a.c",
     false},
    {"[{\"document\":\"d\",\"tools\":[{\"name\":\"a.b\"}]},{\"document\":\"e\",\"tools\":[{\"name\":\"*\"}]}]", "a.b",
     true},
    {"[{\"document\":\"d\",\"tools\":[{\"name\":\"*\"}]},{\"document\":\"e\",\"tools\":[{\"name\":\"a.b\"}]}]", "a.c",
     false},
    {"[{\"document\":\"d\",\"tools\":[{\"name\":\"a.b\"}]},{\"document\":\"e\"}]", "a.c", false},
    {"[{\"document\":\"d\",\"tools\":[]},{\"component\":\"tool\",\"effects\":[\"calls.any\"]},{\"document\":\"e\","
     "\"tools\":[{\"name\":\"a.b\"}]},{\"component\":\"node\",\"config\":{\"tool\":\"a.b\"}}]",
     "a.b", false},
};

static void test_documents_narrow(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(narrowed); i++) {
        struct chain chain;
        chain_init(&chain, narrowed[i].chain);
        if (authority_allows_tool(chain.innermost, narrowed[i].tool) != narrowed[i].allowed)
            fail_msg("row %zu: %s", i, narrowed[i].chain);
        chain_finish(&chain);
    }
}

/* ---- Approval ---- */

static const struct {
    const char *chain;
    bool grants; /* the approval of a.b */
} grants[] = {
    {"[]", true},
    {"[{\"component\":\"node\",\"effects\":[]}]", false},
    {"[{\"component\":\"node\",\"effects\":[\"calls.tool\",\"calls.any\",\"tool.call\",\"unknown\"]}]", false},
    {"[{\"component\":\"node\",\"config\":{\"tool\":\"a.b\",\"free\":[\"a.b\"]}}]", false},
    {"[{\"component\":\"node\",\"config\":{\"approve\":[\"a.b\"]}}]", true},
    {"[{\"component\":\"node\",\"config\":{\"approve\":[\"a.*\"]}}]", true},
    {"[{\"component\":\"node\",\"config\":{\"approve\":[\"a\"]}}]", false},
    {"[{\"document\":\"d\"},{\"component\":\"node\",\"config\":{\"approve\":[\"a.b\"]}}]", true},
    /* A component cannot approve its own call through a document or a configuration that it makes. */
    {"[{\"component\":\"node\",\"effects\":[]},{\"component\":\"node\",\"config\":{\"approve\":[\"a.b\"]}}]", false},
    {"[{\"component\":\"node\",\"effects\":[]},{\"document\":\"made\"},{\"component\":\"node\",\"config\":{\"approve\":"
     "[\"a.b\"]}}]",
     false},
    {"[{\"component\":\"node\",\"config\":{\"approve\":[\"a.b\"]}},{\"document\":\"made\"},{\"component\":\"node\","
     "\"config\":{\"approve\":[\"a.b\"]}}]",
     true},
    {"[{\"component\":\"node\",\"effects\":[]},{\"component\":\"node\",\"effects\":[\"calls.approved\"]}]", false},
};

static void test_grants(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(grants); i++) {
        struct chain chain;
        chain_init(&chain, grants[i].chain);
        if (authority_grants_approval(chain.innermost, "a.b") != grants[i].grants)
            fail_msg("row %zu: %s", i, grants[i].chain);
        chain_finish(&chain);
    }
}

/* ---- Who has chosen a tool ---- */

static const struct {
    const char *chain;
    bool chooses; /* a.b */
} choices[] = {
    {"[]", false},
    {"[{\"document\":\"d\"},{\"component\":\"node\",\"node\":\"n\",\"config\":{\"tool\":\"a.b\"}}]", false},
    {"[{\"document\":\"d\"},{\"component\":\"node\",\"node\":\"n\",\"effects\":[\"calls.tool\"]}]", true},
    /* A pattern does not choose each tool that it matches. */
    {"[{\"document\":\"d\"},{\"component\":\"node\",\"node\":\"n\",\"config\":{\"tools\":[\"a.*\"]}}]", true},
    /* By another node, whose configuration it writes. */
    {"[{\"component\":\"node\",\"node\":\"n\"},{\"component\":\"node\",\"config\":{\"tool\":\"a.b\"}}]", true},
    /* A tool is judged by its own effects, unless it only passes calls on. */
    {"[{\"component\":\"node\",\"node\":\"n\"},{\"component\":\"tool\",\"effects\":[\"calls.tool\"]}]", false},
    {"[{\"component\":\"node\",\"node\":\"n\"},{\"component\":\"tool\",\"effects\":[\"calls.any\"]}]", true},
};

static void test_choices(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(choices); i++) {
        struct chain chain;
        chain_init(&chain, choices[i].chain);
        if (authority_chooses_tool(chain.innermost, "a.b") != choices[i].chooses)
            fail_msg("row %zu: %s", i, choices[i].chain);
        chain_finish(&chain);
    }
}

/* ---- What surrounds a document that is opened by its path ---- */

static void test_around_document(void **state) {
    (void)state;
    struct chain chain;
    /* The user has named it: only the documents around it that limit tools count. */
    chain_init(&chain, "[{\"document\":\"d\",\"tools\":[]},{\"component\":\"node\",\"config\":{\"document\":\"a\"}}]");
    assert_ptr_equal(authority_around_document(chain.innermost, "a"), chain.innermost->outer);
    assert_ptr_equal(authority_around_document(chain.innermost, "b"), chain.innermost);
    chain_finish(&chain);
    chain_init(&chain, "[{\"document\":\"d\"},{\"component\":\"node\",\"config\":{\"document\":\"a\"}}]");
    assert_null(authority_around_document(chain.innermost, "a"));
    chain_finish(&chain);
    /* A budget counts, too. */
    chain_init(&chain, "[{\"document\":\"d\",\"budget\":{\"steps\":1}},{\"component\":\"node\",\"config\":{"
                       "\"document\":\"a\"}}]");
    assert_ptr_equal(authority_around_document(chain.innermost, "a"), chain.innermost->outer);
    chain_finish(&chain);
    /* A component has made the document that names it. */
    chain_init(&chain, "[{\"component\":\"node\",\"effects\":[]},{\"document\":\"made\"},{\"component\":\"node\","
                       "\"config\":{\"document\":\"a\"}}]");
    assert_ptr_equal(authority_around_document(chain.innermost, "a"), chain.innermost);
    chain_finish(&chain);
}

/* ---- What documents count ---- */

static const struct {
    const char *chain;
    const char *document, *limit; /* of the nearest one that counts; NULL: none does */
    uint32_t documents;
} counting[] = {
    {"[]", NULL, NULL, 0},
    {"[{\"document\":\"d\"},{\"component\":\"node\"}]", NULL, NULL, 1},
    {"[{\"document\":\"d\",\"tools\":[{\"name\":\"a.b\",\"timeout\":1}]},{\"component\":\"node\"}]", NULL, NULL, 1},
    {"[{\"document\":\"d\",\"budget\":{}}]", NULL, NULL, 1},
    {"[{\"document\":\"d\",\"budget\":{\"tokens\":5}},{\"component\":\"node\"}]", "d", "`budget`", 1},
    {"[{\"document\":\"d\",\"tools\":[{\"name\":\"a\"},{\"name\":\"b.*\",\"max_calls\":2}]}]", "d",
     "`max_calls` of the tool `b.*`", 1},
    {"[{\"document\":\"d\",\"budget\":{\"steps\":5}},{\"component\":\"node\"},{\"document\":\"e\"},{\"component\":"
     "\"tool\"}]",
     "d", "`budget`", 2},
    {"[{\"document\":\"d\",\"budget\":{\"steps\":5}},{\"document\":\"e\",\"budget\":{\"cost\":1}}]", "e", "`budget`",
     2},
    {"[{\"component\":\"plugin\"}]", NULL, NULL, 0},
};

static void test_counting_documents(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(counting); i++) {
        struct chain chain;
        tn_value limit = NULL;
        chain_init(&chain, counting[i].chain);
        const struct authority *found = authority_counting_document(chain.innermost, &limit);
        if (!found != !counting[i].document) fail_msg("row %zu: %s", i, counting[i].chain);
        if (found) {
            assert_string_equal(found->name, counting[i].document);
            assert_string_equal(value_chars(limit, NULL), counting[i].limit);
        } else {
            assert_null(limit);
        }
        assert_int_equal(authority_document_count(chain.innermost), counting[i].documents);
        value_unref(limit);
        chain_finish(&chain);
    }
}

static void test_from_text(void **state) {
    (void)state;
    struct chain chain;
    chain_init(&chain, "[{\"document\":\"t\",\"from_text\":true},{\"component\":\"node\"},{\"document\":\"e\"},"
                       "{\"component\":\"tool\"}]");
    assert_true(authority_is_from_text(chain.innermost));
    assert_ptr_equal(authority_document(chain.innermost), chain.innermost->outer);
    assert_ptr_equal(authority_document(chain.innermost->outer), chain.innermost->outer);
    chain_finish(&chain);
    chain_init(&chain, "[{\"document\":\"t\"},{\"component\":\"node\"}]");
    assert_false(authority_is_from_text(chain.innermost));
    chain_finish(&chain);
    assert_false(authority_is_from_text(NULL));
    assert_null(authority_document(NULL));
}

/* ---- The chain, for people ---- */

static void test_chain_text(void **state) {
    (void)state;
    struct chain chain;
    chain_init(&chain, "[{\"document\":\"pay\"},{\"component\":\"node\",\"node\":\"a\"},{\"document\":\"inner\"},"
                       "{\"component\":\"node\",\"node\":\"b\"},{\"component\":\"tool\"}]");
    tn_value text = authority_chain_text(chain.innermost);
    assert_string_equal(value_chars(text, NULL),
                        "`c4` of plugin `p4`, for c3 `b` of document `inner`, for c1 `a` of document `pay`");
    value_unref(text);
    tn_value list = authority_chain(chain.innermost);
    char *json = json_text(list, JSON_COMPACT);
    assert_string_equal(json, "[{\"kind\":\"tool\",\"id\":\"c4\",\"plugin\":\"p4\"},"
                              "{\"kind\":\"node\",\"id\":\"c3\",\"plugin\":\"p3\",\"node\":\"b\"},"
                              "{\"kind\":\"document\",\"name\":\"inner\"},"
                              "{\"kind\":\"node\",\"id\":\"c1\",\"plugin\":\"p1\",\"node\":\"a\"},"
                              "{\"kind\":\"document\",\"name\":\"pay\"}]");
    mem_free(json);
    value_unref(list);
    chain_finish(&chain);
    chain_init(&chain, "[{\"component\":\"plugin\"},{\"document\":\"made\"},{\"component\":\"node\"}]");
    text = authority_chain_text(chain.innermost);
    assert_string_equal(value_chars(text, NULL), "`c2` of plugin `p2` of document `made`, for plugin `p0`");
    value_unref(text);
    text = authority_component_text(&chain.infos[2]);
    assert_string_equal(value_chars(text, NULL), "node `c2` of plugin `p2`");
    value_unref(text);
    chain_finish(&chain);
    text = authority_chain_text(NULL);
    assert_string_equal(value_chars(text, NULL), "");
    value_unref(text);
}

/* ---- Effects ---- */

static const struct {
    const char *wide, *narrow;
    bool covers;
} covers[] = {
    {"process.spawn", "process.spawn", true},
    {"process.spawn", "process", false},
    {"process", "process.spawn", false},
    {"process.spawn", "process.spawner", false},
    {"process.spawner", "process.spawn", false},
    {"unknown", "process.spawn", true},
    {"unknown", "unknown", true},
    {"process.spawn", "unknown", false},
    {"*", "process.spawn", false},
    {"", "process.spawn", false},
    {"process.spawn", "", false},
    /* Paths. */
    {"fs.read", "fs.read:/etc/passwd", true},
    {"fs.read:/srv", "fs.read", false},
    {"fs.read:/srv", "fs.read:/srv", true},
    {"fs.read:/srv", "fs.read:/srv/a/b", true},
    {"fs.read:/srv/", "fs.read:/srv/a", true},
    {"fs.read:/srv//", "fs.read:/srv/a", true},
    {"fs.read:/srv/", "fs.read:/srv", true},
    {"fs.read:/", "fs.read:/etc/passwd", true},
    {"fs.read:/srv", "fs.read:/srvx", false},
    {"fs.read:/srv/a", "fs.read:/srv", false},
    {"fs.read:/srv", "fs.write:/srv", false},
    {"fs.read:/srv", "fs.read:/srv/../etc/passwd", false},
    {"fs.read:/srv", "fs.read:/srv/a/../../etc", false},
    {"fs.read:/srv", "fs.read:/srv/..", false},
    {"fs.read:/srv", "fs.read:/srv/a/..", false},
    {"fs.read:srv", "fs.read:srv/../../etc", false},
    {"fs.read:data", "fs.read:/data", false},
    {"fs.read:/srv", "fs.read:srv", false},
    {"fs.read:", "fs.read:/etc", false},
    {"fs.read:.", "fs.read:../x", false},
    {"fs.read:/srv", "fs.read:/srv/..a", true},
    /* Hosts and ports. */
    {"network.http", "network.http:example.com", true},
    {"network.http:example.com", "network.http", false},
    {"network.http:example.com", "network.http:example.com", true},
    {"network.http:example.com", "network.http:example.com:8443", true},
    {"network.http:example.com:443", "network.http:example.com", false},
    {"network.http:example.com:443", "network.http:example.com:8443", false},
    {"network.http:example.com:443", "network.http:example.com:443", true},
    {"network.http:*.example.com", "network.http:api.example.com", true},
    {"network.http:*.example.com", "network.http:api.example.com:8443", true},
    {"network.http:*.example.com", "network.http:example.com.evil.net", false},
    {"network.http:*.example.com", "network.http:evilexample.com", false},
    {"network.http:example.com", "network.http:api.example.com", false},
    {"network.http:example.com", "network.http:*.example.com", false},
    {"network.http:example.com", "network.http:example.com.evil.net", false},
    {"net:raw", "network.http:example.com", true},
    {"net:raw", "network.http", true},
    {"network.http", "net:raw", false},
    {"net", "net:raw", true},
    {"net:raw", "net:other", false},
    /* Secrets: the name is exact. */
    {"secret", "secret:KEY", true},
    {"secret:KEY", "secret", false},
    {"secret:KEY", "secret:KEY", true},
    {"secret:KEY", "secret:KEY2", false},
    {"secret:K*", "secret:KEY", false},
    {"secret:*", "secret:KEY", false},
    /* Methods: patterns, also of the narrower one. */
    {"host.method", "host.method:thread/list", true},
    {"host.method:thread/*", "host.method:thread/list", true},
    {"host.method:thread/list", "host.method:thread/list", true},
    {"host.method:*", "host.method:thread/*", true},
    {"host.method:thread/*", "host.method:thread/l*", true},
    {"host.method:thread/*", "host.method:run/list", false},
    {"host.method:thread/*", "host.method:thread", false},
    {"host.method:thread/*", "host.method:*", false},
    {"host.method:thread/*", "host.method", false},
    {"host.method:thread/l*", "host.method:thread/*", false},
    {"host.method:*/list", "host.method:thread/*", false},
    {"host.method:thread/list", "host.method:thread/*", false},
    {"host.methods", "host.method:thread/list", false},
    {"destructive", "destructive:files", true},
    {"destructive:files", "destructive", false},
};

static void test_covers(void **state) {
    (void)state;
    size_t wrong = 0;
    for (size_t i = 0; i < COUNT(covers); i++) {
        if (effect_covers(covers[i].wide, covers[i].narrow) == covers[i].covers) continue;
        print_error("`%s` %s `%s`\n", covers[i].wide, covers[i].covers ? "should cover" : "should not cover",
                    covers[i].narrow);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

static const struct {
    const char *narrow, *wide, *missing; /* NULL: within */
} within[] = {
    {"[]", "[]", NULL},
    {"[]", "null", NULL},
    {"null", "[\"unknown\"]", ""},
    {"[\"clock\"]", "[]", "clock"},
    {"[\"clock\",\"random\"]", "[\"random\"]", "clock"},
    {"[\"calls.tool:x\",\"calls.any\",\"tool.call\",\"calls.approved\"]", "[]", NULL},
    {"[\"calls.model\"]", "[]", "calls.model"},
    {"[\"calls.model:m\"]", "[\"calls.model\"]", NULL},
    {"[\"calls.models\"]", "[]", NULL},
    {"[7]", "[]", "unknown"},
    {"[7]", "[\"unknown\"]", NULL},
    {"[\"clock\"]", "\"clock\"", "clock"},
    {"[\"clock\"]", "[7,\"clock\"]", NULL},
};

static void test_within(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(within); i++) {
        tn_value narrow = parse(within[i].narrow), wide = parse(within[i].wide);
        const char *missing;
        bool found = effects_within(narrow, wide, &missing);
        const char *expected = within[i].missing ? within[i].missing : "";
        if (found != !within[i].missing || strcmp(missing ? missing : "", expected) != 0)
            fail_msg("row %zu: %s within %s: missing %s", i, within[i].narrow, within[i].wide,
                     missing ? missing : "nothing");
        value_unref(narrow);
        value_unref(wide);
    }
}

/* Instances of a component that can start something depend on their caller. */
static void test_matters(void **state) {
    static const struct {
        const char *effects;
        bool matters;
    } rows[] = {{"[]", false},
                {"null", false},
                {"[\"fs.read\",7]", false},
                {"[\"calls.tool:x\"]", true},
                {"[\"document.run\"]", true},
                {"[\"clock\",\"host.method:run/start\"]", true},
                {"[\"host.method\"]", true},
                {"[\"host.methods\"]", false}};
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        tn_value effects = parse(rows[i].effects);
        const struct component_info info = {.effects = effects};
        if (authority_matters(&info) != rows[i].matters) fail_msg("%s", rows[i].effects);
        value_unref(effects);
    }
}

/* ---- Sessions ---- */

#define SESSION "{\"session\":{\"default\":\"fast\"},\"own\":[\"acp.a.*\"]}"

static void test_sessions(void **state) {
    static const struct {
        const char *chain, *tool;
        bool allowed;
    } tools[] = {
        {"[]", "acp.a.read", true}, /* the operator */
        {"[{\"document\":\"d\"}]", "acp.a.read", false},
        {"[{\"document\":\"d\"}]", "acpx.read", true},
        {"[" SESSION ",{\"document\":\"d\"}]", "acp.a.read", true},
        {"[" SESSION ",{\"document\":\"d\"}]", "acp.b.read", false},
        {"[" SESSION ",{\"document\":\"d\"}]", "files.read", true},
        {"[" SESSION ",{\"document\":\"d\",\"tools\":[{\"name\":\"files.*\"}]}]", "acp.a.read", false},
        {"[" SESSION ",{\"document\":\"d\",\"tools\":[{\"name\":\"acp.*\"}]},{\"component\":\"node\"}]", "acp.a.read",
         true},
        {"[{\"session\":{}},{\"document\":\"d\"}]", "acp.a.read", false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(tools); i++) {
        struct chain chain;
        chain_init(&chain, tools[i].chain);
        if (authority_allows_tool(chain.innermost, tools[i].tool) != tools[i].allowed)
            fail_msg("%s: %s", tools[i].chain, tools[i].tool);
        chain_finish(&chain);
    }
    struct chain chain;
    chain_init(&chain, "[" SESSION ",{\"document\":\"d\"},{\"component\":\"node\",\"config\":{\"document\":\"e\"}}]");
    assert_string_equal(authority_role(chain.innermost, "default"), "fast");
    assert_string_equal(authority_role(chain.innermost, "fast"), "fast");
    assert_string_equal(authority_role(NULL, "default"), "default");
    /* A document that the node opens is in the session, too; nobody made it, and messages do not name the session. */
    struct authority *around = authority_around_document(chain.innermost, "e");
    assert_non_null(around);
    assert_int_equal(around->kind, AUTHORITY_SESSION);
    struct authority *inner = authority_of_document(around, "e", NULL, false);
    assert_string_equal(authority_role(inner, "default"), "fast");
    assert_false(authority_is_made(inner));
    tn_value text = authority_chain_text(inner), frames = authority_chain(inner);
    assert_string_equal(value_chars(text, NULL), "document `e`");
    assert_int_equal(value_count(frames), 1);
    value_unref(text);
    value_unref(frames);
    authority_unref(inner);
    chain_finish(&chain);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_settings_of_models),
        cmocka_unit_test(test_nodes_of_documents),
        cmocka_unit_test(test_documents_narrow),
        cmocka_unit_test(test_grants),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_around_document),
        cmocka_unit_test(test_counting_documents),
        cmocka_unit_test(test_from_text),
        cmocka_unit_test(test_chain_text),
        cmocka_unit_test(test_sessions),
        cmocka_unit_test(test_matters),
        cmocka_unit_test(test_covers),
        cmocka_unit_test(test_within),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
