/*
 * model_call.c - one call of a model: attempts, retries after a pause, fallbacks, shared load.
 *
 * Each attempt is a separate call that the model's call owns. Its deltas are forwarded, and its end is checked.
 * Attempts have no parent, so the journal of a run has the answer once, under the call that the task made: a replay
 * repeats neither attempts nor pauses. After a fallback the deltas restart, and a delta {reset} announces that.
 *
 * After a failure, in this order: another deployment of the same group; the same model again after a pause, if the
 * failure is transient and nothing was streamed; the next model, if the role falls back on the code; otherwise the call
 * fails.
 */
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/base/container_of.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/base/random.h"
#include "host/base/trace.h"
#include "host/engine/engine.h"
#include "host/engine/model/model_embed.h"
#include "host/engine/model/model_internal.h"
#include "host/engine/model/usage.h"
#include "host/plugin/call/call_trace.h"
#include <string.h>

#define FALLBACKS_LOGGED_MAX 1024u /* fallbacks remembered; then the set is cleared, and they may be logged again */
#define LONG_PAUSE_MS        5000  /* a longer pause is a warning */

/* One call of a model, and its current attempt. */
struct model_call {
    struct model *model;
    struct call *call;    /* the model's call */
    struct call *attempt; /* NULL between attempts */
    tn_value input;
    tn_value cache_key;      /* NULL: the answer is not cached */
    struct loop_timer pause; /* before a retry */
    struct model_ticket ticket;
    bool entering; /* inside model_gate_enter */
    bool entered;  /* the gate has admitted the ticket */
    uint32_t at;
    uint32_t tried;     /* bit i: provider i was called, or is not to be called */
    uint32_t attempts;  /* so far, with all models */
    int64_t started_us; /* 0: its span is not wanted */
    int64_t retries;    /* of the current model */
    bool fell_back;     /* the current model is not the first one */
    bool emitted;       /* this attempt has emitted deltas that were forwarded */
    bool streamed;      /* this attempt has sent deltas, wanted or not */
};

/* ---- The answer ---- */

/* Returns USAGE with its cost, if a price is configured. */
static tn_value add_cost(const struct model *model, const struct model_provider *provider, tn_value usage) {
    double cost;
    bool known = value_is(usage, TN_OBJECT);
    if (!known || !usage_price(config_prices(model->engine->config), provider->name, usage, &cost))
        return known ? value_ref(usage) : value_object();
    return value_set_take(value_ref(usage), "cost", value_double(cost));
}

/* Adds model, usage and finish_reason to the message, because a history keeps only the messages of a call. */
static tn_value signed_message(tn_value message, const char *name, tn_value usage, tn_value reason) {
    tn_value out = value_ref(message);
    if (!value_get(message, "model")) out = value_set_take(out, "model", value_text(name));
    out = value_set_take(out, "usage", value_ref(usage));
    bool usual = value_text_is(reason, "stop") || value_text_is(reason, "tool_calls");
    if (value_is(reason, TN_STRING) && !usual) out = value_set_take(out, "finish_reason", value_ref(reason));
    return out;
}

static const char *malformed_output(tn_value output) {
    if (!value_is(output, TN_OBJECT)) return "it is not an object";
    if (value_is(value_get(output, "embeddings"), TN_ARRAY)) return NULL;
    return value_is(value_get(output, "message"), TN_OBJECT) ? NULL : "`message` is not an object";
}

/*
 * Reports the span of the call, which ends now. `output` is NULL unless it is done. One that waits for an answer is not
 * reported: it is made again.
 */
