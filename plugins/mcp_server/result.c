/*
 * result.c - results of runs and tools as results of MCP.
 *
 * A run that fails is a result with isError, because a model should see the reason; failures of prompts and resources
 * are errors of the protocol.
 */
#include "result.h"
#include <tenon/base64.h>

tn_value result_of_error(tn_value error) {
    char text[1200];
    (void)snprintf(text, sizeof text, "%.100s: %.1000s", tn_get_text(error, "code", "FAILED"),
                   tn_get_text(error, "message", "the run has failed"));
    return tn_build("{s:[{s:s, s:V}], s:b}", "content", "type", "text", "text", tn_text_lossy(text, strlen(text)),
                    "isError", 1);
}

static tn_value text_content(tn_value text) { return tn_build("[{s:s, s:v}]", "type", "text", "text", text); }

static bool is_done(tn_value report) { return serving_is(tn_get(report, "status"), "done"); }

/* The error of a run that did not end well; a new reference. */
static tn_value report_error(tn_value report) {
    tn_value error = tn_get(report, "error");
    char text[64];
    if (error != NULL) return tn_retain(error);
    (void)snprintf(text, sizeof text, "the run has ended as `%.20s`", tn_get_text(report, "status", "failed"));
    return tn_error("FAILED", text);
}

static tn_value problem_of_report(tn_value report, struct problem *problem) {
    tn_value error = report_error(report);
    bool ours = serving_is(tn_get(error, "code"), "INVALID_INPUT") || serving_is(tn_get(error, "code"), "NOT_FOUND");
    (void)problem_set(problem, 200, ours ? MCPS_INVALID_PARAMS : MCPS_INTERNAL, "%.100s: %.200s",
                      tn_get_text(error, "code", "FAILED"), tn_get_text(error, "message", "the run has failed"));
    tn_release(error);
    return NULL;
}

/* ---- Content of messages ---- */

static tn_value bytes_text(tn_value data) { /* base64 as it is, or of bytes */
    uint64_t length = 0;
    const void *bytes = tn.value->as_bytes(data, &length);
    if (bytes == NULL) return tn_retain(data);
    char *text = serving_alloc(TN_BASE64_SIZE(length) + 1);
    if (text == NULL) return NULL;
    tn_value made = tn_text_n(text, (uint64_t)(tn_base64_put(text, bytes, length) - text));
    serving_free(text);
    return made;
}

static tn_value part_content(tn_value part) {
    const char *type = tn_get_text(part, "type", ""), *url = tn_get_text(part, "url", NULL);
    tn_value data = tn_get(part, "data");
    bool image = strcmp(type, "image") == 0, audio = strcmp(type, "audio") == 0;
    if (strcmp(type, "text") == 0 || strcmp(type, "refusal") == 0)
        return tn_build("{s:s, s:v}", "type", "text", "text", tn_get(part, "text"));
    if ((image || audio) && data != NULL)
        return tn_build("{s:s, s:V, s:s}", "type", type, "data", bytes_text(data), "mimeType",
                        tn_get_text(part, "media_type", image ? "image/png" : "audio/wav"));
    if (url != NULL && (image || strcmp(type, "file") == 0 || strcmp(type, "source") == 0))
        return tn_build("{s:s, s:s, s:s, s:s*}", "type", "resource_link", "uri", url, "name",
                        tn_get_text(part, "name", tn_get_text(part, "title", url)), "mimeType",
                        tn_get_text(part, "media_type", NULL));
    return NULL;
}

/* The content of the last message of the assistant, or NULL. */
static tn_value messages_content(tn_value messages) {
    tn_value content = NULL, last = NULL;
    for (uint64_t i = tn.value->count(messages); last == NULL && i-- > 0;) {
        tn_value message = tn.value->at(messages, i);
        if (serving_is(tn_get(message, "type"), "ai") || serving_is(tn_get(message, "role"), "assistant"))
            last = tn_get(message, "content");
    }
    if (tn_chars(last, NULL) != NULL) return text_content(last);
    for (uint64_t i = 0, count = tn.value->count(last); i < count; i++) {
        tn_value one = part_content(tn.value->at(last, i));
        if (one != NULL) (void)tn_append_take(&content, one);
    }
    return content;
}

