/*
 * tool_use.c - one use of a tool, from its arguments to its result. README.md draws its states.
 *
 * A struct tool_use is the data of its call until the call ends. What must survive the process is in the interrupt that
 * requests approval. The tool's call is a child. If the tool itself interrupts, the use ends as INTERRUPTED and starts
 * again when the answer has come; the policy is not checked again, because it has allowed this use before.
 */
#include "host/engine/tool/tool_use.h"
#include "adl/schema/schema.h"
#include "adl/value/memory.h"
#include "adl/value/weight.h"
#include "host/base/config/config.h"
#include "host/base/loop.h"
#include "host/base/secrets/secrets.h"
#include "host/base/time_text.h"
#include "host/engine/engine.h"
#include "host/engine/tool/approval.h"
#include "host/engine/tool/tool.h"
#include "host/engine/tool/tool_audit.h"
#include "host/engine/tool/tool_gate.h"
#include "host/engine/tool/tool_validate.h"
#include "host/plugin/call/authority.h"
#include "host/plugin/call/call.h"
#include "host/plugin/call/instance.h"
#include "host/plugin/registry/registry.h"
#include <stddef.h>
#include <string.h>
#include <tenon/util/tool_pattern.h>

struct tool_use {
    struct tool_ticket ticket;
    struct call *call;
    uint64_t token;
    struct engine *engine;
    struct component *component;
    struct callable *instance;
    struct authority *caller;
    tn_value arguments;
    struct tool_policy policy;
    int64_t started_ms, called_ms; /* start of the use, and of the tool's call */
    bool entered;                  /* it has passed the gate; false if the tool has none */
    bool waits;                    /* the tool has interrupted: the use ends and will start again */
    const char *approved_by;       /* static: "answer" or "grant"; NULL if no approval was needed */
};

/* ---- The end ---- */

static void tool_use_free(struct tool_use *use) {
    if (use->ticket.gate) tools_leave(use->engine->tools, &use->ticket);
    callable_unref(use->instance);
    authority_unref(use->caller);
    value_unref(use->arguments);
    tool_policy_finish(&use->policy);
    mem_free(use);
}

/* Call this before the call ends. */
static void tool_use_detach(struct tool_use *use) {
    call_set_data(use->call, NULL);
    tool_use_free(use);
}

/* ---- The audit log ---- */

static tn_value audit_line_of(const struct tool_use *use, tn_value result, const struct error *failure) {
    static const char *const members[] = {"run_id", "thread_id", "runner_id", "task_id"};
    struct call *call = use->call;
    const struct component_info *info = use->component->info;
    tn_value context = call_context(call);
    char time[TIME_TEXT];
    time_text(loop_wall_ms(call_loop(call)), time);
    tn_value line = value_set_take(value_object_reserve(16), "time", value_text(time));
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        tn_value member = value_get(context, members[i]);
        if (member && value_is(member, TN_STRING)) line = value_set_take(line, members[i], value_ref(member));
    }
    value_unref(context);
    line = value_set_take(line, "tool", value_text(info->id));
    line = value_set_take(line, "effects", tool_effects(info));
    line = value_set_take(line, "approval", value_text(tool_approval_name(use->policy.approval)));
    line = value_set_take(line, "by", value_text(use->policy.by));
    line = value_set_take(line, "why", value_ref(use->policy.why));
    if (use->caller) line = value_set_take(line, "caller", authority_chain_text(use->caller));
    if (use->approved_by) line = value_set_take(line, "agreed", value_text(use->approved_by));
    line = value_set_take(line, "duration_ms", value_int(loop_now_ms(call_loop(call)) - use->started_ms));
    line = value_set_take(line, "outcome", value_text(failure ? failure->code : "ok"));
    line = value_set_take(line, "input_bytes", value_int(value_weight(use->arguments)));
    line = value_set_take(line, "output_bytes", value_int(result ? value_weight(result) : 0));
    if (!config_tool_flag(use->engine->config, "audit_arguments")) return line;
    struct secrets *secrets = loop_secrets(call_loop(call));
    return value_set_take(line, "arguments",
                          secrets ? secrets_scrub(secrets, use->arguments, SECRETS_RESULT_MIN)
                                  : value_ref(use->arguments));
}