static void model_call_trace(const struct model_call *self, const char *outcome, const char *code, tn_value output) {
    const struct model_provider *provider = &self->model->providers[self->at];
    tn_value name = value_text(provider->name);
    tn_value span = trace_span("model", name, outcome, code);
    tn_value usage = value_get(output, "usage"), reason = value_get(output, "finish_reason");
    value_unref(name);
    span = value_set_take(span, "role", value_text(self->model->name));
    span = value_set_take(span, "operation", value_text(model_embed_is_wanted(self->input) ? "embeddings" : "chat"));
    span = value_set_take(span, "attempts", value_int(self->attempts));
    if (value_is(usage, TN_OBJECT)) span = value_set_take(span, "usage", value_ref(usage));
    if (value_is(reason, TN_STRING)) span = value_set_take(span, "finish_reason", value_ref(reason));
    span = call_trace_add_content(span, self->call, "input", self->input);
    span = call_trace_add_content(span, self->call, "output", value_get(output, "message"));
    trace_end_take(call_loop(self->call), self->started_us, call_trace_add_place(span, self->call));
}

/* Call this before the call ends: ending it may free it. Returns its token. */
static uint64_t model_call_detach(struct model_call *self) {
    call_set_data(self->call, NULL);
    return call_token(self->call);
}

static void model_call_complete(struct model_call *self, tn_value output) {
    struct model *model = self->model;
    const struct model_provider *provider = &model->providers[self->at];
    struct loop *loop = call_loop(self->call);
    uint64_t token = model_call_detach(self);
    tn_value message = value_get(output, "message");
    if (message && !value_text_is(value_get(message, "type"), "ai")) {
        if (self->started_us) model_call_trace(self, "done", NULL, output);
        (void)call_complete(token, output); /* a provider older than tenon/message.h: unchanged */
        return;
    }
    tn_value usage = add_cost(model, provider, value_get(output, "usage"));
    tn_value out = value_set_take(value_ref(output), "usage", usage);
    if (message)
        out = value_set_take(out, "message",
                             signed_message(message, provider->name, usage, value_get(output, "finish_reason")));
    out = value_set_take(out, "model", value_text(provider->name));
    if (self->started_us) model_call_trace(self, "done", NULL, out);
    if (self->cache_key)
        model_cache_put(model->engine->models, self->cache_key, out, model->role.cache_ttl_ms, loop_now_ms(loop));
    (void)call_complete(token, out);
    value_unref(out);
}

/* ---- Choice of the next model ---- */

static bool provider_is_cool(const struct model_provider *provider, int64_t now_ms) {
    return provider->deployment && now_ms < provider->deployment->cool_until_ms;
}

/* True if `a` is to be called before `b`, a model of the same group. */
static bool deployment_goes_first(const struct model *model, const struct model_provider *a,
                                  const struct model_provider *b) {
    const struct model_deployment *x = a->deployment, *y = b->deployment;
    if (!x || !y) return false;
    if (model->role.balance == MODEL_BALANCE_LEAST_BUSY && x->inside != y->inside) return x->inside < y->inside;
    return x->used < y->used;
}

/*
 * Finds the model that is called next: of the first group with models that were not tried, one that is not cooling
 * down; if all are, one of a later group; if those are too, the one that is ready first. Returns false if none is left.
 */
static bool choose_next(const struct model_call *self, uint32_t *out) {
    const struct model *model = self->model;
    int64_t now_ms = loop_now_ms(call_loop(self->call));
    uint32_t best = MODEL_FALLBACKS_MAX, coolest = MODEL_FALLBACKS_MAX;
    for (uint32_t i = 0; i < model->count; i++) {
        const struct model_provider *provider = &model->providers[i];
        if (self->tried & 1u << i) continue;
        if (best < model->count && provider->group != model->providers[best].group) break;
        if (provider_is_cool(provider, now_ms)) {
            if (coolest == MODEL_FALLBACKS_MAX ||
                provider->deployment->cool_until_ms < model->providers[coolest].deployment->cool_until_ms)
                coolest = i;
        } else if (best == MODEL_FALLBACKS_MAX || deployment_goes_first(model, provider, &model->providers[best]))
            best = i;
    }
    *out = best < model->count ? best : coolest;
    return *out < model->count;
}

