/*
 * command_run_batch.c - `tenon run --batch`: one run for each line of a file, with or without threads.
 *
 *     run_batch                reads the options and the lines
 *         batch_open           with --thread: names the threads, and opens the batch (data/thread/thread_batch.h)
 *         batch_execute        until every line has been run, or the batch is stopped
 *         batch_close          with --thread: saves whether every line is done
 *         batch_report         prints how many lines are not done, and returns the exit code
 *
 * With threads, SIGTERM drains the batch: each run stops after its super-step. The runs are cancelled if that takes
 * longer than RUN_DRAIN_MS, or at SIGINT or a second SIGTERM. --resume continues the batch, and prints the results of
 * lines that were done before in their places, so that the output is that of a batch that was not interrupted.
 */
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/container_of.h"
#include "host/base/loop.h"
#include "host/data/thread/thread_batch.h"
#include "host/engine/engine.h"
#include "host/engine/execution/execution.h"
#include "host/engine/graph/graph.h"
#include "host/loops/loops_batch.h"
#include "host/program/batch_keys.h"
#include "host/program/command_run.h"
#include "host/program/paste.h"
#include "host/program/run_outcome.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <tenon/util/sha256.h>
#include <unistd.h>

/* A line that is not valid JSON. Its result, an error, is printed after those of `before` valid inputs. */
struct bad_line {
    size_t before, line;
    tn_value result;
};

struct run_batch {
    const struct arguments *arguments; /* of the command */
    struct host *host;
    /* The lines */
    tn_value inputs;
    size_t *lines; /* the line number of each input in the file, from 1 */
    size_t line_capacity;
    struct bad_line *bad;
    size_t bad_count, bad_printed;
    struct tn_sha256 digest; /* of all lines, also of bad ones */
    /* The threads */
    struct thread_request request; /* `id` is NULL if nothing is saved */
    tn_value ids;                  /* [thread id] of the inputs; NULL if nothing is saved */
    struct thread_batch *saved;    /* NULL if nothing is saved */
    bool draining;                 /* SIGTERM has arrived */
    struct loop_timer deadline;    /* cancels the runs if draining takes longer than RUN_DRAIN_MS */
    /* The output */
    bool json;                      /* print results as events with the line number */
    size_t failed, waiting, paused; /* results that are errors, questions, and outputs of stopped runs */
    bool progress;                  /* show the progress, one line on standard error; see batch_shows_progress */
    size_t ended, total;            /* what the progress line shows; total is 0 before the first progress */
};

static _Atomic bool batch_cancel;

/* ---- Output ---- */

/*
 * The reader of a pipe can write the results to the same terminal at any time, where they would share a line with the
 * progress. Therefore it is not shown if standard output is a pipe.
 */
static bool batch_shows_progress(const struct arguments *arguments) {
    struct stat output;
    bool piped = fstat(STDOUT_FILENO, &output) == 0 && (S_ISFIFO(output.st_mode) || S_ISSOCK(output.st_mode));
    return isatty(STDERR_FILENO) && !piped && !argument_given(arguments, "quiet");
}

/*
 * A result is a whole line of the same terminal, so the progress line is removed before it and drawn again after it.
 */
static void batch_clear_progress(const struct run_batch *batch) {
    if (batch->progress && batch->total) fputs("\r\033[K", stderr);
}

static void batch_draw_progress(const struct run_batch *batch) {
    if (batch->progress && batch->total) fprintf(stderr, "\r%zu of %zu", batch->ended, batch->total);
}

/* Prints a result. `thread` is NULL if the run has none. */
static void batch_print(struct run_batch *batch, size_t line, tn_value thread, tn_value result) {
    tn_value error = value_get(result, "error");
    bool waits = batch->ids && value_text_is(value_get(error, "code"), "INTERRUPTED");
    batch->failed += error && !waits;
    batch->waiting += waits;
    batch->paused += value_get(result, "next") != NULL;
    if (!batch->json) {
        run_print_line(result);
        return;
    }
    tn_value event = value_set_take(value_object_reserve(4), "type", value_text("result"));
    event = value_set_take(event, "line", value_int((int64_t)line));
    if (thread) event = value_set_take(event, "thread", value_ref(thread));
    for (size_t i = 0, n = value_count(result); i < n; i++)
        event = value_set_key_take(event, value_ref(value_key_at(result, i)), value_ref(value_value_at(result, i)));
    run_print_line(event);
    value_unref(event);
}

