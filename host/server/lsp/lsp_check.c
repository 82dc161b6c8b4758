/*
 * lsp_check.c - checks documents on a thread of libuv's pool, one at a time, and answers the requests that wait.
 *
 * The newest text wins: when a check ends and the document has changed meanwhile, its result is not published, and the
 * newest text is checked, with the result as assist_new's `before`. Requests for which the checked text is new enough
 * (LSP_NOT_NEWEST) are answered in between, because a person may type faster than a long document is checked. The
 * document that was changed last comes first. A check that was started always ends; a connection that is closed
 * meanwhile is freed after it. While the client does not read (peer_is_full), no check starts.
 */
#include "adl/assist/names.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/base/loop.h"
#include "host/server/lsp/lsp_internal.h"
#include "host/server/lsp/lsp_world.h"
#include "host/server/server.h"
#include "host/work/schedule_source.h"
#include <uv.h>

struct lsp_check {
    uv_work_t work;
    struct lsp *lsp;
    uint64_t opened; /* of the document, which may be closed meanwhile */
    uint64_t due;    /* of the document, when the check started */
    struct source *source;
    struct lsp_world *world;
    struct assist *before, *result;
    bool is_config;
    struct diagnostics *found; /* of a tenon.yaml */
    tn_value roles;            /* of a document; or NULL */
};

/* A request for a document whose newest text is not checked yet. */
struct lsp_waiting {
    struct lsp_waiting *next;
    struct lsp_text *text;
    const struct lsp_row *row;
    struct peer_request *request;
    uint64_t due; /* of the text, when the request arrived */
};

/* ---- Requests that wait ---- */

static void waiting_cancel(struct peer_request *request) {
    struct lsp_waiting *waiting = peer_request_data(request), **link = &waiting->text->waiting;
    struct error error = ERROR_INIT;
    while (*link != waiting) link = &(*link)->next;
    *link = waiting->next;
    waiting->text->waiting_count--;
    mem_free(waiting);
    error_set(&error, TN_CANCELLED, "CANCELLED", "the request was cancelled");
    peer_fail(request, &error);
    error_finish(&error);
}

void lsp_check_await(struct lsp_text *text, const struct lsp_row *row, struct peer_request *request) {
    if (text->waiting_count >= LSP_WAITING_MAX) {
        peer_refuse(request, RPC_FAILED, "%u requests wait for the check of this document", LSP_WAITING_MAX);
        return;
    }
    struct lsp_waiting *waiting = mem_zalloc(sizeof *waiting);
    *waiting = (struct lsp_waiting){text->waiting, text, row, request, text->due};
    text->waiting = waiting;
    text->waiting_count++;
    peer_request_hold(request, waiting, waiting_cancel);
}

/* Takes the requests out of the list that are answered; all, or those for which a check that was due then is new
 * enough. Oldest first. */
static struct lsp_waiting *take_waiting(struct lsp_text *text, bool all, uint64_t due) {
    struct lsp_waiting *taken = NULL, **link = &text->waiting;
    while (*link) {
        struct lsp_waiting *waiting = *link;
        if (!all && (!(waiting->row->needs & LSP_NOT_NEWEST) || waiting->due > due)) {
            link = &waiting->next;
            continue;
        }
        *link = waiting->next;
        text->waiting_count--;
        waiting->next = taken;
        taken = waiting;
        peer_request_hold(waiting->request, NULL, NULL);
    }
    return taken;
}

static void answer_waiting(struct lsp *lsp, struct lsp_waiting *list,
                           void (*answer)(struct lsp *lsp, const struct lsp_row *row, struct peer_request *request)) {
    while (list) {
        struct lsp_waiting *waiting = list;
        list = waiting->next;
        answer(lsp, waiting->row, waiting->request);
        mem_free(waiting);
    }
}

void lsp_check_release(struct lsp_text *text) { answer_waiting(text->lsp, take_waiting(text, true, 0), lsp_row_start); }

/* ---- Checks ---- */

/*
 * Other open documents whose check has read this text with other content are due, too: they report mistakes of the
 * documents in them, of those in these, and of templates.
 */
static void set_readers_due(const struct lsp_text *changed) {
    const struct source *source = changed->source;
    for (struct lsp_text *text = changed->path ? changed->lsp->texts : NULL; text; text = text->next)
        if (text != changed && text->assist && lsp_world_has_read_other(text->assist->world, changed->path, source))
            lsp_text_set_due(text);
}

void lsp_check_readers(const struct lsp_text *closed) {
    for (struct lsp_text *text = closed->path ? closed->lsp->texts : NULL; text; text = text->next)
        if (text->checking || (text->assist && lsp_world_has_read(text->assist->world, closed->path)))
            lsp_text_set_due(text);
}

static struct lsp_text *checked_text(const struct lsp_check *check) {
    struct lsp_text *text = check->lsp->texts;
    while (text && text->opened != check->opened) text = text->next;
    return text;
}

