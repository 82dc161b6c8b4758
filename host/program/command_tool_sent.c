/*
 * command_tool_sent.c - `tenon tool call --connect`: calls a tool in the host that runs.
 *
 * The host validates and logs the call, and answers APPROVAL_NEEDED with the question, which is then asked here. What
 * the method tool/call does not have is refused: questions of the tool itself, and the idempotency key.
 */
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
        tn_value detail = value_get(error.more, "detail");
        code = command_tool_approve(&sent->approver, value_chars(sent->tool, NULL), value_get(detail, "payload"),
                                    value_get(detail, "schema"), given);
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
