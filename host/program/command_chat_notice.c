/*
 * command_chat_notice.c - claims notifications and prints their messages.
 *
 *     begin ──▶ a worker for what is claimable now ──▶ ended ──▶ NOTICE_MS ──▶ the next worker …
 *     end ────▶ the worker drains, and no other one is started
 *
 * No timer runs during an answer: it would hide from the loop that a run waits for nothing.
 */
#include "host/program/command_chat_notice.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/base/container_of.h"
#include "host/base/loop.h"
#include "host/program/command.h"
#include "host/program/command_chat_input.h"
#include "host/work/task_worker.h"
#include "host/work/work_type.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TYPE            "notification"
#define NOTICE_TOGETHER 4u         /* notifications that are handled at the same time */
#define NOTICE_WAITING  (1u << 20) /* bytes that are kept until they can be printed; the rest is left out */

struct chat_notices {
    struct host *host;
    struct work_types *types;
    struct task_worker *worker; /* NULL between two looks */
    struct chat_input *typed;   /* NULL while no line is read */
    struct loop_timer timer;    /* to the next look; or, before the prompt, to the end of the wait */
    struct buffer text;         /* that was not printed yet */
    bool waits;                 /* before the prompt */
    bool waited;
    bool unusable; /* the store cannot be used, which was reported */
    char name[96]; /* of the worker */
};

/* ---- Text ---- */

/*
 * "notification (warn): MESSAGE"; the message is Markdown, as it is. If it is about a question and does not say how
 * to answer, a line with the command follows.
 */
static void notice_format(struct buffer *out, tn_value payload, tn_value output) {
    const char *severity = command_text(payload, "severity", "info"),
               *task = command_text(payload, "related_task_id", NULL);
    const char *asked = command_text(payload, "interrupt_id", NULL), *message = command_text(payload, "message", "");
    if (value_is(output, TN_STRING)) message = value_chars(output, NULL);
    buffer_format(out, "notification (%s): %s\n", severity, message);
    if (asked && task && !strstr(message, "tenon thread answer"))
        buffer_format(out, "  answer: tenon thread answer %s %s=VALUE\n", task, asked);
}

static void notices_flush(void *user) {
    struct chat_notices *notices = user;
    if (notices->text.length) command_printf(stderr, "%s", buffer_cstr(&notices->text));
    if (notices->text.overflow)
        fputs("(more notifications were shown than fit here; `tenon task list` has them)\n", stderr);
    buffer_clear(&notices->text);
}

/* A Task that has failed is shown as well: no other process would show it. */
static void notices_on_finished(void *user, struct work_item *item) {
    struct chat_notices *notices = user;
    enum work_outcome outcome = work_item_outcome(item);
    if (outcome != WORK_DONE && outcome != WORK_FAILED) return;
    notice_format(&notices->text, value_get(work_item_task(item), "payload"), work_item_output(item));
    if (notices->typed && !notices->waits) chat_input_interject(notices->typed, notices_flush, notices);
}

/* ---- Looking ---- */

static struct loop *notices_loop(const struct chat_notices *notices) { return host_loop(notices->host); }
static void notices_look(struct chat_notices *notices);

static void notices_on_due(struct loop_timer *timer) {
    struct chat_notices *notices = CONTAINER_OF(timer, struct chat_notices, timer);
    notices->waited = true;
    if (!notices->worker && !notices->waits) notices_look(notices);
}

static void notices_on_ended(void *user) {
    struct chat_notices *notices = user;
    task_worker_free(notices->worker);
    notices->worker = NULL;
    if (notices->typed && !notices->waits)
        loop_timer_start(notices_loop(notices), &notices->timer, NOTICE_MS, notices_on_due);
}

static void notices_look(struct chat_notices *notices) {
    struct error error = ERROR_INIT;
    notices->worker = task_worker_new(&(struct task_worker_options){.engine = host_engine(notices->host),
                                                                    .kernel = host_state(notices->host),
                                                                    .types = notices->types,
                                                                    .name = notices->name,
                                                                    .concurrency = NOTICE_TOGETHER,
                                                                    .mode = TASK_WORKER_EMPTY,
                                                                    .finished = notices_on_finished,
                                                                    .ended = notices_on_ended,
                                                                    .user = notices},
                                      &error);
    notices->unusable = !notices->worker;
    if (notices->worker)
        task_worker_start(notices->worker);
    else
        command_warn("notifications are not shown: %s", error.message);
    error_finish(&error);
}

static bool notices_wait_is_over(void *user) {
    const struct chat_notices *notices = user;
    return !notices->worker || notices->waited || command_got_signal();
}

void chat_notices_begin(struct chat_notices *notices, struct chat_input *typed) {
    if (!notices || notices->unusable) return;
    notices->typed = typed;
    notices->waits = true;
    notices->waited = false;
    if (!notices->worker) notices_look(notices);
    loop_timer_start(notices_loop(notices), &notices->timer, NOTICE_WAIT_MS, notices_on_due);
    (void)loop_run(notices_loop(notices), notices_wait_is_over, notices);
    loop_timer_stop(notices_loop(notices), &notices->timer);
    notices->waits = false;
    notices_flush(notices);
    if (!notices->worker && !notices->unusable)
        loop_timer_start(notices_loop(notices), &notices->timer, NOTICE_MS, notices_on_due);
}

void chat_notices_end(struct chat_notices *notices) {
    if (!notices) return;
    notices->typed = NULL;
    loop_timer_stop(notices_loop(notices), &notices->timer);
    if (notices->worker) task_worker_drain(notices->worker);
}

/* ---- The notices ---- */

/* Without a strategy of tenon.yaml, the one of Tenon need not be installed. */
struct chat_notices *chat_notices_new(struct host *host) {
    struct error error = ERROR_INIT;
    struct work_types *types = NULL;
    tn_value names = value_push_take(value_array(), value_text(TYPE));
    bool configured = value_get(config_work(host_config(host)), TYPE) != NULL;
    int32_t status = work_types_new(host_engine(host), names, &types, &error);
    value_unref(names);
    if (status != TN_OK && configured) command_warn("notifications are not shown: %s", error.message);
    error_finish(&error);
    if (status != TN_OK) return NULL;
    char machine[64] = "host";
    struct chat_notices *notices = mem_zalloc(sizeof *notices);
    (void)gethostname(machine, sizeof machine - 1);
    snprintf(notices->name, sizeof notices->name, "%s/%ld chat", machine, (long)getpid());
    notices->host = host;
    notices->types = types;
    buffer_init(&notices->text, NOTICE_WAITING);
    return notices;
}

static bool notices_have_ended(void *user) { return !((const struct chat_notices *)user)->worker; }

void chat_notices_free(struct chat_notices *notices) {
    if (!notices) return;
    chat_notices_end(notices);
    if (notices->worker) task_worker_cancel(notices->worker);
    (void)loop_run(notices_loop(notices), notices_have_ended, notices);
    notices_flush(notices);
    buffer_finish(&notices->text);
    work_types_free(notices->types);
    mem_free(notices);
}
