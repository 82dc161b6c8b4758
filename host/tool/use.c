/*
 * use.c - one use of a tool, from its arguments to its result.
 *
 * A use lives in its call's data until the call has an end, and nowhere else: what must outlive the process is in the
 * interrupt that it asked with. Its child is the tool's own call; where that asks for an answer, the use ends as
 * INTERRUPTED and is made again from the top, and the policy is not asked again, as it has let it through.
 */
#include "host/tool/use.h"
#include "adl/schema/schema.h"
#include "adl/value/memory.h"
#include "host/call/instance_internal.h"
#include "host/call/slot.h"
#include "host/config/config.h"
#include "host/engine/binding.h"
#include "host/host.h"
#include "host/plugin/registry.h"
#include "host/state/request.h"
#include "host/thread/delta.h"
#include "host/tool/audit.h"
#include "host/tool/tool.h"
#include "host/tool/validate.h"
#include <stddef.h>
#include <string.h>

struct use {
    struct tool_place place;
    struct call *call;
    uint64_t token;
    struct host *host;
    struct component *component;
    struct callable *instance;
    tn_value arguments;
    struct tool_policy policy;
    int64_t started_ms, begun_ms; /* of the use, and of the tool's own call */
    bool waits;                   /* the tool asks by itself: the use ends, to be made again */
    const char *agreed;           /* static: who did; NULL where nobody was asked */
};

/* ---- The end ---- */

static void use_free(struct use *use) {
    if (use->place.gate) tools_leave(tools_of(use->host), &use->place);
    callable_unref(use->instance);
    value_unref(use->arguments);
    tool_policy_finish(&use->policy);
    mem_free(use);
}

/* The call's data is the use's until it has an end. */
static void let_go(struct use *use) {
    call_set_data(use->call, NULL);
    use_free(use);
}

/* ---- What is noted of it ---- */

static tn_value line_of(const struct use *use, tn_value result, const struct error *failure) {
    static const char *const members[] = {"run_id", "thread_id", "runner_id", "task_id"};
    struct call *call = use->call;
    const struct component_info *info = use->component->info;
    tn_value context = call->ops->context ? call->ops->context(call) : instance_plain_context(call);
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
    if (use->agreed) line = value_set_take(line, "agreed", value_text(use->agreed));
    line = value_set_take(line, "duration_ms", value_int(loop_now_ms(call_loop(call)) - use->started_ms));
    line = value_set_take(line, "outcome", value_text(failure ? failure->code : "ok"));
    line = value_set_take(line, "input_bytes", value_int(value_weight(use->arguments)));
    line = value_set_take(line, "output_bytes", value_int(result ? value_weight(result) : 0));
    if (!config_tool_flag(use->host->config, "audit_arguments")) return line;
    return value_set_take(line, "arguments", value_ref(use->arguments));
}

/* One that waits is noted when it has ended, elsewhere perhaps. Not TN_OK: a line is required, and cannot be written.
 */
static int32_t note(const struct use *use, tn_value result, const struct error *failure, struct error *error) {
    if (!audit_wanted(use->host->config) || use->waits) return TN_OK;
    return audit_note_take(tools_audit(tools_of(use->host)), use->host->config, line_of(use, result, failure), error);
}

/* The model has nothing to do with that. */
static void make_fatal(struct error *error) {
    tn_value detail = value_set_take(value_object_reserve(1), "fatal", value_bool(true));
    value_unref(error->more);
    error->more = value_set_take(value_object_reserve(1), "detail", detail);
}

static int32_t fail_take(struct use *use, struct error *error) {
    uint64_t token = use->token;
    struct error unnoted = ERROR_INIT;
    if (note(use, NULL, error, &unnoted) != TN_OK) {
        make_fatal(&unnoted);
        error_finish(error);
        error_move(error, &unnoted);
    }
    let_go(use);
    (void)call_fail(token, error);
    error_finish(error);
    return TN_OK;
}

static void complete(struct use *use, tn_value result) {
    uint64_t token = use->token;
    struct error unnoted = ERROR_INIT;
    int32_t status = note(use, result, NULL, &unnoted);
    let_go(use);
    if (status == TN_OK) {
        (void)call_complete(token, result);
        return;
    }
    make_fatal(&unnoted);
    (void)call_fail(token, &unnoted);
    error_finish(&unnoted);
}

/* ---- The tool's call ---- */