/* After CONTEXT_LENGTH, models that are known not to be larger are not called. */
static void skip_smaller_models(struct model_call *self) {
    const struct model *model = self->model;
    const struct model_provider *failed = &model->providers[self->at];
    for (uint32_t i = 0; i < model->count; i++) {
        const struct model_provider *other = &model->providers[i];
        bool known = failed->context_tokens > 0 && other->context_tokens > 0;
        if (known ? other->context_tokens <= failed->context_tokens : other->group == failed->group)
            self->tried |= 1u << i;
    }
}

static void deployment_fail(struct model_call *self, const struct error *error, int64_t after_ms) {
    struct model_deployment *deployment = self->model->providers[self->at].deployment;
    bool own_fault =
        error->code && (strcmp(error->code, "INVALID_REQUEST") == 0 || strcmp(error->code, "CONTEXT_LENGTH") == 0 ||
                        strcmp(error->code, "UNSUPPORTED") == 0);
    int64_t cool_ms = self->model->role.cooldown_ms;
    if (!deployment || own_fault) return;
    if (after_ms > cool_ms) cool_ms = after_ms;
    deployment->cool_until_ms = loop_now_ms(call_loop(self->call)) + cool_ms;
}

/* ---- Failures ---- */

static int64_t error_retry_after_ms(const struct error *error) {
    tn_value after = error->more ? value_get(error->more, "retry_after_ms") : NULL;
    int64_t ms;
    return after && value_is_number(after) && value_as_int(after, &ms) && ms >= 0 ? ms : -1;
}

static tn_value context_of(struct call *call) { return call_context(call); }

/* An agent may fall back at each of many calls in one run. Only the first one is logged. */
static bool is_first_fallback(const struct model_call *self, const char *code) {
    struct models *models = self->model->engine->models;
    tn_value context = context_of(self->call), run = value_get(context, "run_id");
    bool first = true;
    if (value_is(run, TN_STRING)) {
        tn_value key = value_format("%s\n%s\n%u\n%s", value_chars(run, NULL), self->model->name, self->at, code);
        if (value_count(models->fallbacks_logged) >= FALLBACKS_LOGGED_MAX) {
            value_unref(models->fallbacks_logged);
            models->fallbacks_logged = value_object();
        }
        first = !value_get_key(models->fallbacks_logged, key);
        models->fallbacks_logged = value_set_key_take(models->fallbacks_logged, key, value_bool(true));
    }
    value_unref(context);
    return first;
}

static void report_fallback(struct model_call *self, const struct error *error, uint32_t next) {
    const struct model *model = self->model;
    if (is_first_fallback(self, error->code))
        log_write(LOG_WARN, NULL, "models.%s: `%s` failed (%s); falling back to `%s`", model->name,
                  model->providers[self->at].name, error->code, model->providers[next].name);
    if (!self->emitted) return;
    tn_value reason = value_set_take(value_object_reserve(2), "code", value_text(error->code));
    reason = value_set_take(reason, "model", value_text(model->providers[next].name));
    tn_value delta = value_set_take(value_object_reserve(1), "reset", reason);
    (void)call_emit(call_token(self->call), delta);
    value_unref(delta);
}

/* Where the key of a refused call comes from; never its text. */
static void append_secret_source(struct buffer *text, const struct config *config, tn_value detail) {
    tn_value secret = value_get(detail, "secret");
    if (!value_is(secret, TN_STRING)) return;
    const char *name = value_chars(secret, NULL);
    tn_value where = config_secret_where(config, name);
    buffer_format(text, "; the secret %.100s comes from %s", name, value_chars(where, NULL));
    value_unref(where);
}

static bool code_is_about_access(const char *code) {
    static const char *const codes[] = {"AUTH", "QUOTA", "NOT_FOUND", "SECRET_NOT_FOUND"};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strcmp(codes[i], code) == 0) return true;
    return false;
}

/* True for a row: the plugin's messages have the name of the component that the row is based on. */
static bool provider_is_named_otherwise(const struct model_provider *provider, tn_value detail) {
    size_t length = 0;
    tn_value named = value_get(detail, "provider");
    const char *plugin = value_is(named, TN_STRING) ? value_chars(named, &length) : "";
    if (!length) return false;
    return strncmp(provider->name, plugin, length) != 0 || (provider->name[length] && provider->name[length] != ':');
}

