/*
 * command_tool_sent.c - `tenon tool call --connect`: calls a tool in the host that runs.
 *
 * The host validates and logs the call, and answers APPROVAL_NEEDED with the question, which is then asked here. What
 * the method tool/call does not have is refused: questions of the tool itself, and the idempotency key.
 */
#include "adl/value/memory.h"
#include "host/program/approve.h"
#include "host/program/command.h"
#include "host/program/command_tool.h"
#include "host/program/method_caller.h"
#include <string.h>

struct sent_call {
    const struct arguments *arguments; /* of the command */
    struct method_caller *caller;
    struct approver approver;
    tn_value tool; /* its name */
};

static bool sent_stop_requested(void) { return command_got_sigint() || command_got_sigterm(); }

/* Finds the tool, before the arguments are read. */
static int sent_find_tool(struct sent_call *sent) {
    const char *name = operand_at(sent->arguments, 0);
    struct error error = ERROR_INIT;
    tn_value params = value_set_take(value_object_reserve(1), "tool", value_string_lossy(name, strlen(name)));
    tn_value row = NULL;
    int code = COMMAND_OK;
    if (method_caller_try_take(sent->caller, "tool/show", params, &row, &error) != TN_OK) {
        bool unknown = strcmp(error.code, "TOOL_NOT_FOUND") == 0 || strcmp(error.code, "INVALID_INPUT") == 0;
        code = method_caller_report(unknown ? COMMAND_USAGE : COMMAND_PLUGIN_PROBLEM, &error);
    } else {
        sent->tool = value_ref(value_get(row, "tool_name"));
    }
    value_unref(row);
    error_finish(&error);
    return code;
}

static int32_t sent_call_tool(const struct sent_call *sent, tn_value given, bool approved, tn_value *result,
                              struct error *error) {
    tn_value params = value_set_take(value_object_reserve(3), "tool", value_ref(sent->tool));
    params = value_set_take(params, "arguments", value_ref(given));
    params = value_set_take(params, "approved", value_bool(approved));
    return method_caller_try_take(sent->caller, "tool/call", params, result, error);
}

/* Asks for the approval that the error requests. Returns the answer, a new reference, or NULL. */
static tn_value sent_request_approval(struct sent_call *sent, tn_value detail) {
    tn_value interrupt = value_set_take(value_object_reserve(4), "id", value_text("use")), list = value_array();
    tn_value payload = value_get(detail, "payload"), schema = value_get(detail, "schema");
    interrupt = value_set_take(interrupt, "node", value_ref(sent->tool));
    interrupt = value_set_take(interrupt, "payload", payload ? value_ref(payload) : value_null());
    if (schema) interrupt = value_set_take(interrupt, "schema", value_ref(schema));
    list = value_push_take(list, interrupt);
    tn_value answers = approver_prompt(&sent->approver, list);
    tn_value answer = answers ? value_ref(value_get(answers, "use")) : NULL;
    value_unref(answers);
    value_unref(list);
    return answer;
}

/* Asks, and replaces *given if the answer does. Returns COMMAND_OK if the call is approved. */
static int sent_approve(struct sent_call *sent, tn_value detail, tn_value *given) {
    const char *tool = value_chars(sent->tool, NULL);
    tn_value answer = sent_request_approval(sent, detail), changed = value_get(answer, "arguments");
    int code = COMMAND_OK;
    if (!answer && sent_stop_requested())
        code = command_report(COMMAND_CANCELLED, "`%s` was not called: its approval was cancelled", tool);
    else if (!answer)
        code = command_report(COMMAND_WAITING, "`%s` needs approval (%s); approve it with --yes or at a terminal", tool,
                              command_text(value_get(detail, "payload"), "why", ""));
    else if (value_get(answer, "approved") != value_bool(true))
        code = command_report(COMMAND_RUN_FAILED, "not called");
    else if (changed) {
        value_unref(*given);
        *given = value_ref(changed);
    }
    value_unref(answer);
    return code;
}

static void sent_print(const struct sent_call *sent, tn_value result) {
    tn_value output = value_get(result, "output");
    if (!argument_given(sent->arguments, "json") && output && value_is(output, TN_STRING))
        command_put_line(output);
    else
        command_print(output ? output : value_null());
}

/* `given` is replaced by what a person has changed. */
static int sent_run(struct sent_call *sent, tn_value *given) {
    struct error error = ERROR_INIT;
    bool approved = argument_given(sent->arguments, "yes");
    tn_value result = NULL;
    int code = COMMAND_OK;
    int32_t status = sent_call_tool(sent, *given, approved, &result, &error);
    if (status != TN_OK && strcmp(error.code, "APPROVAL_NEEDED") == 0 && !approved) {
        code = sent_approve(sent, value_get(error.more, "detail"), given);
        error_finish(&error);
        if (!code) status = sent_call_tool(sent, *given, true, &result, &error);
    }
    if (!code && status == TN_OK)
        sent_print(sent, result);
    else if (!code)
        code = command_report_error(method_caller_exit_code(&error), &error);
    value_unref(result);
    error_finish(&error);
    return code;
}

int command_tool_call_sent(const struct arguments *arguments) {
    if (argument_given(arguments, "idempotency-key"))
        return command_report(COMMAND_USAGE, "--idempotency-key cannot be used with --connect: the running host makes "
                                             "the key of each call");
    struct sent_call sent = {.arguments = arguments};
    int code = method_caller_open(&sent.caller, arguments, NULL, NULL);
    if (!code) code = sent_find_tool(&sent);
    tn_value given = code ? NULL : command_tool_arguments(arguments);
    if (!code && !given) code = COMMAND_USAGE;
    if (!code) {
        approver_init(&sent.approver);
        method_caller_watch_signals(sent.caller);
        code = sent_run(&sent, &given);
        approver_finish(&sent.approver);
    }
    value_unref(given);
    value_unref(sent.tool);
    method_caller_free(sent.caller);
    return code;
}
