/*
 * remote_pause.c - counts the deaths of a remote plugin's processes, and how long to pause before the next start.
 *
 * The pause doubles with each death in a row, and ends early if the deaths are reset, here or by another process.
 */
#include "host/base/log.h"
#include "host/plugin/isolate/remote_deaths.h"
#include "host/plugin/isolate/remote_internal.h"
#include "host/plugin/registry/plugin.h"

int64_t remote_pause_after(uint32_t deaths_in_a_row) {
    int64_t pause = REMOTE_PAUSE_MS;
    for (uint32_t i = 1; i < deaths_in_a_row && pause < REMOTE_PAUSE_MAX_MS; i++) pause *= 2;
    return pause < REMOTE_PAUSE_MAX_MS ? pause : REMOTE_PAUSE_MAX_MS;
}

void remote_clear_deaths(struct remote *remote) {
    remote->deaths = remote->in_a_row = 0;
    remote->restart_ms = 0;
    remote->record = 0;
    for (struct remote_child *child = remote->pool; child; child = child->next) child->deaths_before = 0;
    if (remote->shared) remote->shared->deaths_before = 0;
    store_deaths_clear(remote->store_deaths);
}

/* `tenon plugin reset`, in another process, removes the record of the deaths: then they do not count here either. */
static void remote_notice_reset(struct remote *remote) {
    if (remote->record && deaths_were_reset(remote->host->state_folder, plugin_id(remote->plugin), remote->record))
        remote_clear_deaths(remote);
}

static int64_t pause_left(const struct remote *remote) {
    int64_t left = remote->restart_ms - loop_now_ms(remote->host->loop);
    return left > 0 ? left : 0;
}

int64_t remote_pause_left(struct remote *remote) {
    remote_notice_reset(remote);
    return pause_left(remote);
}

void remote_pause(struct remote *remote) {
    remote->restart_ms = loop_now_ms(remote->host->loop) + remote_pause_after(remote->in_a_row);
}

/*
 * A death follows another one in a row if its process was started after that one. One call that fails again and again
 * in older processes, or many that fail at once, does not make the pause longer for all others.
 */
void remote_count_death(struct remote *remote, const struct remote_child *child, const struct error *why) {
    remote_notice_reset(remote);
    if (!child || child->deaths_before == remote->deaths || remote->in_a_row == 0) remote->in_a_row++;
    value_unref(remote->environment);
    remote->environment = NULL;
    remote->deaths++;
    remote_pause(remote);
    if (why != &remote->last_end) {
        error_finish(&remote->last_end);
        error_copy(&remote->last_end, why);
    }
    const struct death death = {.plugin = plugin_id(remote->plugin),
                                .file = plugin_path(remote->plugin),
                                .message = why->message,
                                .in_a_row = remote->in_a_row,
                                .now_ms = loop_wall_ms(remote->host->loop),
                                .pause_ms = pause_left(remote)};
    int64_t record = remote->host->state_folder ? deaths_add(remote->host->state_folder, &death) : 0;
    if (record) remote->record = record;
}

void remote_describe_pause(const struct remote *remote, bool others_run, struct error *error) {
    error->more = value_set_take(error->more ? error->more : value_object(), "retryable", value_bool(true));
    error->more = value_set_take(error->more, "retry_after_ms", value_int(others_run ? 0 : pause_left(remote)));
}

void remote_log_death(const struct remote *remote, const struct error *why) {
    const char *id = plugin_id(remote->plugin);
    long long left = pause_left(remote);
    if (remote->in_a_row < REMOTE_REPORT_DEATHS)
        log_write(LOG_ERROR, NULL, "%s; it is started again in %lld ms", why->message, left);
    else if (!remote->record) /* the command could not reach this host */
        log_write(LOG_ERROR, NULL, "%s; it has ended %u times in a row, and is started again in %lld ms", why->message,
                  remote->in_a_row, left);
    else
        log_write(LOG_ERROR, NULL,
                  "%s; it has ended %u times in a row, and is started again in %lld ms; `tenon plugin reset %s` clears "
                  "the pause",
                  why->message, remote->in_a_row, left, id);
}

void remote_on_task_ended(struct remote_child *child) {
    /* A process that was started before the last death does not prove that a new one would work. */
    if (child->deaths_before == child->remote->deaths) child->remote->in_a_row = 0;
}