/* An interrupted use is logged when it ends later. Fails only if the line is required and cannot be written. */
static int32_t tool_use_audit(const struct tool_use *use, tn_value result, const struct error *failure,
                              struct error *error) {
    if (!audit_is_enabled(use->engine->config) || use->waits) return TN_OK;
    return audit_note_take(tools_audit(use->engine->tools), use->engine->config, audit_line_of(use, result, failure),
                           error);
}

/* Marks the error as fatal for the run: the model cannot do anything about it. */
static void make_fatal(struct error *error) {
    tn_value detail = value_set_take(value_object_reserve(1), "fatal", value_bool(true));
    error_set_detail_take(error, detail);
}

static int32_t tool_use_fail_take(struct tool_use *use, struct error *error) {
    uint64_t token = use->token;
    struct error audit_error = ERROR_INIT;
    if (tool_use_audit(use, NULL, error, &audit_error) != TN_OK) {
        make_fatal(&audit_error);
        error_finish(error);
        error_move(error, &audit_error);
    }
    tool_use_detach(use);
    (void)call_fail(token, error);
    error_finish(error);
    return TN_OK;
}

static void tool_use_complete(struct tool_use *use, tn_value result) {
    uint64_t token = use->token;
    struct error audit_error = ERROR_INIT;
    int32_t status = tool_use_audit(use, result, NULL, &audit_error);
    tool_use_detach(use);
    if (status == TN_OK) {
        (void)call_complete(token, result);
        return;
    }
    make_fatal(&audit_error);
    (void)call_fail(token, &audit_error);
    error_finish(&audit_error);
}

/* ---- The tool's call ---- */

static int32_t check_tool_result(const struct tool_use *use, tn_value result, struct error *error) {
    const struct component_info *info = use->component->info;
    int64_t weight = value_weight(result);
    if (weight > TOOL_RESULT_MAX)
        return error_set(
            error, TN_LIMIT, "LIMIT",
            "the result of the tool `%s` has about %lld bytes, expected at most %d; request less data, or a "
            "part of it",
            info->id, (long long)weight, TOOL_RESULT_MAX);
    return tool_validate(info->output, result, TOOL_RESULT, info->id, error);
}

/* If the policy's timeout ended the call, the message names the tool. */
static void describe_timeout(const struct tool_use *use, struct error *error) {
    bool timed = use->policy.timeout_ms && error->code && strcmp(error->code, "TIMEOUT") == 0;
    if (!timed || loop_now_ms(call_loop(use->call)) - use->called_ms < use->policy.timeout_ms) return;
    tn_value more = value_ref(error->more);
    error_set(error, TN_FAILED, "TIMEOUT", "the tool `%s` did not end within %lld ms", use->component->info->id,
              (long long)use->policy.timeout_ms);
    value_unref(error->more);
    error->more = more;
}

static void on_tool_done(void *user, int32_t status, tn_value result) {
    struct tool_use *use = user;
    struct error error = ERROR_INIT;
    if (status == TN_OK && check_tool_result(use, result, &error) == TN_OK) {
        tool_use_complete(use, result);
        return;
    }
    if (status == TN_FAILED) error_from_value(&error, result);
    describe_timeout(use, &error);
    use->waits = error.code && strcmp(error.code, "INTERRUPTED") == 0;
    if (status == TN_CANCELLED) error_set(&error, TN_CANCELLED, "CANCELLED", "the call of the tool was cancelled");
    tool_use_fail_take(use, &error);
}

/* Calls the tool. */
static void tool_use_call(struct tool_use *use) {
    struct error error = ERROR_INIT;
    use->called_ms = loop_now_ms(call_loop(use->call));
    call_set_child_time_limit(use->call, use->policy.timeout_ms);
    int32_t status = call_wrapped(use->token, use->instance, use->arguments, on_tool_done, use);
    if (status == TN_OK) return;
    error_set(&error, status, status == TN_LIMIT ? "LIMIT" : "TOOL_FAILED",
              status == TN_LIMIT ? "the tool `%s` cannot be called from here: calls are nested more than %u deep"
                                 : "the tool `%s` cannot be called: status %d",
              use->component->info->id, status == TN_LIMIT ? CALL_DEPTH_MAX : (unsigned)-status);
    tool_use_fail_take(use, &error);
}