/* The message of the last failure, with what only the host knows. */
static char *failure_text(const struct model_call *self, const struct error *error, int64_t too_long_ms) {
    const struct model *model = self->model;
    const struct model_provider *provider = &model->providers[self->at];
    struct buffer text;
    buffer_init(&text, ERROR_MESSAGE_MAX);
    if (model->count > 1)
        buffer_format(&text, "`%s`%s: ", provider->name, self->fell_back ? ", the last fallback" : "");
    buffer_text(&text, error->message ? error->message : "");
    tn_value detail = value_get(error->more, "detail");
    bool access = provider->remote && code_is_about_access(error->code);
    bool unnamed = model->count == 1 && provider_is_named_otherwise(provider, detail);
    if ((access || unnamed) && strcmp(model->name, provider->name) != 0)
        buffer_format(&text, "; the role `%s` is the model `%s`", model->name, provider->name);
    if (access) {
        if (!value_text_is(value_get(detail, "type"), "SECRET_NOT_FOUND")) /* its message says it */
            append_secret_source(&text, model->engine->config, detail);
    }
    if (too_long_ms > 0)
        buffer_format(&text, "; the service asks to wait %lld s, which is longer than `retry.retry_after_max` (%lld s)",
                      (long long)((too_long_ms + 999) / 1000), (long long)(provider->retry.after_max_ms / 1000));
    if (self->attempts > 1) buffer_format(&text, " (attempt %u)", self->attempts);
    return buffer_detach(&text, NULL);
}

static void model_call_fail(struct model_call *self, const struct error *error, int64_t too_long_ms) {
    struct error all = ERROR_INIT;
    char *text = failure_text(self, error, too_long_ms);
    error_copy(&all, error);
    error_set(&all, TN_FAILED, error->code, "%s", text);
    value_unref(all.more);
    all.more = error->more ? value_ref(error->more) : NULL;
    if (self->attempts > 1) {
        tn_value detail = value_get(all.more, "detail");
        detail = detail && value_is(detail, TN_OBJECT) ? value_ref(detail) : value_object();
        detail = value_set_take(detail, "attempts", value_int(self->attempts));
        if (!all.more) all.more = value_set_take(value_object(), "retryable", value_bool(error_retryable(error)));
        all.more = value_set_take(all.more, "detail", detail);
    }
    if (self->started_us) model_call_trace(self, "failed", error->code, NULL);
    (void)call_fail(model_call_detach(self), &all);
    mem_free(text);
    error_finish(&all);
}

/* What happens after an attempt. */
enum model_next { MODEL_ENDED, MODEL_ATTEMPT, MODEL_PAUSE };

static void drop_attempt(struct model_call *self) {
    call_free(self->attempt);
    self->attempt = NULL;
    self->emitted = self->streamed = false;
}

static void model_call_use(struct model_call *self, uint32_t index) {
    struct models *models = self->model->engine->models;
    struct model_deployment *deployment = self->model->providers[index].deployment;
    self->at = index;
    self->tried |= 1u << index;
    self->retries = 0;
    if (deployment) model_deployment_use(models_deployments(models), deployment);
}

/* The pause before retry number `retry` (from 0): it doubles, and a random part of up to half of it is left out. */
static int64_t retry_pause_ms(const struct model_retry *retry, int64_t number) {
    uint32_t random;
    int64_t ms = retry->initial_ms;
    for (int64_t i = 0; i < number && ms < retry->max_ms; i++) ms *= 2;
    if (ms > retry->max_ms) ms = retry->max_ms;
    random_fill(&random, sizeof random);
    return ms - (int64_t)((double)ms / 2 * ((double)random / UINT32_MAX));
}

static void model_on_pause(struct loop_timer *timer);