static void batch_print_bad_lines(struct run_batch *batch, size_t before) {
    for (; batch->bad_printed < batch->bad_count && batch->bad[batch->bad_printed].before <= before;
         batch->bad_printed++)
        batch_print(batch, batch->bad[batch->bad_printed].line, NULL, batch->bad[batch->bad_printed].result);
}

static void batch_on_result(void *user, size_t index, tn_value result) {
    struct run_batch *batch = user;
    batch_clear_progress(batch);
    batch_print_bad_lines(batch, index);
    batch_print(batch, batch->lines[index], batch->ids ? value_at(batch->ids, index) : NULL, result);
    if (!command_flush()) batch_cancel = true; /* output is lost: cancel the other runs */
    batch_draw_progress(batch);
}

static void batch_on_progress(void *user, size_t ended, size_t total) {
    struct run_batch *batch = user;
    batch->ended = ended;
    batch->total = total;
    batch_draw_progress(batch);
}

/* ---- Lines ---- */

static void batch_add_bad_line(struct run_batch *batch, const char *path, size_t line, const char *message) {
    struct error error = ERROR_INIT;
    command_line_error(path, line, message, &error);
    MEM_EXTEND(batch->bad, batch->bad_count);
    batch->bad[batch->bad_count++] = (struct bad_line){
        value_count(batch->inputs), line, value_set_take(value_object_reserve(1), "error", error_to_value(&error))};
    error_finish(&error);
}

static void batch_add_input(struct run_batch *batch, size_t line, tn_value value) {
    size_t count = value_count(batch->inputs);
    MEM_GROW(batch->lines, count, batch->line_capacity);
    batch->lines[count] = line;
    batch->inputs = value_push_take(batch->inputs, value);
}

/* The place of a line counts, because it is the number of its thread. */
static void batch_digest_line(struct run_batch *batch, size_t line, const char *text, size_t length) {
    char head[64];
    int size = snprintf(head, sizeof head, "%zu %zu\n", line, length);
    tn_sha256_update(&batch->digest, head, (uint64_t)size);
    tn_sha256_update(&batch->digest, text, length);
}

static void batch_read_line(struct run_batch *batch, const char *path, size_t line, const char *text, size_t length) {
    struct error error = ERROR_INIT;
    tn_value value;
    if (json_read(text, length, NULL, &value, &error) == TN_OK) {
        char *same = json_text(value, JSON_COMPACT); /* blanks between the tokens do not matter */
        batch_digest_line(batch, line, same, strlen(same));
        mem_free(same);
        batch_add_input(batch, line, value);
    } else {
        batch_digest_line(batch, line, text, length);
        batch_add_bad_line(batch, path, line, error.message);
    }
    error_finish(&error);
}

/* Reads one input per line; blank lines are skipped. */
static bool batch_read_lines(struct run_batch *batch, const char *path, struct error *error) {
    char *text;
    size_t length;
    if (!command_read_named(batch->arguments, path, &text, &length, error)) return false;
    if (strcmp(path, "-") == 0) path = "<stdin>";
    tn_sha256_init(&batch->digest);
    size_t line = 1;
    for (const char *at = text, *end = text + length; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t size = stop ? (size_t)(stop - at) : (size_t)(end - at);
        if (strspn(at, " \t\r") < size) batch_read_line(batch, path, line, at, size);
        at += size + 1;
    }
    mem_free(text);
    return true;
}

/* ---- Threads ---- */

