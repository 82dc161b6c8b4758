/*
 * web_schedule.c - whether the key that has made a schedule may start a run now, without a request: it must still be
 * valid and have the scope `run`, and the run counts for its limits, as one that it starts by a request.
 *
 * Users whom an authenticator knows have no key here. Their schedules end after `token_schedule_days` of `serve:
 * {limits}` (methods_schedule.c), and without this limit they start nothing.
 */
#include "host/plugin/call/owner.h"
#include "host/server/server.h"
#include "host/server/server_timetable.h"
#include "host/server/web/web_internal.h"
#include <string.h>

static int32_t starter_check(void *user, const char *key, const char *owner, struct error *error) {
    const struct web *web = user;
    int64_t days = server_timetable_days(web->server, key);
    const struct access_key *found = days == 0 ? access_find(web->access, key) : NULL;
    bool valid = found && found->scope >= METHOD_RUN && found->owner && strcmp(found->owner, owner) == 0;
    if (days == 0 && !valid)
        return error_set(error, TN_FAILED, "PERMISSION_DENIED",
                         "the key `%s`, which has made the schedule, was revoked, or has expired", key);
    if (days < 0)
        return error_set(error, TN_FAILED, "PERMISSION_DENIED",
                         "`%s` has no key, and `serve: {limits}` has no `token_schedule_days`", key);
    tn_value limits = found ? found->limits : value_get(web->config, "limits");
    return key_use_check(web_limits_use(web->limits, key), limits, method_find("run/start"), error);
}

static void starter_started(void *user, const char *key, const char *owner, tn_value result) {
    const struct web *web = user;
    key_use_done(web_limits_use(web->limits, key), owner, method_find("run/start"), NULL, result);
}

void web_set_starter(struct web *web, bool on) {
    const struct server_starter starter = {starter_check, starter_started, web};
    server_set_starter(web->server, on ? &starter : NULL);
}
