/*
 * command_tool_call.c - `tenon tool call`: calls a tool. command_tool_sent.c has it with --connect.
 *
 * The call is treated like a call from a model: its arguments are validated, the policy of tenon.yaml applies, and the
 * audit log records it. Approval is requested at the terminal; --yes approves in advance, but does not override `deny`.
 *
 * Questions of the tool itself are also asked at the terminal. With the answers, the call starts again from the
 * beginning, as an activation of a run does. The results of its nested calls are kept by path, so that they are not
 * executed again.
 */
#include "adl/document/catalog.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/loop.h"
#include "host/base/random.h"
#include "host/data/thread/thread_interrupts.h"
#include "host/engine/graph/run.h"
#include "host/engine/tool/approval.h"
#include "host/engine/tool/tool.h"
#include "host/engine/tool/tool_policy.h"
#include "host/engine/tool/tool_set.h"
#include "host/engine/tool/tool_use.h"
#include "host/engine/tool/tool_validate.h"
#include "host/plugin/call/call.h"
#include "host/plugin/registry/registry.h"
#include "host/program/approve.h"
#include "host/program/command.h"
#include "host/program/command_input.h"
#include "host/program/command_run.h"
#include "host/program/command_tool.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KEY_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._"

struct tool_call {
    struct host *host;
    const char *tool;
    struct approver approver;
    tn_value known;    /* {path: the recorded outcome of a nested call}, for call_ops.recall */
    tn_value key;      /* the idempotency key: the same for every attempt of the call */
    bool ended, waits; /* waits: a nested call has asked a question */
};

static void tool_call_on_ended(struct call *call) {
    struct tool_call *calling = call_owner(call);
    (void)call;
    calling->ended = true;
    loop_wake(host_loop(calling->host));
}

static bool tool_call_on_chunk(struct call *call, tn_value chunk) {
    char *text = json_text(chunk, JSON_COMPACT);
    (void)call;
    command_printf(stderr, "%s\n", text);
    mem_free(text);
    return true;
}

static bool tool_call_has_ended(void *user) { return ((const struct tool_call *)user)->ended; }

/* After a signal, the call is cancelled. */
static bool tool_call_is_done(void *user) { return tool_call_has_ended(user) || command_got_signal(); }

tn_value command_tool_arguments(const struct arguments *arguments) {
    struct error error = ERROR_INIT;
    tn_value value = operand_count(arguments) > 1
                         ? command_json(arguments, operand_at(arguments, 1), "the arguments", &error)
                         : NULL;
    if (!error.code) {
        tn_value whole = command_apply_set(arguments, value ? value : value_object(), "the arguments", &error);
        value_unref(value);
        value = whole;
    }
    if (error.code) command_warn_error(&error);
    error_finish(&error);
    return value;
}

/* The answer to the approval, a new reference; NULL without a terminal, at the end of its input, and after a signal. */
static tn_value tool_request_approval(struct approver *approver, const char *tool, tn_value payload, tn_value schema) {
    tn_value interrupt = value_set_take(value_object_reserve(4), "id", value_text("use"));
    interrupt = value_set_take(interrupt, "node", value_text(tool));
    interrupt = value_set_take(interrupt, "payload", payload ? value_ref(payload) : value_null());
    if (schema) interrupt = value_set_take(interrupt, "schema", value_ref(schema));
    tn_value list = value_push_take(value_array(), interrupt), answers = approver_prompt(approver, list);
    tn_value answer = answers ? value_ref(value_get(answers, "use")) : NULL;
    value_unref(answers);
    value_unref(list);
    return answer;
}

int command_tool_approve(struct approver *approver, const char *tool, tn_value payload, tn_value schema,
                         tn_value *given) {
    tn_value answer = tool_request_approval(approver, tool, payload, schema), changed = value_get(answer, "arguments");
    int code = COMMAND_OK;
    if (!answer && command_got_signal()) {
        code = command_report(COMMAND_CANCELLED, "`%s` was not called: its approval was cancelled", tool);
    } else if (!answer) {
        code = command_report(COMMAND_WAITING, "`%s` needs approval (%s); approve it with --yes or at a terminal", tool,
                              command_text(payload, "why", ""));
    } else if (value_get(answer, "approved") != value_bool(true)) {
        code = command_report(COMMAND_RUN_FAILED, "not called");
    } else if (changed) {
        value_unref(*given);
        *given = value_ref(changed);
    }
    value_unref(answer);
    return code;
}

/*
 * Validates and approves the call. Returns COMMAND_OK if the tool may be called with *given, which the answer can have
 * replaced; otherwise prints an error and returns the exit code.
 */
