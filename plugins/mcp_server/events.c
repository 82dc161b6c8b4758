/*
 * events.c - events of a run as notifications.
 *
 * Progress only increases, as the protocol demands: a value that does not is dropped.
 */
#include "events.h"

int32_t events_log_level(const char *name) {
    static const char *const levels[] = {"debug", "info",     "notice", "warning",
                                         "error", "critical", "alert",  "emergency"};
    for (int32_t i = 0; name != NULL && i < (int32_t)(sizeof levels / sizeof *levels); i++)
        if (strcmp(levels[i], name) == 0) return i;
    return -1;
}

static void notify_take(const struct events_handler *handler, void *user, const char *method, tn_value params) {
    tn_value notification = reply_notification_take(method, params);
    if (notification != NULL) handler->notify(user, notification);
    tn_release(notification);
}

static void map_progress(struct events *events, tn_value progress, const struct events_handler *handler, void *user) {
    double value = tn_get_num(progress, "progress", -1);
    bool first = !events->reported && events->progress == 0; /* 0 is a valid beginning */
    if (events->token == NULL || value < 0 || (!first && value <= events->progress)) return;
    events->reported = true;
    events->progress = value;
    tn_value total = tn_get(progress, "total"), message = tn_get(progress, "message");
    notify_take(handler, user, "notifications/progress",
                tn_build("{s:v, s:v, s:v*, s:v*}", "progressToken", events->token, "progress",
                         tn_get(progress, "progress"), "total", tn.value->kind(total) > TN_NULL ? total : NULL,
                         "message", tn_chars(message, NULL) != NULL ? message : NULL));
}

static void map_log(const struct events *events, tn_value log, const struct events_handler *handler, void *user) {
    const char *level = tn_get_text(log, "level", "info");
    tn_value data = tn_get(log, "data");
    if (events_log_level(level) < events->log_level || events_log_level(level) < 0 || data == NULL) return;
    notify_take(handler, user, "notifications/message",
                tn_build("{s:s, s:s*, s:v}", "level", level, "logger", tn_get_text(log, "logger", NULL), "data", data));
}

static void map_custom(struct events *events, tn_value data, const struct events_handler *handler, void *user) {
    tn_value ours = tn_get(data, "mcp");
    const char *list = tn_get_text(ours, "changed", NULL), *uri = tn_get_text(ours, "updated", NULL);
    if (!value_is_object(ours)) return;
    if (tn_get(ours, "progress") != NULL) map_progress(events, tn_get(ours, "progress"), handler, user);
    if (tn_get(ours, "log") != NULL) map_log(events, tn_get(ours, "log"), handler, user);
    if (list != NULL && (strcmp(list, "tools") == 0 || strcmp(list, "prompts") == 0 || strcmp(list, "resources") == 0))
        handler->changed(user, list);
    if (uri != NULL) handler->updated(user, uri);
    if (serving_true(tn_get(ours, "disconnect"))) handler->disconnect(user);
}

/* An activation of the outermost graph has ended. */
static void map_task(struct events *events, tn_value event, const struct events_handler *handler, void *user) {
    bool ended = serving_is(tn_get(event, "event"), "end") && serving_is(tn_get(event, "outcome"), "done");
    if (!events->counts || events->reported || events->token == NULL || !ended || tn_get(event, "path") != NULL) return;
    events->progress += 1;
    notify_take(handler, user, "notifications/progress",
                tn_build("{s:v, s:f, s:s}", "progressToken", events->token, "progress", events->progress, "message",
                         tn_get_text(event, "node", "")));
}

void events_map(struct events *events, tn_value event, const struct events_handler *handler, void *user) {
    tn_value type = tn_get(event, "type");
    if (serving_is(type, "custom"))
        map_custom(events, tn_get(event, "data"), handler, user);
    else if (serving_is(type, "tasks"))
        map_task(events, event, handler, user);
}