/* ---- Tools ---- */

static tn_value declared_result(tn_value report, const char *member, struct problem *problem) {
    tn_value result = tn_get(tn_get(report, "state"), "mcp_result");
    if (value_is_object(result) && value_is_array(tn_get(result, member))) return tn_retain(result);
    (void)problem_set(problem, 200, MCPS_INTERNAL,
                      "the graph must write an object with the array `%s` to its channel `mcp_result`", member);
    return NULL;
}

static tn_value graph_result(tn_value entry, tn_value state) {
    struct serving_graph graph;
    serving_graph_read(tn_get(entry, "graph"), &graph);
    tn_value content = graph.input == SERVING_MESSAGES ? messages_content(tn_get(state, graph.channel)) : NULL;
    tn_value text = content == NULL ? serving_result_text(&graph, state) : NULL;
    if (content == NULL) content = text != NULL ? text_content(text) : tn_build("[]");
    tn_release(text);
    bool structured = tn_get(tn_get(entry, "shown"), "outputSchema") != NULL;
    return tn_build("{s:V, s:v*}", "content", content, "structuredContent", structured ? state : NULL);
}

tn_value result_of_tool(tn_value entry, tn_value report, struct problem *problem) {
    tn_value state = tn_get(report, "state");
    if (!is_done(report)) {
        tn_value error = report_error(report), result = result_of_error(error);
        tn_release(error);
        return result;
    }
    bool writes = value_is_object(tn_get(state, "mcp_result"));
    if (writes || serving_true(tn_get(entry, "declared"))) return declared_result(report, "content", problem);
    return graph_result(entry, state);
}

tn_value result_of_output(tn_value output, bool structured) {
    bool text = tn_chars(output, NULL) != NULL;
    tn_value shown = text ? tn_retain(output) : tn_to_json(output);
    tn_value result = tn_build("{s:[{s:s, s:v}], s:v*}", "content", "type", "text", "text", shown, "structuredContent",
                               structured && value_is_object(output) ? output : NULL);
    tn_release(shown);
    return result;
}

/* ---- Prompts and resources ---- */

tn_value result_of_prompt(tn_value report, struct problem *problem) {
    if (!is_done(report)) return problem_of_report(report, problem);
    return declared_result(report, "messages", problem);
}

tn_value result_of_resource(tn_value report, const char *uri, bool modern, struct problem *problem) {
    tn_value contents = tn_get(tn_get(tn_get(report, "state"), "mcp_result"), "contents");
    bool found = is_done(report) ? tn.value->count(contents) > 0 || !value_is_array(contents)
                                 : !serving_is(tn_get(tn_get(report, "error"), "code"), "NOT_FOUND");
    if (!found) {
        problem->data = tn_build("{s:s}", "uri", uri);
        (void)problem_set(problem, 200, modern ? MCPS_INVALID_PARAMS : MCPS_RESOURCE_NOT_FOUND,
                          "the resource `%.200s` does not exist", uri);
        return NULL;
    }
    return is_done(report) ? declared_result(report, "contents", problem) : problem_of_report(report, problem);
}

tn_value result_of_artifact(tn_value artifact, const char *uri) {
    tn_value body = tn_get(artifact, "body"), encoded = tn_get(body, "$bytes");
    const char *type = tn_get_text(artifact, "media_type", NULL);
    if (tn_chars(body, NULL) != NULL)
        return tn_build("{s:[{s:s, s:s*, s:v}]}", "contents", "uri", uri, "mimeType", type, "text", body);
    return tn_build("{s:[{s:s, s:s*, s:V}]}", "contents", "uri", uri, "mimeType", type, "blob",
                    encoded != NULL ? tn_retain(encoded) : bytes_text(body));
}