static struct lsp_text *newest_dirty(const struct lsp *lsp) {
    struct lsp_text *newest = NULL;
    for (struct lsp_text *text = lsp->texts; text; text = text->next)
        if (text->dirty && (!newest || text->changed > newest->changed)) newest = text;
    return newest;
}

/* [worker] */
static void check_config(struct lsp_check *check) {
    check->found = diagnostics_new();
    struct config *config =
        config_read(source_name(check->source), source_text(check->source), source_length(check->source), check->found);
    schedules_check_source(check->source, config_schedules(config), check->found);
    config_free(config);
    diagnostics_sort(check->found);
    if (lsp_world_assist(check->world)->form && source_length(check->source) <= CONFIG_FILE_MAX) {
        check->result = assist_next_take(check->source, lsp_world_assist(check->world), check->before);
        check->before = NULL;
    }
}

/* [worker] */
static void check_run(uv_work_t *work) {
    struct lsp_check *check = work->data;
    if (check->is_config) {
        check_config(check);
        return;
    }
    check->result = assist_next_take(check->source, lsp_world_assist(check->world), check->before);
    check->before = NULL;
    check->roles = assist_used_roles(check->result);
}

static void check_free(struct lsp_check *check) {
    assist_unref(check->result);
    assist_unref(check->before);
    diagnostics_free(check->found);
    value_unref(check->roles);
    lsp_world_unref(check->world);
    source_unref(check->source);
    mem_free(check);
}

static void text_take_result(struct lsp_text *text, struct lsp_check *check) {
    bool changed = text->checked != check->source;
    source_unref(text->checked);
    if (check->is_config)
        text->form = check->result;
    else
        text->assist = check->result;
    text->checked = source_ref(check->source);
    check->result = NULL;
    diagnostics_free(text->found);
    text->found = check->found;
    check->found = NULL;
    value_unref(text->roles);
    text->roles = check->roles;
    check->roles = NULL;
    text->result = ++text->lsp->last_result;
    text->checking = false;
    if (changed) set_readers_due(text);
    if (!lsp_text_is_ready(text)) { /* a newer text follows */
        answer_waiting(text->lsp, take_waiting(text, false, check->due), lsp_row_answer);
        return;
    }
    lsp_publish(text);
    lsp_refresh_content(text->lsp, "tenon:/graph/");
    lsp_check_release(text);
}

/* The text is not ADL, perhaps not any more. */
static void text_drop_result(struct lsp_text *text) {
    set_readers_due(text);
    if (text->checked) lsp_publish_none(text->lsp, text->uri);
    assist_names_free(text->names);
    assist_unref(text->assist);
    assist_unref(text->form);
    diagnostics_free(text->found);
    source_unref(text->checked);
    text->names = NULL;
    text->assist = NULL;
    text->form = NULL;
    value_unref(text->roles);
    text->roles = NULL;
    text->found = NULL;
    text->checked = NULL;
    lsp_check_release(text);
}

static void check_done(uv_work_t *work, int status) {
    struct lsp_check *check = work->data;
    struct lsp *lsp = check->lsp;
    (void)status;
    lsp->check = NULL;
    lsp_hosts_end_check(lsp->hosts);
    if (lsp->closing) {
        check_free(check);
        lsp_finish_closing(lsp);
        return;
    }
    struct lsp_text *text = checked_text(check);
    if (text) text_take_result(text, check);
    check_free(check);
    lsp_check_next(lsp);
}

void lsp_check_next(struct lsp *lsp) {
    struct lsp_text *text;
    while (!lsp->check && !lsp->closing && !peer_is_full(lsp->peer) && (text = newest_dirty(lsp)) != NULL) {
        text->dirty = false;
        if (!text->is_document && !text->is_config) { /* it may have been one before */
            text_drop_result(text);
            continue;
        }
        struct lsp_check *check = mem_zalloc(sizeof *check);
        check->work.data = check;
        check->lsp = lsp;
        check->opened = text->opened;
        check->due = text->due;
        check->is_config = text->is_config;
        text->checking = true;
        check->source = source_ref(text->source);
        check->world = lsp_hosts_world(lsp->hosts, text);
        check->before = text->is_config ? text->form : text->assist; /* no feature uses it before the check has ended */
        text->assist = NULL;
        text->form = NULL;
        assist_names_free(text->names);
        text->names = NULL;
        lsp->check = check;
        lsp_hosts_begin_check(lsp->hosts);
        (void)uv_queue_work(loop_uv(server_loop(connection_server(lsp->connection))), &check->work, check_run,
                            check_done);
    }
}

void lsp_check_all(struct lsp *lsp) {
    for (struct lsp_text *text = lsp->texts; text; text = text->next) lsp_text_set_due(text);
    lsp_check_next(lsp);
}
