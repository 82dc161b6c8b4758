/*
 * methods_model.c - models: methods/model.yaml.
 */
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/base/loop.h"
#include "host/engine/engine.h"
#include "host/engine/graph/binding.h"
#include "host/engine/model/model.h"
#include "host/engine/model/model_listing.h"
#include "host/engine/model/model_test.h"
#include "host/plugin/call/authority.h"
#include "host/plugin/call/call.h"
#include "host/server/method_call.h"
#include "host/server/method_internal.h"
#include "host/server/server.h"

#define MODEL_EMBED_TIMEOUT_MS 600000 /* of all batches of model/embed */

/* ---- list ---- */

static int32_t model_list(const struct method_call *call, struct error *error) {
    const struct engine *engine = server_engine(call->server);
    (void)error;
    tn_value result = value_set_take(value_object_reserve(2), "providers", model_list_providers(engine));
    return method_done_take(call, value_set_take(result, "roles", model_list_roles(engine)));
}

/* ---- test ---- */

/* One test. It ends with the call of the model. */
struct model_test {
    struct loop *loop;
    uint64_t token; /* of the method's call */
    struct model_test_time time;
};

static int32_t model_test_report_call(void *user, int32_t status, tn_value value) {
    struct model_test *test = user;
    void *token = (void *)(uintptr_t)test->token;
    if (status == TN_CHUNK) {
        (void)model_test_note_chunk(&test->time, value, loop_clock_us(test->loop));
        return TN_OK;
    }
    if (status == TN_OK) {
        tn_value report = model_test_report(value, &test->time, loop_clock_us(test->loop));
        method_on_stored(token, TN_OK, report, NULL);
        value_unref(report);
    } else {
        call_end_alike(token, status, value);
    }
    mem_free(test);
    return TN_OK;
}

/* A component may test what it may call. In a document that a component made, that is a role, or what the user named.
 */
static int32_t model_check_caller(const struct authority *caller, const char *name, bool is_role, struct error *error) {
    int32_t status = authority_check(caller, "model", name, NULL, error);
    if (status != TN_OK || is_role || !authority_is_made(authority_document(caller)) ||
        authority_is_named(caller, "model", name))
        return status;
    return error_set(error, TN_INVALID, "PERMISSION_DENIED",
                     "the document `%s` was not written by the user and may use only roles that tenon.yaml or a "
                     "document around it binds; found `%.200s`",
                     authority_document(caller)->name, name);
}

static int32_t model_open(const struct method_call *call, struct callable **out, struct error *error) {
    struct engine *engine = server_engine(call->server);
    const struct authority *caller = method_authority(call);
    const char *name = method_text(call, "model");
    tn_value role = binding_of_role(engine, caller, name);
    int32_t status = model_check_caller(caller, name, role != NULL, error);
    if (status != TN_OK) return status;
    tn_value binding = role ? value_ref(role) : value_text(name);
    method_defer_loads(call, true);
    status = model_new(engine, name, binding, NULL, out, error);
    method_defer_loads(call, false);
    value_unref(binding);
    if (status == TN_OK) return status;
    if (!role) model_suggest_role(engine->config, name, error);
    return method_wait_for_plugins(call, status);
}

static int32_t model_test_method(const struct method_call *call, struct error *error) {
    static const struct call_options options = {CALL_CHUNKS_RECEIVE, MODEL_TEST_TIMEOUT_MS};
    struct callable *model = NULL;
    tn_call number;
    int32_t status = model_open(call, &model, error);
    if (status != TN_OK) return status;
    struct model_test *test = mem_zalloc(sizeof *test);
    test->loop = server_loop(call->server);
    test->token = call->token;
    test->time.started_us = loop_clock_us(test->loop);
    tn_value input = model_test_input(method_text(call, "prompt"), model);
    status = method_refuse_child(
        call_child_with(call->token, model, true, input, &options, model_test_report_call, test, &number), error);
    if (status != TN_OK) mem_free(test);
    value_unref(input);
    callable_unref(model);
    return status;
}

/* ---- embed ---- */

/* {embed, options?, batch?} of the parameters; a new reference. */
static tn_value model_embed_input(const struct method_call *call) {
    tn_value dimensions = value_get(call->params, "dimensions"), batch = value_get(call->params, "batch");
    tn_value input = value_set_take(value_object_reserve(3), "embed", value_ref(value_get(call->params, "texts")));
    if (dimensions)
        input = value_set_take(input, "options",
                               value_set_take(value_object_reserve(1), "dimensions", value_ref(dimensions)));
    return batch ? value_set_take(input, "batch", value_ref(batch)) : input;
}

/* The result has exactly these members, whatever else a provider adds. */
static int32_t model_embed_report_call(void *user, int32_t status, tn_value value) {
    static const char *const members[] = {"model", "embeddings", "usage"};
    if (status == TN_CHUNK) return TN_OK;
    if (status != TN_OK) {
        call_end_alike(user, status, value);
        return TN_OK;
    }
    tn_value report = value_object_reserve(3);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (value_get(value, members[i]))
            report = value_set_take(report, members[i], value_ref(value_get(value, members[i])));
    method_on_stored(user, TN_OK, report, NULL);
    value_unref(report);
    return TN_OK;
}

static int32_t model_embed_method(const struct method_call *call, struct error *error) {
    static const struct call_options options = {CALL_CHUNKS_DROP, MODEL_EMBED_TIMEOUT_MS};
    struct callable *model = NULL;
    tn_call number;
    int32_t status = model_open(call, &model, error);
    if (status != TN_OK) return status;
    tn_value input = model_embed_input(call);
    status = method_refuse_child(call_child_with(call->token, model, true, input, &options, model_embed_report_call,
                                                 (void *)(uintptr_t)call->token, &number),
                                 error);
    value_unref(input);
    callable_unref(model);
    return status;
}

const struct method_handler model_methods[] = {
    {"model/embed", model_embed_method},
    {"model/list", model_list},
    {"model/test", model_test_method},
    {NULL, NULL},
};