static void on_gate_entered(struct tool_ticket *ticket) {
    struct tool_use *use = (struct tool_use *)(void *)ticket;
    use->entered = true;
    tool_use_call(use);
}

static void tool_use_enter_gate(struct tool_use *use) {
    if (!use->policy.concurrency) {
        tool_use_call(use);
        return;
    }
    use->ticket.limit = use->policy.concurrency;
    use->ticket.enter = on_gate_entered;
    tools_enter(use->engine->tools, use->component->info->id, &use->ticket);
}

void tool_use_cancel(struct callable *callable, struct call *call) {
    (void)callable;
    struct tool_use *use = call_data(call);
    /* Otherwise the tool's call is cancelled with this call. `inside` of a ticket that waits is written by other loops.
     */
    if (!use || use->entered || !use->ticket.gate) return;
    struct error error = ERROR_INIT;
    error_set(&error, TN_CANCELLED, "CANCELLED", "the call of the tool was cancelled");
    tool_use_fail_take(use, &error);
}

/* ---- Approval ---- */

/*
 * The schema of `arguments` in an answer. The tool's schema is embedded with a separate $id, so that its references are
 * still resolved from its root.
 */
static tn_value arguments_schema(const struct component_info *info) {
    tn_value own = info->input ? schema_document(info->input) : NULL,
             object = value_set_take(value_object_reserve(1), "type", value_text("object"));
    if (!value_is(own, TN_OBJECT)) return object;
    own = value_ref(own);
    if (!value_get(own, "$id")) own = value_set_take(own, "$id", value_text("tenon:arguments"));
    return value_set_take(object, "allOf", value_push_take(value_array_reserve(1), own));
}

tn_value tool_answer_schema(const struct component_info *info) { return approval_schema_take(arguments_schema(info)); }

tn_value tool_question(const struct component_info *info, const struct authority *caller,
                       const struct tool_policy *policy, tn_value arguments) {
    tn_value payload = value_set_take(value_object_reserve(8), "kind", value_text("approval"));
    payload = value_set_take(payload, "tool", value_text(info->id));
    payload = value_set_take(payload, "arguments", value_ref(arguments));
    payload = value_set_take(payload, "effects", tool_effects(info));
    payload = value_set_take(payload, "title", value_text(info->title));
    payload = value_set_take(payload, "why", value_ref(policy->why));
    if (!caller) return payload;
    payload = value_set_take(payload, "chain", authority_chain(caller));
    return value_set_take(payload, "caller", authority_chain_text(caller));
}

static int32_t request_approval(struct tool_use *use) {
    struct error error = ERROR_INIT;
    const char *id = use->component->info->id;
    if (!approval_can_wait(use->call)) {
        error_set(&error, TN_FAILED, "TOOL_DENIED",
                  "the tool `%s` needs approval (%s), and this call cannot be interrupted to request it", id,
                  value_chars(use->policy.why, NULL));
        return tool_use_fail_take(use, &error);
    }
    tn_value continuation = value_set_take(value_object_reserve(2), "name", value_text(id));
    continuation = value_set_take(continuation, "arguments", value_ref(use->arguments));
    tn_value payload = tool_question(use->component->info, use->caller, &use->policy, use->arguments),
             schema = tool_answer_schema(use->component->info);
    uint64_t token = use->token;
    tool_use_detach(use);
    (void)call_interrupt(token, payload, schema, continuation);
    value_unref(payload);
    value_unref(schema);
    value_unref(continuation);
    return TN_OK;
}

tn_value tool_use_saved_request(struct call *call, tn_value input) {
    return call_resumed(call) ? value_get(input, "continuation") : NULL;
}