static int32_t check_result(const struct use *use, tn_value result, struct error *error) {
    const struct component_info *info = use->component->info;
    int64_t weight = value_weight(result);
    if (weight > TOOL_RESULT_MAX)
        return error_set(error, TN_LIMIT, "LIMIT",
                         "the result of the tool `%s` has about %lld bytes, more than the %d that a result may have; "
                         "ask it for less, or for a part",
                         info->id, (long long)weight, TOOL_RESULT_MAX);
    return tool_validate(info->output, result, TOOL_RESULT, info->id, error);
}

/* Its time was up, as far as the policy gave it any: that is said of the tool, and not of some task. */
static void say_timeout(const struct use *use, struct error *error) {
    bool timed = use->policy.timeout_ms && error->code && strcmp(error->code, "TIMEOUT") == 0;
    if (!timed || loop_now_ms(call_loop(use->call)) - use->begun_ms < use->policy.timeout_ms) return;
    tn_value more = value_ref(error->more);
    error_set(error, TN_FAILED, "TIMEOUT", "the tool `%s` did not end within %lld ms", use->component->info->id,
              (long long)use->policy.timeout_ms);
    value_unref(error->more);
    error->more = more;
}

static void on_done(void *user, int32_t status, tn_value result) {
    struct use *use = user;
    struct error error = ERROR_INIT;
    if (status == TN_OK && check_result(use, result, &error) == TN_OK) {
        complete(use, result);
        return;
    }
    if (status == TN_FAILED) error_from_value(&error, result);
    say_timeout(use, &error);
    use->waits = error.code && strcmp(error.code, "INTERRUPTED") == 0;
    if (status == TN_CANCELLED) error_set(&error, TN_CANCELLED, "CANCELLED", "the call of the tool was cancelled");
    fail_take(use, &error);
}

/* Its turn has come. */
static void begin(struct use *use) {
    struct error error = ERROR_INIT;
    use->begun_ms = loop_now_ms(call_loop(use->call));
    use->call->children_ms = use->policy.timeout_ms;
    int32_t status =
        call_child_on(use->token, use->instance, false, use->arguments, on_done, use, use->call->on_worker);
    if (status == TN_OK) return;
    error_set(&error, status, status == TN_LIMIT ? "LIMIT" : "TOOL_FAILED",
              status == TN_LIMIT ? "the tool `%s` cannot be called from here: calls are nested more than %u deep"
                                 : "the tool `%s` cannot be called: status %d",
              use->component->info->id, status == TN_LIMIT ? CALL_DEPTH_MAX : (unsigned)-status);
    fail_take(use, &error);
}

static void on_enter(struct tool_place *place) { begin((struct use *)(void *)place); }

static void wait_and_begin(struct use *use) {
    if (!use->policy.concurrency) {
        begin(use);
        return;
    }
    use->place.limit = use->policy.concurrency;
    use->place.enter = on_enter;
    tools_enter(tools_of(use->host), use->component->info->id, &use->place);
}

void tool_use_cancel(struct callable *callable, struct call *call) {
    (void)callable;
    struct use *use = call_data(call);
    if (!use || use->place.inside || !use->place.gate) return; /* the tool's own call is cancelled with this one */
    struct error error = ERROR_INIT;
    error_set(&error, TN_CANCELLED, "CANCELLED", "the call of the tool was cancelled");
    fail_take(use, &error);
}

/* ---- Agreeing ---- */

static tn_value typed(const char *type) { return value_set_take(value_object_reserve(1), "type", value_text(type)); }

/*
 * What arguments in an answer must be. The tool's schema is a resource of its own there, so that its references, which
 * begin at its root, find what they did.
 */
static tn_value arguments_schema(const struct component_info *info) {
    tn_value own = info->input ? schema_document(info->input) : NULL, object = typed("object");
    if (!value_is(own, TN_OBJECT)) return object;
    own = value_ref(own);
    if (!value_get(own, "$id")) own = value_set_take(own, "$id", value_text("tenon:arguments"));
    return value_set_take(object, "allOf", value_push_take(value_array_reserve(1), own));
}

tn_value tool_answer_schema(const struct component_info *info) {
    tn_value words = value_push_take(value_push_take(value_array(), value_text("yes")), value_text("no"));
    tn_value properties = value_set_take(value_object_reserve(3), "approved", typed("boolean"));
    properties = value_set_take(properties, "arguments", arguments_schema(info));
    properties = value_set_take(properties, "reason", typed("string"));
    tn_value object = value_set_take(typed("object"), "properties", properties);
    object = value_set_take(object, "required", value_push_take(value_array(), value_text("approved")));
    object = value_set_take(object, "additionalProperties", value_bool(false));
    tn_value ways = value_push_take(value_array_reserve(3), object);
    ways = value_push_take(ways, typed("boolean"));
    ways = value_push_take(ways, value_set_take(value_object_reserve(1), "enum", words));
    return value_set_take(value_object_reserve(1), "anyOf", ways);
}