/* Names the threads, and opens the batch. Returns COMMAND_OK; otherwise prints an error, and returns the exit code. */
static int batch_open(struct run_batch *batch) {
    const char *path = argument_text(batch->arguments, "batch");
    struct engine *engine = host_engine(batch->host);
    struct error error = ERROR_INIT;
    char digest[TN_SHA256_TEXT];
    tn_sha256_finish_text(&batch->digest, digest);
    int code = COMMAND_USAGE;
    batch->ids =
        batch_keys(batch->request.id, batch->inputs, batch->lines, strcmp(path, "-") == 0 ? "<stdin>" : path, &error);
    struct store *store = batch->ids ? engine->store(engine->store_user, &error) : NULL;
    if (batch->ids) code = COMMAND_RUN_FAILED;
    static const enum thread_batch_mode modes[] = {[THREAD_INPUT] = THREAD_BATCH_START,
                                                   [THREAD_RESUME] = THREAD_BATCH_RESUME,
                                                   [THREAD_REPLACE] = THREAD_BATCH_REPLACE};
    struct thread_batch_request request = {.name = batch->request.id,
                                           .digest = digest,
                                           .lines = value_count(batch->inputs) + batch->bad_count,
                                           .mode = modes[batch->request.mode],
                                           .accept_changes = batch->request.accept_changes,
                                           .force = batch->request.force};
    if (store && thread_batch_check_answers_wait(store, batch->ids, batch->request.answers, &error) == TN_OK)
        (void)thread_batch_open_wait(store, &request, &batch->saved, &error);
    if (batch->saved)
        code = COMMAND_OK;
    else
        code = command_report_error(code, &error);
    error_finish(&error);
    return code;
}

static size_t batch_total(const struct run_batch *batch) { return value_count(batch->inputs) + batch->bad_count; }

/* Returns COMMAND_OK; otherwise prints an error, and returns the exit code. */
static int batch_close(struct run_batch *batch, bool ran) {
    struct error error = ERROR_INIT;
    bool done = ran && batch->failed + batch->waiting + batch->paused == 0;
    int32_t status = thread_batch_close_wait(batch->saved, done, &error);
    batch->saved = NULL;
    int code = status == TN_OK ? COMMAND_OK : command_report_error(COMMAND_RUN_FAILED, &error);
    error_finish(&error);
    return code;
}

/* ---- Running ---- */

static void batch_on_deadline(struct loop_timer *timer) {
    struct run_batch *batch = CONTAINER_OF(timer, struct run_batch, deadline);
    batch_cancel = true;
    loop_wake(host_loop(batch->host));
}

/* batch_threads.drains: reacts to signals. */
static bool batch_drains(void *user) {
    struct run_batch *batch = user;
    if (command_got_sigint()) batch_cancel = true;
    if (command_got_sigterm() && !batch->draining) {
        batch->draining = true;
        loop_timer_start(host_loop(batch->host), &batch->deadline, RUN_DRAIN_MS, batch_on_deadline);
    }
    return batch->draining;
}

/* Fails if the other loops cannot be opened, or cannot run the document: nothing has run then. Returns an exit code. */
static int batch_run_in_loops(const struct run_batch *batch, struct graph *graph, const struct batch_options *options) {
    if (host_loops(batch->host) == 1) {
        batch_run(host_engine(batch->host), &graph->callable, batch->inputs, options, &batch_cancel);
        return COMMAND_OK;
    }
    struct error error = ERROR_INIT;
    tn_value all = NULL;
    struct loops *loops = command_loops(batch->arguments, batch->host, host_loops(batch->host), &error);
    bool ran = loops && loops_batch_run(loops, graph, batch->inputs, options, &batch_cancel, &all, &error) == TN_OK;
    int code = ran ? COMMAND_OK : command_report_error(COMMAND_PLUGIN_PROBLEM, &error);
    loops_free(loops);
    error_finish(&error);
    return code;
}

