/*
 * lists.c - tools/list, prompts/list, resources/list, completions, and the catalogue that they and calls need.
 *
 * The catalogue depends on the user. It is kept for a second only, because a graph may change. The list of
 * resources ends with the Artifacts of the user, the newest first; its cursor is then `a:` and the id of the last one.
 */
#include "catalogue.h"
#include "methods.h"
#include "session.h"

#define ARTIFACTS_PAGE 100

void exchange_fail_with(struct exchange *exchange, tn_value error) {
    struct problem problem = {0};
    int32_t status = serving_error_status(error);
    bool theirs = status == 400 || status == 404;
    (void)problem_set(&problem, theirs ? 200 : status, theirs ? MCPS_INVALID_PARAMS : MCPS_INTERNAL, "%.100s: %.200s",
                      tn_get_text(error, "code", "FAILED"), tn_get_text(error, "message", "the request has failed"));
    exchange_fail(exchange, &problem);
}

/* ---- The catalogue ---- */

static int64_t now_ms(void) { return tn.core->monotonic_ns(tn.host) / 1000000; }

void plugin_forget_catalogues(struct plugin *plugin) {
    for (size_t i = 0; i < MCPS_CATALOGUES; i++) {
        tn_release(plugin->catalogues[i].catalogue);
        plugin->catalogues[i].catalogue = NULL;
    }
}

/* A new reference; NULL if none is kept, or it is too old. */
static tn_value kept_catalogue(const struct plugin *plugin, const char *owner) {
    for (size_t i = 0; i < MCPS_CATALOGUES; i++) {
        const struct kept_catalogue *kept = &plugin->catalogues[i];
        if (kept->catalogue != NULL && kept->until_ms > now_ms() && strcmp(kept->owner, owner) == 0)
            return tn_retain(kept->catalogue);
    }
    return NULL;
}

/* Replaces the user's last one, else a free place, else the oldest. */
static void keep_catalogue(struct plugin *plugin, const char *owner, tn_value catalogue) {
    struct kept_catalogue *place = &plugin->catalogues[0];
    for (size_t i = 0; i < MCPS_CATALOGUES; i++) {
        struct kept_catalogue *kept = &plugin->catalogues[i];
        if (kept->catalogue != NULL && strcmp(kept->owner, owner) == 0) {
            place = kept;
            break;
        }
        if (place->catalogue != NULL && (kept->catalogue == NULL || kept->until_ms < place->until_ms)) place = kept;
    }
    tn_release(place->catalogue);
    place->catalogue = tn_retain(catalogue);
    place->until_ms = now_ms() + MCPS_CATALOGUE_MS;
    (void)snprintf(place->owner, sizeof place->owner, "%s", owner);
}

static void TN_ABI on_tools(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    exchange->call = 0;
    /* Without served tools the user may not list them: then the graphs are all there is. */
    exchange->catalogue = catalogue_new(exchange->graphs, status == TN_OK ? tn_get(value, "tools") : NULL);
    if (exchange->catalogue != NULL) keep_catalogue(exchange->plugin, exchange->owner, exchange->catalogue);
    exchange->then(exchange);
}

static void on_graphs(void *user, tn_value graphs, tn_value error) {
    struct exchange *exchange = user;
    exchange->lookup = NULL;
    if (graphs == NULL) {
        exchange_fail_with(exchange, error);
        return;
    }
    exchange->graphs = tn_retain(graphs);
    serving_call_take(&exchange->plugin->serving, exchange->caller, "tool/list", tn_build("{}"), on_tools, exchange,
                      &exchange->call);
}

void exchange_with_catalogue(struct exchange *exchange, void (*then)(struct exchange *exchange)) {
    struct problem problem = {0};
    exchange->catalogue = kept_catalogue(exchange->plugin, exchange->owner);
    if (exchange->catalogue != NULL) {
        then(exchange);
        return;
    }
    exchange->then = then;
    exchange->lookup = serving_graphs(&exchange->plugin->serving, exchange->caller, on_graphs, exchange);
    if (exchange->lookup != NULL) return;
    (void)problem_set(&problem, 500, MCPS_INTERNAL, "memory ran out");
    exchange_fail(exchange, &problem);
}

/* ---- Lists ---- */

static void respond_page(struct exchange *exchange, const char *list, const char *member) {
    struct problem problem = {0};
    tn_value page = catalogue_page(exchange->catalogue, list, member, tn_get(exchange->params, "cursor"), &problem);
    if (problem.status != 0)
        exchange_fail(exchange, &problem);
    else
        exchange_result_take(exchange, page);
}

/* `execution` (whether a tool can be a task) is of 2025-11-25. Takes the tools. */
static tn_value without_execution_take(tn_value tools) {
    tn_value made = tn_build("[]");
    for (uint64_t i = 0, count = tn.value->count(tools); i < count; i++)
        (void)tn_append_take(&made, value_without(tn.value->at(tools, i), "execution"));
    tn_release(tools);
    return made;
}

static void respond_tools(struct exchange *exchange) {
    struct problem problem = {0};
    bool shows = !exchange->modern && strcmp(exchange->session->version, MCPS_LEGACY) >= 0 &&
                 serving_true(tn_get(exchange->plugin->config, "tasks"));
    tn_value page = catalogue_page(exchange->catalogue, "tools", "tools", tn_get(exchange->params, "cursor"), &problem);
    if (problem.status != 0) {
        exchange_fail(exchange, &problem);
        return;
    }
    if (!shows) page = tn_set_take(page, "tools", without_execution_take(tn_retain(tn_get(page, "tools"))));
    exchange_result_take(exchange, page);
}
static void respond_prompts(struct exchange *exchange) { respond_page(exchange, "prompts", "prompts"); }
static void respond_templates(struct exchange *exchange) { respond_page(exchange, "templates", "resourceTemplates"); }