tn_value tool_question(const struct component_info *info, const struct tool_policy *policy, tn_value arguments) {
    tn_value payload = value_set_take(value_object_reserve(6), "kind", value_text("approval"));
    payload = value_set_take(payload, "tool", value_text(info->id));
    payload = value_set_take(payload, "arguments", value_ref(arguments));
    payload = value_set_take(payload, "effects", tool_effects(info));
    payload = value_set_take(payload, "title", value_text(info->title));
    return value_set_take(payload, "why", value_ref(policy->why));
}

/* Whoever the call is made for can be told what it waits for. */
static bool can_ask(struct call *call) {
    struct call *root = call_root(call);
    return root != call && root->ops->record;
}

static int32_t ask(struct use *use) {
    struct error error = ERROR_INIT;
    const char *id = use->component->info->id;
    if (!can_ask(use->call)) {
        error_set(&error, TN_FAILED, "TOOL_DENIED",
                  "the tool `%s` may be used only after somebody has agreed (%s), and nobody is there to be asked", id,
                  value_chars(use->policy.why, NULL));
        return fail_take(use, &error);
    }
    tn_value continuation = value_set_take(value_object_reserve(2), "name", value_text(id));
    continuation = value_set_take(continuation, "arguments", value_ref(use->arguments));
    tn_value payload = tool_question(use->component->info, &use->policy, use->arguments),
             schema = tool_answer_schema(use->component->info);
    uint64_t token = use->token;
    let_go(use);
    (void)call_interrupt(token, payload, schema, continuation);
    value_unref(payload);
    value_unref(schema);
    value_unref(continuation);
    return TN_OK;
}

tn_value tool_use_asked(struct call *call, tn_value input) {
    return call_resumed(call) ? value_get(input, "continuation") : NULL;
}

static bool agrees(tn_value answer) {
    tn_value approved = value_is(answer, TN_OBJECT) ? value_get(answer, "approved") : answer;
    return approved && (approved == value_bool(true) || value_text_is(approved, "yes"));
}

/* TN_OK: it goes on, with the arguments of the answer where that has any. */
static int32_t hear(struct use *use, tn_value answer, struct error *error) {
    tn_value reason = value_get(answer, "reason"), arguments = value_get(answer, "arguments");
    use->agreed = "answer";
    if (agrees(answer)) {
        if (!arguments) return TN_OK;
        value_unref(use->arguments);
        use->arguments = value_ref(arguments);
        return tool_validate(use->component->info->input, arguments, TOOL_ARGUMENTS, use->component->info->id, error);
    }
    bool why = reason && value_is(reason, TN_STRING) && *value_chars(reason, NULL);
    return error_set(error, TN_FAILED, "TOOL_DENIED",
                     "the call of the tool `%s` was not agreed to%s%s; do not try it again unless you are asked to",
                     use->component->info->id, why ? ": " : "", why ? value_chars(reason, NULL) : "");
}

/* ---- So many in one run ---- */

/* What the call uses has been counted when it was made. */
static int32_t check_count(const struct use *use, struct error *error) {
    struct call *root = call_root(use->call);
    const char *id = use->component->info->id;
    if (!use->policy.max_calls || !root->ops->used || root == use->call) return TN_OK;
    int64_t used = root->ops->used(root, id);
    if (used <= use->policy.max_calls) return TN_OK;
    return error_set(
        error, TN_LIMIT, "LIMIT",
        "the tool `%s` may be called %u time%s in one run (`max_calls`), and it has been; go on without it", id,
        use->policy.max_calls, use->policy.max_calls == 1 ? "" : "s");
}

/* ---- The beginning ---- */

static int32_t check(struct use *use, struct error *error) {
    const struct component_info *info = use->component->info;
    if (use->policy.approval == TOOL_DENY)
        return error_set(error, TN_FAILED, "TOOL_DENIED", "the tool `%s` may not be used: %s", info->id,
                         value_chars(use->policy.why, NULL));
    return tool_validate(info->input, use->arguments, TOOL_ARGUMENTS, info->id, error);
}

