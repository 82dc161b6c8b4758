/*
 * tool_call.c - `tenon tool call`: a tool used by hand.
 *
 * A call goes the way of every other: its arguments are checked, tenon.yaml is heeded, it is noted in the audit log. It
 * is asked about as if a model had chosen it, at the terminal; --yes agrees beforehand, and lifts no `deny`.
 *
 * What the tool itself asks is put at the terminal as well. With the answers the call is made again from the top, as a
 * task of a run is: what calls inside of it have given by then is known by their paths, and not done again.
 */
#include "adl/document/catalog.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/call/call.h"
#include "host/command/approve.h"
#include "host/command/command.h"
#include "host/command/run.h"
#include "host/command/tool.h"
#include "host/engine/run.h"
#include "host/host.h"
#include "host/loop/loop.h"
#include "host/plugin/registry.h"
#include "host/tool/set.h"
#include "host/tool/use.h"
#include "host/tool/validate.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct calling {
    struct host *host;
    const char *tool;
    struct approver approver; /* whoever sits at the terminal */
    tn_value known;           /* {path: what is known of a call made for the tool}, as call_ops.recall has it */
    tn_value task_id;         /* the same whenever the call is made again; NULL before the first time */
    bool over, waits;         /* waits: a call inside has asked */
};

static void on_ended(struct call *call) {
    struct calling *calling = call_owner(call);
    (void)call;
    calling->over = true;
    loop_wake(calling->host->loop);
}

static bool on_chunk(struct call *call, tn_value chunk) {
    char *text = json_text(chunk, JSON_COMPACT);
    (void)call;
    command_say(stderr, "%s\n", text);
    mem_free(text);
    return true;
}

static bool has_ended(void *user) { return ((const struct calling *)user)->over; }

/* Ctrl-C, or SIGTERM: what was called is asked to end. */
static bool stopped(void) { return command_interrupted() || command_terminated(); }

static bool is_over(void *user) { return has_ended(user) || stopped(); }

/* The operand, and --set on top; NULL: said on standard error. */
static tn_value read_arguments(const struct arguments *arguments) {
    struct error error = ERROR_INIT;
    tn_value value =
        operand_count(arguments) > 1 ? command_json(operand_at(arguments, 1), "the arguments", &error) : NULL;
    if (!error.code) {
        tn_value whole = command_input_on(arguments, value ? value : value_object(), "the arguments", &error);
        value_unref(value);
        value = whole;
    }
    if (error.code) command_fail_error(0, &error);
    error_finish(&error);
    return value;
}

/* As the tool kernel asks in a run. NULL: nobody is there. */
static tn_value ask(struct calling *calling, const struct component_info *info, const struct tool_policy *policy,
                    tn_value given) {
    tn_value payload = tool_question(info, policy, given);
    tn_value interrupt = value_set_take(value_object_reserve(4), "id", value_text("use")), list = value_array();
    interrupt = value_set_take(interrupt, "node", value_text(info->id));
    interrupt = value_set_take(interrupt, "payload", payload);
    list = value_push_take(list, value_set_take(interrupt, "schema", tool_answer_schema(info)));
    tn_value answers = approver_ask(&calling->approver, list);
    tn_value answer = answers ? value_ref(value_get(answers, "use")) : NULL;
    value_unref(answers);
    value_unref(list);
    return answer;
}

/* COMMAND_OK: it may be called, with *given, which the answer may have changed. */
static int agree(const struct arguments *arguments, struct calling *calling, const struct component_info *info,
                 tn_value *given, bool *approved) {
    struct tool_policy policy;
    struct error error = ERROR_INIT;
    int code = COMMAND_OK;
    command_tool_policy(calling->host, info, &policy);
    *approved = argument_given(arguments, "yes");
    if (policy.approval == TOOL_DENY) {
        code = COMMAND_OK; /* refused, and noted, where every use is: before anything is said of its arguments */
    } else if (tool_validate(info->input, *given, TOOL_ARGUMENTS, info->id, &error) != TN_OK) {
        code = command_fail_error(COMMAND_USAGE, &error);
    } else if (policy.approval == TOOL_ASK && !*approved) {
        tn_value answer = ask(calling, info, &policy, *given), changed = value_get(answer, "arguments");
        *approved = value_get(answer, "approved") == value_bool(true);
        if (!answer)
            code = command_fail(COMMAND_WAITING, "`%s` may be called only when somebody agrees (%s); --yes does",
                                info->id, value_chars(policy.why, NULL));
        else if (!*approved)
            code = command_fail(COMMAND_RUN_FAILED, "not called");
        else if (changed) {
            value_unref(*given);
            *given = value_ref(changed);
        }
        value_unref(answer);
    }
    error_finish(&error);
    tool_policy_finish(&policy);
    return code;
}

/* ---- What is asked while it is called ---- */

static tn_value recall(struct call *call, const char *path, struct callable *callee) {
    const struct calling *calling = call_owner(call);
    tn_value entry = value_get(calling->known, path);
    (void)callee;
    return entry ? value_ref(entry) : NULL;
}

static bool record(struct call *call, const char *path, struct call *ended) {
    struct calling *calling = call_owner(call);
    enum call_outcome outcome = call_outcome(ended);
    const struct error *error = outcome == CALL_FAILED ? call_error(ended) : NULL;
    tn_value output = call_output(ended), entry = value_object_reserve(1);
    if (outcome == CALL_COMPLETED)
        entry = value_set_take(entry, "output", output ? value_ref(output) : value_null());
    else if (outcome == CALL_INTERRUPTED)
        entry = value_set_take(entry, "asked", value_ref(call_interrupt_value(ended)));
    else if (error && error->code && strcmp(error->code, "INTERRUPTED") != 0)
        entry = value_set_take(entry, "error", error_to_value(error));
    if (value_count(entry))
        calling->known = value_set_take(calling->known, path, entry);
    else
        value_unref(entry);
    calling->waits |= outcome == CALL_INTERRUPTED;
    return outcome == CALL_INTERRUPTED;
}