/* Returns an exit code: not 0 if nothing has run. */
static int batch_execute(struct run_batch *batch, struct graph *graph, const struct run_options *options,
                         uint32_t concurrency) {
    struct batch_threads threads = {.ids = batch->ids, .request = &batch->request, .drains = batch_drains};
    struct batch_options inner = {.concurrency = concurrency,
                                  .options = *options,
                                  .result = batch_on_result,
                                  .progress = batch_on_progress,
                                  .user = batch};
    if (batch->saved) {
        threads.batch = thread_batch_id(batch->saved);
        threads.replaces = thread_batch_replaces(batch->saved);
        threads.was_done = thread_batch_was_done(batch->saved);
        inner.threads = &threads;
        command_watch_signals(batch->host);
    } else {
        command_watch_signals_flag(batch->host, &batch_cancel);
    }
    int code = batch_run_in_loops(batch, graph, &inner);
    loop_timer_stop(host_loop(batch->host), &batch->deadline);
    batch_clear_progress(batch);
    if (!code) batch_print_bad_lines(batch, SIZE_MAX);
    (void)command_flush();
    batch_draw_progress(batch);
    if (batch->progress && batch->total) fputc('\n', stderr);
    return code;
}

/* ---- The outcome ---- */

/* Prints the command that continues the batch. */
static void batch_print_resume(const struct run_batch *batch) {
    struct buffer line;
    if (!batch->ids) return;
    buffer_init(&line, SIZE_MAX);
    paste_run(&line, batch->arguments, batch->request.id, false);
    command_warn("continue with: %s --resume", buffer_cstr(&line));
    buffer_finish(&line);
}

/* Prints how many lines are not done. Returns the exit code. */
static int batch_report(const struct run_batch *batch) {
    size_t total = batch_total(batch);
    const char *plural = total == 1 ? "" : "s";
    int code = COMMAND_OK;
    if (command_got_sigint())
        code = command_report(COMMAND_CANCELLED, "the batch was cancelled: %zu of %zu run%s failed or did not end",
                              batch->failed, total, plural);
    else if (batch->draining && batch->failed)
        code = command_report(COMMAND_CANCELLED,
                              "the batch was stopped, as requested: %zu of %zu run%s failed or did not end",
                              batch->failed, total, plural);
    else if (batch->failed)
        code = command_report(COMMAND_RUN_FAILED, "%zu of %zu run%s failed", batch->failed, total, plural);
    else if (batch->waiting)
        code = command_report(COMMAND_WAITING, "%zu of %zu run%s wait%s for answers", batch->waiting, total, plural,
                              batch->waiting == 1 ? "s" : "");
    if (batch->failed + batch->waiting + batch->paused) batch_print_resume(batch);
    return code;
}

static void batch_finish(struct run_batch *batch) {
    value_unref(batch->inputs);
    value_unref(batch->ids);
    value_unref(batch->request.answers);
    for (size_t i = 0; i < batch->bad_count; i++) value_unref(batch->bad[i].result);
    mem_free(batch->bad);
    mem_free(batch->lines);
}

int run_batch(const struct arguments *arguments, struct host *host, struct graph *graph,
              const struct run_options *options) {
    struct error error = ERROR_INIT;
    int64_t concurrency;
    if (!argument_number(arguments, "concurrency", 1, 100000, BATCH_CONCURRENCY, &concurrency)) return COMMAND_USAGE;
    struct run_batch batch = {.arguments = arguments,
                              .host = host,
                              .inputs = value_array(),
                              .request = {.id = argument_text(arguments, "thread")},
                              .json = argument_given(arguments, "json"),
                              .progress = batch_shows_progress(arguments)};
    int code = COMMAND_OK;
    if (batch.request.id ? !run_read_thread_request(arguments, &batch.request) : run_lacks_thread(arguments))
        code = COMMAND_USAGE;
    else if (!batch_read_lines(&batch, argument_text(arguments, "batch"), &error))
        code = command_report_error(COMMAND_USAGE, &error);
    if (code == COMMAND_OK && batch.request.id) code = batch_open(&batch);
    if (code == COMMAND_OK) {
        int executed = batch_execute(&batch, graph, options, (uint32_t)concurrency);
        int closed = batch_close(&batch, executed == COMMAND_OK);
        if (executed == COMMAND_OK)
            code = command_flush() ? batch_report(&batch) : COMMAND_RUN_FAILED;
        else
            code = executed;
        if (code == COMMAND_OK) code = closed;
    }
    batch_finish(&batch);
    error_finish(&error);
    return code;
}