/* Waits before another attempt with the same model. Returns false if there is none. */
static bool retry_later(struct model_call *self, const struct error *error, int64_t after_ms) {
    const struct model_provider *provider = &self->model->providers[self->at];
    const struct model_retry *retry = &provider->retry;
    if (!error_retryable(error) || self->streamed || self->retries >= retry->attempts || after_ms > retry->after_max_ms)
        return false;
    int64_t pause = retry_pause_ms(retry, self->retries);
    if (after_ms > pause) pause = after_ms;
    self->retries++;
    log_write(pause >= LONG_PAUSE_MS ? LOG_WARN : LOG_INFO, NULL,
              "models.%s: `%s` failed (%s); retry %lld of %lld in %.1f s", self->model->name, provider->name,
              error->code, (long long)self->retries, (long long)retry->attempts, (double)pause / 1000);
    drop_attempt(self);
    loop_timer_start(call_loop(self->call), &self->pause, pause, model_on_pause);
    return true;
}

/* True if the next choice is another deployment of the same model. */
static bool has_other_deployment(struct model_call *self, uint32_t *next) {
    const struct model *model = self->model;
    int64_t now_ms = loop_now_ms(call_loop(self->call));
    return choose_next(self, next) && model->providers[*next].group == model->providers[self->at].group &&
           !provider_is_cool(&model->providers[*next], now_ms);
}

static enum model_next fail_attempt(struct model_call *self, const struct error *error) {
    const struct model *model = self->model;
    int64_t after_ms = error_retry_after_ms(error), limit_ms = model->providers[self->at].retry.after_max_ms;
    bool retryable = error_retryable(error), falls_back = model_role_falls_back(&model->role, error->code, retryable);
    uint32_t next = 0;
    deployment_fail(self, error, after_ms);
    if (strcmp(error->code, "CONTEXT_LENGTH") == 0) skip_smaller_models(self);
    bool deployment = (retryable || falls_back) && has_other_deployment(self, &next);
    if (!deployment && retry_later(self, error, after_ms)) return MODEL_PAUSE;
    if (!deployment && !(falls_back && choose_next(self, &next))) {
        model_call_fail(self, error, retryable && after_ms > limit_ms ? after_ms : 0);
        return MODEL_ENDED;
    }
    report_fallback(self, error, next);
    drop_attempt(self);
    model_call_use(self, next);
    self->fell_back = true;
    return MODEL_ATTEMPT;
}

static enum model_next complete_attempt(struct model_call *self, tn_value output) {
    const char *wrong = malformed_output(output);
    struct error error = ERROR_INIT;
    if (!wrong) {
        model_call_complete(self, output);
        return MODEL_ENDED;
    }
    error_set(&error, TN_INVALID, "INVALID_RESPONSE",
              "the model `%s` returned a malformed answer: %s; expected {message, usage, finish_reason}",
              self->model->providers[self->at].name, wrong);
    self->streamed = true; /* a component that breaks the contract breaks it again */
    enum model_next next = fail_attempt(self, &error);
    error_finish(&error);
    return next;
}

static struct model_gate_side *side_of(const struct model_call *self) { return &self->model->engine->models->side; }

/* The attempt has ended: others may call. Its tokens are known if it has completed. */
static void leave_gate(struct model_call *self) {
    struct usage used;
    bool known = call_outcome(self->attempt) == CALL_COMPLETED;
    tn_value usage = known ? value_get(call_output(self->attempt), "usage") : NULL;
    if (!self->ticket.gate) return;
    usage_from_value(&used, usage);
    model_gate_leave(side_of(self), &self->ticket, usage ? usage_tokens(&used) : -1);
}

static enum model_next handle_attempt_end(struct model_call *self) {
    struct model_deployment *deployment = self->model->providers[self->at].deployment;
    leave_gate(self);
    struct error cancelled = ERROR_INIT;
    const struct error *error = call_error(self->attempt);
    if (deployment) atomic_fetch_sub(&deployment->inside, 1);
    switch (call_outcome(self->attempt)) {
    case CALL_COMPLETED: return complete_attempt(self, call_output(self->attempt));
    case CALL_INTERRUPTED:
        (void)call_interrupt_take(model_call_detach(self), value_ref(call_interrupt_value(self->attempt)));
        return MODEL_ENDED;
    case CALL_CANCELLED:
        error_set(&cancelled, TN_CANCELLED, "CANCELLED", "the call was cancelled");
        if (self->started_us) model_call_trace(self, "cancelled", "CANCELLED", NULL);
        (void)call_fail(model_call_detach(self), error && error->code ? error : &cancelled);
        error_finish(&cancelled);
        return MODEL_ENDED;
    default: return fail_attempt(self, error);
    }
}