int32_t tool_use_start(struct call *call, struct tool_request request) {
    struct use *use = mem_zalloc(sizeof *use);
    struct error error = ERROR_INIT;
    bool none = !request.arguments || value_is(request.arguments, TN_NULL);
    use->call = call;
    use->token = call_token(call);
    use->host = request.host;
    use->component = request.component;
    use->instance = callable_ref(request.instance);
    use->arguments = none ? value_object() : value_ref(request.arguments);
    use->policy = request.policy;
    use->started_ms = loop_now_ms(call_loop(call));
    call_set_data(call, use);
    if (check(use, &error) != TN_OK) return fail_take(use, &error);
    tn_value answer = call_resumed(call) ? value_get(call_input(call), "answer") : NULL;
    if (!answer && check_count(use, &error) != TN_OK) return fail_take(use, &error);
    if (audit_ready(tools_audit(tools_of(use->host)), use->host->config, &error) != TN_OK) {
        make_fatal(&error);
        return fail_take(use, &error);
    }
    if (answer) {
        if (hear(use, answer, &error) != TN_OK) return fail_take(use, &error);
    } else if (use->policy.approval == TOOL_ASK) {
        if (!request.approved) return ask(use);
        use->agreed = "grant";
    }
    wait_and_begin(use);
    return TN_OK;
}

/* ---- A tool that is bound by its name ---- */

struct bound {
    struct callable callable; /* first */
    struct host *host;
    struct component *component;
    struct callable *instance;
    tn_value entries;
    bool chosen, counted;
};

static int32_t bound_start(struct callable *callable, struct call *call, tn_value input) {
    struct bound *bound = (struct bound *)callable;
    const struct component_info *info = bound->component->info;
    tn_value asked = tool_use_asked(call, input);
    struct tool_request request = {.host = bound->host,
                                   .component = bound->component,
                                   .instance = bound->instance,
                                   .arguments = asked ? value_get(asked, "arguments") : input};
    tool_policy_of(bound->entries, config_tool_approval(bound->host->config), info->id, info->effects, bound->chosen,
                   &request.policy);
    return tool_use_start(call, request);
}

static void bound_free(struct callable *callable) {
    struct bound *bound = (struct bound *)callable;
    callable_unref(bound->instance);
    value_unref(bound->entries);
    mem_free(bound);
}

static void bound_use(struct callable *callable, tn_value input, struct callable_use *out) {
    const struct bound *bound = (const struct bound *)callable;
    (void)input;
    if (bound->counted) out->counted = bound->component->info->id;
}

static struct component *bound_component(const struct callable *callable) {
    return ((const struct bound *)callable)->component;
}

/* What a policy has a say in is not simply computed again. */
static const struct callable_ops checked_ops = {.start = bound_start,
                                                .cancel = tool_use_cancel,
                                                .free = bound_free,
                                                .component = bound_component,
                                                .stands_before = true};
static const struct callable_ops guarded_ops = {.start = bound_start,
                                                .cancel = tool_use_cancel,
                                                .free = bound_free,
                                                .use = bound_use,
                                                .component = bound_component,
                                                .memory = CALLABLE_KEPT,
                                                .stands_before = true};

int32_t tool_bind(struct host *host, tn_value entries, const char *name, tn_value config, bool chosen,
                  struct callable **out, struct error *error) {
    const struct instance_scope scope = binding_scope_of_host(host, "a tool that is called");
    struct component *component;
    struct callable *instance = NULL;
    struct tool_policy policy;
    int32_t status = registry_resolve(host->registry, "tool", name, &component, error);
    if (status == TN_OK) status = instance_new(component, config ? config : value_object(), &scope, &instance, error);
    if (status != TN_OK) return status;
    const struct component_info *info = component->info;
    tool_policy_of(entries, config_tool_approval(host->config), info->id, info->effects, chosen, &policy);
    bool plain = tool_policy_is_plain(&policy) && !audit_wanted(host->config) &&
                 !config_tool_flag(host->config, "audit_required");
    bool counted = policy.max_calls > 0;
    tool_policy_finish(&policy);
    if (plain && !info->output) {
        *out = instance;
        return TN_OK;
    }
    struct bound *bound = mem_zalloc(sizeof *bound);
    bound->callable = (struct callable){plain ? &checked_ops : &guarded_ops, 1};
    bound->host = host;
    bound->component = component;
    bound->instance = instance;
    bound->entries = value_ref(entries);
    bound->chosen = chosen;
    bound->counted = counted;
    *out = &bound->callable;
    return TN_OK;
}