void method_list_tools(struct exchange *exchange) { exchange_with_catalogue(exchange, respond_tools); }
void method_list_prompts(struct exchange *exchange) { exchange_with_catalogue(exchange, respond_prompts); }
void method_list_templates(struct exchange *exchange) { exchange_with_catalogue(exchange, respond_templates); }

/* ---- Resources ---- */

static tn_value artifact_resource(tn_value artifact) {
    char uri[256];
    const char *id = tn_get_text(artifact, "artifact_id", "");
    tn_value metadata = tn_get(artifact, "metadata");
    (void)snprintf(uri, sizeof uri, "artifact:%.240s", id);
    return tn_build("{s:s, s:s, s:s*, s:s*, s:v*}", "uri", uri, "name",
                    tn_get_text(metadata, "name", tn_get_text(metadata, "title", id)), "title",
                    tn_get_text(metadata, "title", NULL), "mimeType", tn_get_text(artifact, "media_type", NULL), "size",
                    tn_get(artifact, "size"));
}

/* `graphs` has the page of declared resources by now. */
static void TN_ABI on_artifacts(void *user, int32_t status, tn_value value) {
    struct exchange *exchange = user;
    exchange->call = 0;
    tn_value found = status == TN_OK ? tn_get(value, "artifacts") : NULL;
    tn_value page = exchange->graphs, list = tn_retain(tn_get(page, "resources"));
    exchange->graphs = NULL;
    uint64_t count = tn.value->count(found);
    for (uint64_t i = 0; i < count; i++) (void)tn_append_take(&list, artifact_resource(tn.value->at(found, i)));
    page = tn_set_take(page, "resources", list);
    if (count > 0 && serving_true(tn_get(value, "more"))) {
        char cursor[256];
        (void)snprintf(cursor, sizeof cursor, "a:%.240s",
                       tn_get_text(tn.value->at(found, count - 1), "artifact_id", ""));
        page = tn_set_take(page, "nextCursor", tn_text(cursor));
    }
    exchange_result_take(exchange, page);
}

static void list_artifacts_take(struct exchange *exchange, tn_value page, const char *after) {
    if (!serving_true(tn_get(exchange->plugin->config, "artifacts"))) {
        exchange_result_take(exchange, page);
        return;
    }
    tn_release(exchange->graphs);
    exchange->graphs = page;
    serving_call_take(&exchange->plugin->serving, exchange->caller, "artifact/search",
                      tn_build("{s:i, s:s*}", "limit", ARTIFACTS_PAGE, "after", after), on_artifacts, exchange,
                      &exchange->call);
}

static void respond_resources(struct exchange *exchange) {
    struct problem problem = {0};
    tn_value page =
        catalogue_page(exchange->catalogue, "resources", "resources", tn_get(exchange->params, "cursor"), &problem);
    if (problem.status != 0)
        exchange_fail(exchange, &problem);
    else if (tn_get(page, "nextCursor") != NULL)
        exchange_result_take(exchange, page);
    else
        list_artifacts_take(exchange, page, NULL);
}

void method_list_resources(struct exchange *exchange) {
    const char *cursor = tn_get_text(exchange->params, "cursor", "");
    if (strncmp(cursor, "a:", 2) == 0 && strlen(cursor) < 256)
        list_artifacts_take(exchange, tn_build("{s:[]}", "resources"), cursor + 2);
    else
        exchange_with_catalogue(exchange, respond_resources);
}

/* ---- Completions ---- */

static void respond_completion(struct exchange *exchange) {
    struct problem problem = {0};
    tn_value ref = tn_get(exchange->params, "ref"), argument = tn_get(exchange->params, "argument");
    bool prompt = serving_is(tn_get(ref, "type"), "ref/prompt");
    const char *name = tn_get_text(ref, prompt ? "name" : "uri", ""), *value = tn_get_text(argument, "value", NULL);
    tn_value entry = prompt ? catalogue_find(exchange->catalogue, "prompts", "name", name)
                            : catalogue_find(exchange->catalogue, "templates", "uriTemplate", name);
    const char *argument_name = tn_get_text(argument, "name", NULL);
    if (entry == NULL)
        (void)problem_set(&problem, 200, MCPS_INVALID_PARAMS, "there is no %s `%.200s`",
                          prompt ? "prompt" : "resource template", name);
    else if (argument_name == NULL || value == NULL)
        (void)problem_set(&problem, 200, MCPS_INVALID_PARAMS, "`argument` must have the strings `name` and `value`");
    if (problem.status != 0)
        exchange_fail(exchange, &problem);
    else
        exchange_result_take(exchange,
                             tn_build("{s:V}", "completion", catalogue_complete(entry, argument_name, value)));
}

void method_complete(struct exchange *exchange) {
    struct problem problem = {0};
    tn_value type = tn_get(tn_get(exchange->params, "ref"), "type");
    if (serving_is(type, "ref/prompt") || serving_is(type, "ref/resource")) {
        exchange_with_catalogue(exchange, respond_completion);
        return;
    }
    (void)problem_set(&problem, 200, MCPS_INVALID_PARAMS, "`ref.type` must be `ref/prompt` or `ref/resource`");
    exchange_fail(exchange, &problem);
}