static tn_value context(struct call *call) {
    const struct calling *calling = call_owner(call);
    tn_value object = value_set_take(value_object_reserve(2), "task_id", value_ref(calling->task_id));
    return value_set_take(object, "now", value_int(loop_wall_ms(calling->host->loop)));
}

/* What is waited for, as run_interrupts has it; of a graph that is called, all that it waits for. */
static tn_value questions(const struct calling *calling) {
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

/* What each that has asked is started with again. */
static void give_answers(struct calling *calling, tn_value answers) {
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
        if (value_count(input))
            calling->known = value_set_key_take(calling->known, value_ref(path),
                                                value_set_take(value_object_reserve(1), "input", input));
        else
            value_unref(input);
    }
}

/* COMMAND_OK: answered, and the call is to be made again. */
static int answer(struct calling *calling) {
    struct error error = ERROR_INIT;
    tn_value waits = questions(calling), answers = approver_ask(&calling->approver, waits);
    while (answers && interrupts_check(waits, answers, &error) != TN_OK) {
        command_fail_error(0, &error);
        error_finish(&error);
        value_unref(answers);
        answers = approver_ask(&calling->approver, waits);
    }
    int code = answers ? COMMAND_OK : stopped() ? COMMAND_CANCELLED : COMMAND_WAITING;
    if (answers) {
        give_answers(calling, answers);
    } else {
        char *text = json_text(waits, JSON_COMPACT);
        command_fail(0,
                     "`%s` waits for answers, which have not been given: %s; call it at a terminal, or by a node of a "
                     "document that is run with `tenon run FILE --thread THREAD`, to answer with `tenon thread answer`",
                     calling->tool, text);
        mem_free(text);
    }
    value_unref(answers);
    value_unref(waits);
    return code;
}

/* COMMAND_OK: it has ended, or asked; else that was said. The call is the caller's in either case, or NULL. */
static int call_once(struct calling *calling, struct callable *set, tn_value request, struct call **out) {
    static const struct call_ops ops = {
        .ended = on_ended, .chunk = on_chunk, .context = context, .recall = recall, .record = record};
    struct call *call = call_new(calling->host->loop, set, &ops, calling);
    *out = NULL;
    if (!calling->task_id) calling->task_id = value_format("%016" PRIx64, call_token(call));
    calling->waits = false;
    calling->over = call_start(call, request);
    if (!calling->over && loop_run(calling->host->loop, is_over, calling) && !calling->over) {
        call_cancel(call); /* the end comes soon */
        loop_run(calling->host->loop, has_ended, calling);
    }
    if (!calling->over) /* the call belongs to the loop, which ends with the host */
        return command_fail(stopped() ? COMMAND_CANCELLED : COMMAND_RUN_FAILED, "the tool did not end");
    *out = call;
    return COMMAND_OK;
}

static int use(struct calling *calling, struct callable *set, tn_value request, bool json) {
    struct call *call;
    int code = call_once(calling, set, request, &call);
    while (code == COMMAND_OK && calling->waits && call_outcome(call) != CALL_CANCELLED) {
        code = answer(calling);
        if (code != COMMAND_OK) break;
        call_free(call);
        code = call_once(calling, set, request, &call);
    }
    if (code != COMMAND_OK) {
        call_free(call);
        return code;
    }
    tn_value output = call_output(call);
    if (call_outcome(call) != CALL_COMPLETED)
        code = command_fail_error(stopped() ? COMMAND_CANCELLED : COMMAND_RUN_FAILED, call_error(call));
    else if (!json && output && value_is(output, TN_STRING))
        puts(value_chars(output, NULL));
    else
        command_print(output ? output : value_null());
    call_free(call);
    return code;
}

int command_tool_call(const struct arguments *arguments) {
    struct component *component;
    struct error error = ERROR_INIT;
    struct callable *set = NULL;
    int code;
    bool approved = false;
    struct host *host = command_tool_open(arguments, &component, &code);
    if (!host) return code;
    struct calling calling = {.host = host, .tool = component->info->id, .known = value_object()};
    tn_value given = read_arguments(arguments), name = value_text(component->info->id);
    tn_value names = value_push_take(value_array(), value_ref(name));
    approver_init(&calling.approver);
    command_watch_signals(host);
    code = given ? agree(arguments, &calling, component->info, &given, &approved) : COMMAND_USAGE;
    if (code == COMMAND_OK && tool_set_new(host, NULL, names, &set, &error) != TN_OK)
        code = command_fail_error(COMMAND_PLUGIN_PROBLEM, &error);
    if (code == COMMAND_OK) {
        tn_value request = value_set_take(value_object_reserve(3), "name", value_ref(name));
        request = value_set_take(request, "arguments", value_ref(given));
        request = value_set_take(request, "approved", value_bool(approved));
        code = use(&calling, set, request, argument_given(arguments, "json"));
        value_unref(request);
    }
    error_finish(&error);
    callable_unref(set);
    value_unref(names);
    value_unref(name);
    value_unref(given);
    host_free(host);
    approver_finish(&calling.approver);
    value_unref(calling.known);
    value_unref(calling.task_id);
    return code;
}
