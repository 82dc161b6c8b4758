/*
 * methods.c - the table of methods, and those that need nothing but their parameters.
 */
#include "methods.h"
#include "session.h"

/* ---- Handshake ---- */

static void method_initialize(struct exchange *exchange) {
    struct problem problem = {0};
    if (tn_get_text(exchange->params, "protocolVersion", NULL) == NULL) {
        (void)problem_set(&problem, 400, MCPS_INVALID_PARAMS, "`protocolVersion` is missing, or is not a string");
        exchange_fail(exchange, &problem);
        return;
    }
    struct session *session = session_new(exchange->plugin, exchange->request, exchange->params);
    if (session == NULL) {
        (void)problem_set(&problem, 429, MCPS_INTERNAL, "too many sessions are open; try again later");
        exchange_fail(exchange, &problem);
        return;
    }
    exchange->session = session;
    session->exchange_count++;
    exchange_result_take(exchange, tn_build("{s:s, s:V, s:v, s:s*}", "protocolVersion", session->version,
                                            "capabilities", plugin_capabilities(exchange->plugin, session->version),
                                            "serverInfo", exchange->plugin->info, "instructions",
                                            tn_get_text(exchange->plugin->config, "instructions", NULL)));
}

static void method_discover(struct exchange *exchange) {
    exchange_result_take(exchange, tn_build("{s:[s], s:V, s:s*}", "supportedVersions", MCPS_MODERN, "capabilities",
                                            plugin_capabilities(exchange->plugin, MCPS_MODERN), "instructions",
                                            tn_get_text(exchange->plugin->config, "instructions", NULL)));
}

static void method_ping(struct exchange *exchange) { exchange_result_take(exchange, tn_build("{}")); }

static void method_set_level(struct exchange *exchange) {
    int32_t level = events_log_level(tn_get_text(exchange->params, "level", NULL));
    struct problem problem = {0};
    if (level < 0) {
        (void)problem_set(&problem, 200, MCPS_INVALID_PARAMS,
                          "`level` must be one of debug, info, notice, warning, error, critical, alert, emergency");
        exchange_fail(exchange, &problem);
        return;
    }
    exchange->session->log_level = level;
    exchange_result_take(exchange, tn_build("{}"));
}

/* ---- Subscriptions ---- */

static void subscribe(struct exchange *exchange, bool on) {
    const char *uri = tn_get_text(exchange->params, "uri", NULL);
    struct problem problem = {0};
    if (uri == NULL || *uri == '\0' || strlen(uri) > MCPS_URI_MAX)
        (void)problem_set(&problem, 200, MCPS_INVALID_PARAMS, "`uri` must be a string of 1 to %d bytes", MCPS_URI_MAX);
    else
        session_subscribe(exchange->session, uri, on, &problem);
    if (problem.status != 0)
        exchange_fail(exchange, &problem);
    else
        exchange_result_take(exchange, tn_build("{}"));
}

static void method_subscribe(struct exchange *exchange) { subscribe(exchange, true); }
static void method_unsubscribe(struct exchange *exchange) { subscribe(exchange, false); }

/* ---- The table ---- */

#define LIST_TTL_MS 5000

static const struct method methods[] = {
    /* name, legacy, modern, cached, ttl_ms, run */
    {"initialize", true, false, false, 0, method_initialize},
    {"ping", true, false, false, 0, method_ping},
    {"server/discover", false, true, true, LIST_TTL_MS, method_discover},
    {"tools/list", true, true, true, LIST_TTL_MS, method_list_tools},
    {"tools/call", true, true, false, 0, method_call},
    {"prompts/list", true, true, true, LIST_TTL_MS, method_list_prompts},
    {"prompts/get", true, true, false, 0, method_call},
    {"resources/list", true, true, true, LIST_TTL_MS, method_list_resources},
    {"resources/templates/list", true, true, true, LIST_TTL_MS, method_list_templates},
    {"resources/read", true, true, true, 0, method_call},
    {"resources/subscribe", true, false, false, 0, method_subscribe},
    {"resources/unsubscribe", true, false, false, 0, method_unsubscribe},
    {"completion/complete", true, true, false, 0, method_complete},
    {"logging/setLevel", true, false, false, 0, method_set_level},
    {"subscriptions/listen", false, true, false, 0, listener_open},
    {"tasks/get", true, true, false, 0, method_task_get},
    {"tasks/list", true, false, false, 0, method_task_list},
    {"tasks/update", false, true, false, 0, method_task_update},
    {"tasks/cancel", true, true, false, 0, method_task_cancel},
    {"tasks/result", true, false, false, 0, method_task_result},
};

const struct method *method_find(const struct plugin *plugin, const char *name, bool modern) {
    if (strncmp(name, "tasks/", 6) == 0 && !serving_true(tn_get(plugin->config, "tasks"))) return NULL;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(methods[i].name, name) == 0)
            return (modern ? methods[i].modern : methods[i].legacy) ? &methods[i] : NULL;
    return NULL;
}