/* ---- Attempts ---- */

static void model_call_free(struct model_call *self) {
    loop_timer_stop(self->model->engine->loop, &self->pause);
    model_gate_leave(side_of(self), &self->ticket, -1);
    call_free(self->attempt);
    value_unref(self->input);
    value_unref(self->cache_key);
    callable_unref(&self->model->callable);
    mem_free(self);
}

static void attempt_ended(struct call *attempt);

static bool attempt_chunk(struct call *attempt, tn_value chunk) {
    struct model_call *self = call_owner(attempt);
    self->streamed = true;
    if (!call_wants_chunks(self->call)) return true;
    self->emitted = true;
    return call_emit(call_token(self->call), chunk) != TN_AGAIN;
}

static tn_value attempt_context(struct call *attempt) {
    return context_of(((struct model_call *)call_owner(attempt))->call);
}

static tn_value attempt_run_value(struct call *attempt) {
    struct call *call = ((struct model_call *)call_owner(attempt))->call;
    const struct call_ops *ops = call_ops_of(call);
    return ops->run_value ? ops->run_value(call) : NULL;
}

static const struct call_ops attempt_ops = {
    .ended = attempt_ended, .chunk = attempt_chunk, .context = attempt_context, .run_value = attempt_run_value};

/* A budget that other calls have used up meanwhile ends the call. Returns false if it has. */
static bool check_budget(struct model_call *self) {
    struct call *root = call_root(self->call);
    const struct call_ops *ops = call_ops_of(root);
    struct error error = ERROR_INIT;
    bool allowed = !ops->check_budget || ops->check_budget(root, &error) == TN_OK;
    if (!allowed) (void)call_fail(model_call_detach(self), &error);
    error_finish(&error);
    return allowed;
}

static void run_attempts(struct model_call *self);

static void model_call_on_enter(struct model_ticket *ticket) {
    struct model_call *self = CONTAINER_OF(ticket, struct model_call, ticket);
    self->entered = true;
    if (!self->entering) run_attempts(self);
}

/* The batches of embeddings pass the gate one by one (model_embed.c). */
enum model_entry { MODEL_ENTERED, MODEL_WAITS, MODEL_REFUSED };

static enum model_entry enter_gate(struct model_call *self, const struct model_provider *provider) {
    uint32_t ahead = 0;
    if (!provider->key.name || self->ticket.gate || model_embed_is_wanted(self->input)) return MODEL_ENTERED;
    self->ticket.enter = model_call_on_enter;
    self->entered = false;
    self->entering = true;
    bool accepted =
        model_gate_enter(side_of(self), &provider->key,
                         provider->key.limits.tokens ? usage_estimate_tokens(self->input) : 0, &self->ticket, &ahead);
    self->entering = false;
    if (!accepted) return MODEL_REFUSED;
    if (self->entered) return MODEL_ENTERED;
    log_write(LOG_INFO, NULL, "models.%s: `%s` waits for the limits of the key %s; %u calls before it",
              self->model->name, provider->name, provider->key.name, ahead);
    return MODEL_WAITS;
}

/* The queue of the key is full: another model may be free. */
static enum model_next fail_at_gate(struct model_call *self, const struct model_provider *provider) {
    struct error error = ERROR_INIT;
    model_gate_set_full(&provider->key, &error);
    self->retries = provider->retry.attempts; /* waiting is what the queue is for */
    enum model_next next = fail_attempt(self, &error);
    error_finish(&error);
    return next;
}