/* Returns TN_OK if the use is approved. The arguments of the answer replace those of the use. */
static int32_t handle_answer(struct tool_use *use, tn_value answer, struct error *error) {
    tn_value arguments = value_is(answer, TN_OBJECT) ? value_get(answer, "arguments") : NULL;
    const char *reason = approval_reason(answer);
    use->approved_by = "answer";
    if (approval_is_granted(answer)) {
        if (!arguments) return TN_OK;
        value_unref(use->arguments);
        use->arguments = value_ref(arguments);
        return tool_validate(use->component->info->input, arguments, TOOL_ARGUMENTS, use->component->info->id, error);
    }
    return error_set(error, TN_FAILED, "TOOL_DENIED",
                     "the call of the tool `%s` was not approved%s%s; do not try it again unless you are asked to",
                     use->component->info->id, *reason ? ": " : "", reason);
}

/* ---- The limit of uses in one run ---- */

/* The use was counted when the call was made. */
static int32_t check_use_count(const struct tool_use *use, struct error *error) {
    struct call *root = call_root(use->call);
    const char *id = use->component->info->id;
    if (!use->policy.max_calls || !call_ops_of(root)->use_count || root == use->call) return TN_OK;
    int64_t used = call_ops_of(root)->use_count(root, id);
    if (used <= use->policy.max_calls) return TN_OK;
    return error_set(error, TN_LIMIT, "LIMIT",
                     "the tool `%s` may be called %u time%s in one run (`max_calls`), and this limit is reached; "
                     "continue without it",
                     id, use->policy.max_calls, use->policy.max_calls == 1 ? "" : "s");
}

/* ---- The start ---- */

static int32_t check_use(struct tool_use *use, struct error *error) {
    const struct component_info *info = use->component->info;
    if (use->policy.approval == TOOL_DENY)
        return error_set(error, TN_FAILED, "TOOL_DENIED", "the tool `%s` is denied: %s", info->id,
                         value_chars(use->policy.why, NULL));
    return tool_validate(info->input, use->arguments, TOOL_ARGUMENTS, info->id, error);
}

int32_t tool_use_start(struct call *call, struct tool_request request) {
    struct tool_use *use = mem_zalloc(sizeof *use);
    struct error error = ERROR_INIT;
    bool none = !request.arguments || value_is(request.arguments, TN_NULL);
    use->call = call;
    use->token = call_token(call);
    use->engine = request.engine;
    use->component = request.component;
    use->instance = callable_ref(request.instance);
    use->caller = authority_ref((struct authority *)(uintptr_t)request.caller);
    use->arguments = none ? value_object() : value_ref(request.arguments);
    use->policy = request.policy;
    use->started_ms = loop_now_ms(call_loop(call));
    call_set_data(call, use);
    if (check_use(use, &error) != TN_OK) return tool_use_fail_take(use, &error);
    tn_value answer = call_resumed(call) ? value_get(call_input(call), "answer") : NULL;
    if (!answer && check_use_count(use, &error) != TN_OK) return tool_use_fail_take(use, &error);
    if (audit_ready(tools_audit(use->engine->tools), use->engine->config, &error) != TN_OK) {
        make_fatal(&error);
        return tool_use_fail_take(use, &error);
    }
    if (answer) {
        if (handle_answer(use, answer, &error) != TN_OK) return tool_use_fail_take(use, &error);
    } else if (use->policy.approval == TOOL_ASK) {
        if (!request.approved) return request_approval(use);
        use->approved_by = "grant";
    }
    tool_use_enter_gate(use);
    return TN_OK;
}

/* ---- A tool that is bound by name ---- */

struct bound_tool {
    struct callable callable; /* first */
    struct engine *engine;
    struct component *component;
    struct callable *instance;
    struct authority *caller;
    bool chosen, counted;
};

static int32_t bound_start(struct callable *callable, struct call *call, tn_value input) {
    struct bound_tool *bound = (struct bound_tool *)callable;
    const struct component_info *info = bound->component->info;
    tn_value saved = tool_use_saved_request(call, input);
    struct tool_request request = {.engine = bound->engine,
                                   .component = bound->component,
                                   .instance = bound->instance,
                                   .caller = bound->caller,
                                   .arguments = saved ? value_get(saved, "arguments") : input};
    tool_policy_of(bound->caller, config_tool_policies(bound->engine->config), info->id, info->effects, bound->chosen,
                   &request.policy);
    return tool_use_start(call, request);
}