static int tool_check_call(const struct arguments *arguments, struct tool_call *calling,
                           const struct component_info *info, tn_value *given, bool *approved) {
    struct tool_policy policy;
    struct error error = ERROR_INIT;
    int code = COMMAND_OK;
    tool_policy_chosen(host_engine(calling->host), NULL, info, &policy);
    *approved = argument_given(arguments, "yes");
    if (policy.approval == TOOL_DENY) {
        code = COMMAND_OK; /* the tool kernel refuses and logs it, before the arguments are validated */
    } else if (tool_validate(info->input, *given, TOOL_ARGUMENTS, info->id, &error) != TN_OK) {
        code = command_report_error(COMMAND_USAGE, &error);
    } else if (policy.approval == TOOL_ASK && !*approved) {
        tn_value payload = tool_question(info, NULL, &policy, *given), schema = tool_answer_schema(info);
        code = command_tool_approve(&calling->approver, info->id, payload, schema, given);
        *approved = code == COMMAND_OK;
        value_unref(payload);
        value_unref(schema);
    }
    error_finish(&error);
    tool_policy_finish(&policy);
    return code;
}

/* ---- Questions of the tool ---- */

static tn_value tool_call_recall(struct call *call, const char *path, struct callable *callee) {
    const struct tool_call *calling = call_owner(call);
    tn_value entry = value_get(calling->known, path);
    if (entry && value_get(entry, "input") && !approval_is_for(entry, callee)) return NULL; /* for another callee */
    return entry ? value_ref(entry) : NULL;
}

static bool tool_call_record(struct call *call, const char *path, struct call *ended) {
    struct tool_call *calling = call_owner(call);
    enum call_outcome outcome = call_outcome(ended);
    const struct error *error = outcome == CALL_FAILED ? call_error(ended) : NULL;
    tn_value output = call_output(ended), entry = value_object_reserve(1);
    if (outcome == CALL_COMPLETED)
        entry = value_set_take(entry, "output", output ? value_ref(output) : value_null());
    else if (outcome == CALL_INTERRUPTED)
        entry = approval_keep_callee_take(value_set_take(entry, "asked", value_ref(call_interrupt_value(ended))),
                                          value_get(calling->known, path), call_callable(ended));
    else if (error && error->code && strcmp(error->code, "INTERRUPTED") != 0)
        entry = value_set_take(entry, "error", error_to_value(error));
    if (value_count(entry))
        calling->known = value_set_take(calling->known, path, entry);
    else
        value_unref(entry);
    calling->waits |= outcome == CALL_INTERRUPTED;
    return outcome == CALL_INTERRUPTED;
}

static tn_value tool_call_context(struct call *call) {
    const struct tool_call *calling = call_owner(call);
    tn_value object = value_set_take(value_object_reserve(2), "task_id", value_ref(calling->key));
    return value_set_take(object, "now", value_int(loop_wall_ms(host_loop(calling->host))));
}

/* The open questions, in the form of run_interrupts. A nested graph contributes all of its interrupts. */
static tn_value tool_call_interrupts(const struct tool_call *calling) {
    tn_value list = value_array();
    for (size_t i = 0; i < value_count(calling->known); i++) {
        tn_value asked = value_get(value_value_at(calling->known, i), "asked"), inside = value_get(asked, "interrupts");
        tn_value schema = value_get(asked, "schema"), payload = value_get(asked, "payload");
        if (inside) list = value_concat_take(list, value_ref(inside));
        if (inside || !asked) continue;
        tn_value entry = value_set_take(value_object_reserve(4), "id", value_ref(value_key_at(calling->known, i)));
        entry = value_set_take(entry, "node", value_text(calling->tool));
        entry = value_set_take(entry, "payload", payload ? value_ref(payload) : value_null());
        if (schema) entry = value_set_take(entry, "schema", value_ref(schema));
        list = value_push_take(list, entry);
    }
    return list;
}

/* Stores the input with which each nested call that asked a question starts again. */
static void tool_call_set_answers(struct tool_call *calling, tn_value answers) {
    for (size_t i = 0; i < value_count(calling->known); i++) {
        tn_value path = value_key_at(calling->known, i), asked = value_get(value_value_at(calling->known, i), "asked");
        tn_value saved = value_get(asked, "saved"), continuation = value_get(asked, "continuation");
        tn_value answer = value_get_key(answers, path), input = value_object_reserve(2);
        if (saved) {
            input = value_set_take(input, "saved", value_ref(saved));
            input = value_set_take(input, "answers", value_ref(answers));
        } else if (asked && answer) {
            input = value_set_take(input, "continuation", continuation ? value_ref(continuation) : value_null());
            input = value_set_take(input, "answer", value_ref(answer));
        }
        tn_value by = value_get(value_value_at(calling->known, i), "by");
        tn_value entry = value_set_take(value_object_reserve(2), "input", input);
        if (by) entry = value_set_take(entry, "by", value_ref(by));
        if (value_count(input))
            calling->known = value_set_key_take(calling->known, value_ref(path), entry);
        else
            value_unref(entry);
    }
}