/* Starts attempts until one is pending, a pause begins, or the call has ended. In the last case `self` is freed. */
static void run_attempts(struct model_call *self) {
    enum model_next next = MODEL_ATTEMPT;
    while (next == MODEL_ATTEMPT && check_budget(self)) {
        const struct model_provider *provider = &self->model->providers[self->at];
        enum model_entry entry = enter_gate(self, provider);
        if (entry == MODEL_WAITS) return;
        if (entry == MODEL_REFUSED) {
            next = fail_at_gate(self, provider);
            continue;
        }
        self->attempts++;
        if (provider->deployment) atomic_fetch_add(&provider->deployment->inside, 1);
        struct callable *callable = model_embed_is_wanted(self->input) ? provider->embedder : provider->callable;
        self->attempt = call_new(call_loop(self->call), callable, &attempt_ops, self);
        if (!call_start(self->attempt, self->input)) return;
        next = handle_attempt_end(self);
    }
    if (next != MODEL_PAUSE) model_call_free(self);
}

static void attempt_ended(struct call *attempt) {
    struct model_call *self = call_owner(attempt);
    enum model_next next = handle_attempt_end(self);
    if (next == MODEL_ATTEMPT)
        run_attempts(self);
    else if (next == MODEL_ENDED)
        model_call_free(self);
}

static void model_on_pause(struct loop_timer *timer) { run_attempts(CONTAINER_OF(timer, struct model_call, pause)); }

/* ---- The callable ---- */

/* Completes the call with an answer of the cache, if there is one. The text is emitted as one delta. */
static bool complete_from_cache(struct model_call *self) {
    const struct model *model = self->model;
    if (!self->cache_key) return false;
    tn_value output = model_cache_get(model->engine->models, self->cache_key, loop_now_ms(call_loop(self->call)));
    if (!output) return false;
    tn_value content = value_get(value_get(output, "message"), "content");
    if (call_wants_chunks(self->call) && value_is(content, TN_STRING)) {
        tn_value delta = value_set_take(value_object_reserve(1), "content", value_ref(content));
        (void)call_emit(call_token(self->call), delta);
        value_unref(delta);
    }
    if (self->started_us) model_call_trace(self, "done", NULL, output);
    (void)call_complete(model_call_detach(self), output);
    value_unref(output);
    return true;
}

static int32_t model_start(struct callable *callable, struct call *call, tn_value input) {
    struct model *model = (struct model *)callable;
    struct model_call *self = mem_zalloc(sizeof *self);
    uint32_t first = 0;
    self->model = (struct model *)(void *)callable_ref(&model->callable);
    self->call = call;
    self->input = input ? value_ref(input) : value_null();
    self->started_us = trace_start(call_loop(call));
    if (model->role.cache_ttl_ms > 0) self->cache_key = model_cache_key(model, self->input);
    call_set_data(call, self);
    (void)choose_next(self, &first);
    model_call_use(self, first);
    if (complete_from_cache(self))
        model_call_free(self);
    else
        run_attempts(self);
    return TN_OK;
}

static void model_cancel(struct callable *callable, struct call *call) {
    (void)callable;
    struct model_call *self = call_data(call);
    struct error cancelled = ERROR_INIT;
    if (!self) return;
    if (self->attempt) {
        call_cancel(self->attempt);
        return;
    }
    if (!loop_timer_is_running(&self->pause) && !self->ticket.gate) return;
    error_set(&cancelled, TN_CANCELLED, "CANCELLED", "the call was cancelled");
    if (self->started_us) model_call_trace(self, "cancelled", "CANCELLED", NULL);
    (void)call_fail(model_call_detach(self), &cancelled);
    error_finish(&cancelled);
    model_call_free(self);
}

static void model_ready(struct callable *callable, struct call *call) {
    (void)callable;
    struct model_call *self = call_data(call);
    if (self && self->attempt) call_resume(self->attempt);
}

const struct callable_ops model_ops = {
    .start = model_start, .cancel = model_cancel, .ready = model_ready, .free = model_free};