static void bound_free(struct callable *callable) {
    struct bound_tool *bound = (struct bound_tool *)callable;
    callable_unref(bound->instance);
    authority_unref(bound->caller);
    mem_free(bound);
}

static void bound_use(struct callable *callable, tn_value input, struct callable_use *out) {
    const struct bound_tool *bound = (const struct bound_tool *)callable;
    (void)input;
    if (bound->counted) out->count_name = bound->component->info->id;
}

static struct component *bound_component(const struct callable *callable) {
    return ((const struct bound_tool *)callable)->component;
}

static struct callable *bound_instance(const struct callable *callable) {
    return ((const struct bound_tool *)callable)->instance;
}

/* The result of a guarded tool is always saved: a repeated use would need approval again and count twice. */
static const struct callable_ops validating_tool_ops = {.start = bound_start,
                                                        .cancel = tool_use_cancel,
                                                        .free = bound_free,
                                                        .component = bound_component,
                                                        .wrapped = bound_instance,
                                                        .is_wrapper = true};
static const struct callable_ops guarded_tool_ops = {.start = bound_start,
                                                     .cancel = tool_use_cancel,
                                                     .free = bound_free,
                                                     .use = bound_use,
                                                     .component = bound_component,
                                                     .wrapped = bound_instance,
                                                     .saving = CALLABLE_SAVED,
                                                     .is_wrapper = true};

bool tool_grant_counts(const struct authority *caller, const struct tool_policy *policy, const char *name) {
    return !caller || (strcmp(policy->by, "operator") != 0 && authority_grants_approval(caller, name));
}

int32_t tool_check_allowed(const struct authority *caller, const char *name, struct error *error) {
    char id[TN_TOOL_PATTERN_MAX];
    bool allowed = authority_allows_tool(caller, name);
    for (uint32_t form = 0; !allowed && form < TN_TOOL_ID_FORMS; form++)
        allowed = tn_tool_id(name, strlen(name), form, id, sizeof id) > 0 && authority_allows_tool(caller, id);
    if (allowed) return TN_OK;
    return error_set(error, TN_NOT_FOUND, "TOOL_NOT_FOUND",
                     "the tool `%s` is not in the document's `tools`; add it there to allow it", name);
}

int32_t tool_bind(struct engine *engine, struct authority *caller, const char *name, tn_value config, bool chosen,
                  struct callable **out, struct error *error) {
    struct instance_scope scope = engine->scope(engine, "a tool that is called");
    struct component *component;
    struct callable *instance = NULL;
    struct tool_policy policy;
    int32_t status = tool_check_allowed(caller, name, error);
    scope.authority = caller;
    if (status == TN_OK) status = registry_resolve(engine->registry, "tool", name, &component, error);
    if (status == TN_OK) status = tool_check_allowed(caller, component->info->id, error);
    if (status == TN_OK) status = instance_new(component, config ? config : value_object(), &scope, &instance, error);
    if (status != TN_OK) return status;
    const struct component_info *info = component->info;
    tool_policy_of(caller, config_tool_policies(engine->config), info->id, info->effects, chosen, &policy);
    bool plain = tool_policy_is_plain(&policy) && !audit_is_enabled(engine->config) &&
                 !config_tool_flag(engine->config, "audit_required");
    bool counted = policy.max_calls > 0;
    tool_policy_finish(&policy);
    if (plain && !info->output) {
        *out = instance;
        return TN_OK;
    }
    struct bound_tool *bound = mem_zalloc(sizeof *bound);
    bound->callable = (struct callable){plain ? &validating_tool_ops : &guarded_tool_ops, 1};
    bound->engine = engine;
    bound->component = component;
    bound->instance = instance;
    bound->caller = authority_ref(caller);
    bound->chosen = chosen;
    bound->counted = counted;
    *out = &bound->callable;
    return TN_OK;
}