/* Asks the open questions. Returns COMMAND_OK if they were answered and the call can be repeated. */
static int tool_call_answer(struct tool_call *calling) {
    struct error error = ERROR_INIT;
    tn_value waits = tool_call_interrupts(calling), answers = approver_prompt(&calling->approver, waits);
    while (answers && thread_interrupts_check(waits, answers, &error) != TN_OK) {
        command_warn_error(&error);
        error_finish(&error);
        value_unref(answers);
        answers = approver_prompt(&calling->approver, waits);
    }
    int code = answers ? COMMAND_OK : command_got_signal() ? COMMAND_CANCELLED : COMMAND_WAITING;
    if (answers) {
        tool_call_set_answers(calling, answers);
    } else {
        char *text = json_text(waits, JSON_COMPACT);
        command_warn("`%s` waits for answers: %s. Call it at a terminal to answer, or from a node of a document that "
                     "runs with `tenon run FILE --thread THREAD`, and answer with `tenon thread answer`",
                     calling->tool, text);
        mem_free(text);
    }
    value_unref(answers);
    value_unref(waits);
    return code;
}

/*
 * Calls the tool once. Returns COMMAND_OK if the call ended or asked a question; *out is then the call, which the
 * caller frees. Otherwise prints an error; *out is NULL.
 */
static int tool_call_once(struct tool_call *calling, struct callable *set, tn_value request, struct call **out) {
    static const struct call_ops ops = {.ended = tool_call_on_ended,
                                        .chunk = tool_call_on_chunk,
                                        .context = tool_call_context,
                                        .recall = tool_call_recall,
                                        .record = tool_call_record};
    struct call *call = call_new(host_loop(calling->host), set, &ops, calling);
    *out = NULL;
    calling->waits = false;
    calling->ended = call_start(call, request);
    if (!calling->ended && loop_run(host_loop(calling->host), tool_call_is_done, calling) && !calling->ended) {
        call_cancel(call);
        loop_run(host_loop(calling->host), tool_call_has_ended, calling);
    }
    if (!calling->ended) /* the loop still owns the call and frees it with the host */
        return command_report(command_got_signal() ? COMMAND_CANCELLED : COMMAND_RUN_FAILED, "the tool did not end");
    *out = call;
    return COMMAND_OK;
}

static int tool_call_run(struct tool_call *calling, struct callable *set, tn_value request, bool json) {
    struct call *call;
    int code = tool_call_once(calling, set, request, &call);
    while (code == COMMAND_OK && calling->waits && call_outcome(call) != CALL_CANCELLED) {
        code = tool_call_answer(calling);
        if (code != COMMAND_OK) break;
        call_free(call);
        code = tool_call_once(calling, set, request, &call);
    }
    if (code != COMMAND_OK) {
        call_free(call);
        return code;
    }
    tn_value output = call_output(call);
    if (call_outcome(call) != CALL_COMPLETED)
        code = command_report_error(command_got_signal() ? COMMAND_CANCELLED : COMMAND_RUN_FAILED, call_error(call));
    else if (!json && output && value_is(output, TN_STRING))
        command_put_line(output);
    else
        command_print(output ? output : value_null());
    call_free(call);
    return code;
}

/* The key of --idempotency-key, or a new one. If the option is malformed, prints an error and returns NULL. */
static tn_value tool_read_key(const struct arguments *arguments) {
    const char *given = argument_text(arguments, "idempotency-key");
    uint64_t random[2];
    if (given) {
        size_t length = strlen(given);
        if (length && length <= CALL_ID_ROOT_MAX && strspn(given, KEY_CHARACTERS) == length) return value_text(given);
        command_warn("--idempotency-key: found `%.100s`, expected 1 to %u letters, digits, `-`, `.` and `_`", given,
                     CALL_ID_ROOT_MAX);
        return NULL;
    }
    random_fill(random, sizeof random);
    return value_format("%016" PRIx64 "%016" PRIx64, random[0], random[1]);
}

int command_tool_call(const struct arguments *arguments) {
    if (argument_given(arguments, "connect")) return command_tool_call_sent(arguments);
    struct component *component;
    struct error error = ERROR_INIT;
    struct callable *set = NULL;
    int code;
    bool approved = false;
    struct host *host = command_tool_open(arguments, &component, &code);
    if (!host) return code;
    struct tool_call call_state = {
        .host = host, .tool = component->info->id, .known = value_object(), .key = tool_read_key(arguments)};
    tn_value given = command_tool_arguments(arguments), name = value_text(component->info->id);
    tn_value names = value_push_take(value_array(), value_ref(name));
    approver_init(&call_state.approver);
    command_watch_signals(host);
    code = given && call_state.key ? tool_check_call(arguments, &call_state, component->info, &given, &approved)
                                   : COMMAND_USAGE;
    if (code == COMMAND_OK && tool_set_new(host_engine(host), NULL, names, &set, &error) != TN_OK)
        code = command_report_error(COMMAND_PLUGIN_PROBLEM, &error);
    if (code == COMMAND_OK) {
        tn_value request = value_set_take(value_object_reserve(3), "name", value_ref(name));
        request = value_set_take(request, "arguments", value_ref(given));
        request = value_set_take(request, "approved", value_bool(approved));
        code = tool_call_run(&call_state, set, request, argument_given(arguments, "json"));
        value_unref(request);
    }
    error_finish(&error);
    callable_unref(set);
    value_unref(names);
    value_unref(name);
    value_unref(given);
    host_free(host);
    approver_finish(&call_state.approver);
    value_unref(call_state.known);
    value_unref(call_state.key);
    return code;
}
