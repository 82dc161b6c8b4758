/*
 * conformance_store.c - see conformance_store.h.
 *
 * Each child has one job with a store, and reports lines on its pipe: "F" and a finding, "W" and a warning, "C" for
 * each completed commit, "E" at the end. The parent kills a child that takes too long. After the suite come the jobs
 * that need several processes, and the suite again with the plugin isolated:
 *
 *   write   commits batches of two records, each acknowledged with "C", until the parent kills it
 *   verify  finds both records of every batch that was acknowledged, and no half of a batch
 *   count   increments one record, in two processes at the same time
 *   total   finds that no increment was lost
 *
 * A store that keeps nothing at its location, such as one in memory, gets a note instead of the errors of these jobs.
 * One that is elsewhere, such as in a database, is found by options (exercise_options.store). All jobs use it, the
 * first one removes what an earlier check has left, and it is not isolated, because no folder is its sandbox.
 */
#include "host/plugin/conformance/conformance_store.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/clock.h"
#include "host/base/loop.h"
#include "host/plugin/conformance/conformance_internal.h"
#include "host/plugin/conformance/store_cases.h"
#include "host/plugin/registry/manifest.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES   2048
#define KILL_AFTER   20  /* commits of `write` before it is killed */
#define INCREMENTS   20  /* of each process of `count` */
#define ATTEMPTS     500 /* of an increment, while the other process writes */
#define FOLDER_BYTES 256
#define LOCATION     "own/store" /* an isolated store needs a folder for itself */
#define COLLECTION   "check"
#define EXIT_MS      2000 /* from the end of its pipe to the exit of a child */
#define MEET_MS      5000 /* that a process of `count` waits for the other one */
#define FINDINGS_MAX 10u

struct store_check {
    const char *path, *id; /* of the plugin */
    const struct exercise_options *options;
    struct conformance *conformance;
    char folder[FOLDER_BYTES];
};

/* ---- In the child ---- */

/* The job of a child process. `number`: see the jobs. */
struct store_job {
    const struct store_check *check;
    struct loop *loop;
    const tn_store_draft *vtable;
    void *self;
    tn_store *store;
    int pipe_end;
    int64_t number;
    bool isolated; /* the store runs in a separate process, with the real clock */
};

static void job_write_line(const struct store_job *job, char kind, const char *text) {
    conformance_child_print(job->pipe_end, "%c%s", kind, text);
}

static void job_report(const struct store_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void job_report(const struct store_job *job, const char *format, ...) {
    char text[LINE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    job_write_line(job, 'F', text);
}

static const char *error_code(tn_value error) {
    tn_value code = value_get(error, "code");
    return value_is(code, TN_STRING) ? value_chars(code, NULL) : "";
}

static void job_report_error(const struct store_job *job, const char *what, tn_value error) {
    char *text = error ? json_text(error, JSON_COMPACT) : mem_text("no error object");
    job_report(job, "%s fails: %s", what, text);
    mem_free(text);
}

static tn_value job_json(const char *format, ...) __attribute__((format(printf, 1, 2)));
static tn_value job_json(const char *format, ...) {
    char text[1024];
    tn_value value = NULL;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)json_read(text, strlen(text), NULL, &value, NULL);
    return value;
}

/* Opens a location in a private folder, as a store that runs in a separate process needs it. */
static bool job_open_store(struct store_job *job) {
    tn_value path = value_format("%s/" LOCATION, job->check->folder), error = NULL;
    tn_value options = value_set_take(value_object(), "path", path), further = job->check->options->store;
    for (size_t i = 0; i < value_count(further); i++)
        options =
            value_set_take(options, value_chars(value_key_at(further, i), NULL), value_ref(value_value_at(further, i)));
    bool good = job->vtable->open(job->self, options, &job->store, &error) == TN_OK;
    if (!good) job_report_error(job, "opening the store again", error);
    value_unref(options);
    value_unref(error);
    return good;
}

/* Returns the status; *error is set if it is TN_FAILED. Takes the batch. */
static int32_t job_commit_take(const struct store_job *job, tn_value batch, tn_value *error) {
    tn_value result = NULL;
    int32_t status = job->vtable->commit(job->store, batch, &result, error);
    value_unref(batch);
    value_unref(result);
    return status;
}

/* Returns the result, or NULL after it has reported the failure. Takes the query. */
static tn_value job_query_take(const struct store_job *job, tn_value query) {
    tn_value result = NULL, error = NULL;
    if (job->vtable->query(job->store, query, &result, &error) != TN_OK) job_report_error(job, "a query", error);
    value_unref(query);
    value_unref(error);
    return result;
}

static void job_set_elapsed(void *user, int64_t ms) {
    const struct store_job *job = user;
    loop_fake_clock(job->loop);
    loop_fake_advance(job->loop, ms);
}

static void job_case_failed(void *user, const char *where, const char *message) {
    const struct store_job *job = user;
    char text[LINE_BYTES];
    snprintf(text, sizeof text, "%s%s: %s", job->isolated ? "isolated: " : "", where, message);
    job_write_line(job, strncmp(where, "wrong.txt", 9) == 0 ? 'W' : 'F', text);
}

static void job_suite(struct store_job *job) {
    struct store_cases cases = {.vtable = job->vtable,
                                .self = job->self,
                                .folder = job->check->folder,
                                .set_elapsed = job->isolated ? NULL : job_set_elapsed,
                                .failed = job_case_failed,
                                .user = job,
                                .options = job->check->options->store,
                                .shares_store = job->check->options->store != NULL};
    for (size_t i = 0; i < store_cases_file_count; i++) store_cases_run(&cases, &store_cases_files[i]);
    store_cases_finish(&cases);
}

/* Removes what an earlier check has left. */
static void job_clear(struct store_job *job) {
    tn_value error = NULL;
    if (!job_open_store(job)) return;
    tn_value batch = job_json("[{\"op\": \"delete_range\", \"collection\": \"" COLLECTION
                              "\"}, {\"op\": \"delete_range\", \"collection\": \"count\"}]");
    if (job_commit_take(job, batch, &error) != TN_OK) job_report_error(job, "a commit", error);
    value_unref(error);
}

static void job_write(struct store_job *job) {
    if (!job_open_store(job)) return;
    for (int64_t i = 1;; i++) {
        tn_value error = NULL;
        tn_value batch = job_json(
            "[{\"op\": \"put\", \"collection\": \"" COLLECTION "\", \"key\": \"a%lld\", \"value\": "
            "%lld}, {\"op\": \"put\", \"collection\": \"" COLLECTION "\", \"key\": \"b%lld\", \"value\": %lld}]",
            (long long)i, (long long)i, (long long)i, (long long)i);
        if (job_commit_take(job, batch, &error) != TN_OK) {
            job_report_error(job, "a commit", error);
            return;
        }
        job_write_line(job, 'C', "");
    }
}

/* `number`: how many batches were acknowledged. */
static void job_verify(struct store_job *job) {
    if (!job_open_store(job)) return;
    tn_value a = job_query_take(job, job_json("{\"count\": {\"collection\": \"" COLLECTION "\", \"to\": \"b\"}}"));
    tn_value b = job_query_take(job, job_json("{\"count\": {\"collection\": \"" COLLECTION "\", \"from\": \"b\"}}"));
    int64_t first = value_is(a, TN_INT) ? value_to_int(a) : -1, second = value_is(b, TN_INT) ? value_to_int(b) : -1;
    if (first != second)
        job_report(job,
                   "after the process was killed (SIGKILL), the store has %lld records of one kind and %lld of the "
                   "other, although each batch had one of both: a batch must be applied completely or not at all",
                   (long long)first, (long long)second);
    else if (first < job->number)
        job_report(job,
                   "after the process was killed (SIGKILL), %lld of %lld batches are lost whose commit had returned",
                   (long long)(job->number - first), (long long)job->number);
    value_unref(a);
    value_unref(b);
}

/* Returns true if the record was incremented. Reports every error that concurrent processes do not explain. */
static bool job_increment(struct store_job *job) {
    tn_value error = NULL,
             found = job_query_take(job, job_json("{\"get\": {\"collection\": \"count\", \"key\": \"n\"}}"));
    if (!found) return false;
    tn_value version = value_get(found, "version"), value = value_get(found, "value");
    int32_t status = job_commit_take(
        job,
        job_json("[{\"op\": \"put\", \"collection\": \"count\", \"key\": \"n\", \"value\": %lld, \"if\": {\"version\": "
                 "%lld}}]",
                 value ? (long long)value_to_int(value) + 1 : 1LL, version ? (long long)value_to_int(version) : 0LL),
        &error);
    value_unref(found);
    if (status != TN_OK && strcmp(error_code(error), "CONFLICT") != 0 && strcmp(error_code(error), "STORE_BUSY") != 0)
        job_report_error(job, "a commit while another process writes", error);
    value_unref(error);
    return status == TN_OK;
}

/* Waits until both processes are here, or the other one has had time enough: otherwise they might not overlap. */
static void job_meet(const struct store_job *job) {
    char path[sizeof job->check->folder + 16];
    struct stat met = {.st_size = 0};
    const struct timespec pause = {0, 1000000};
    snprintf(path, sizeof path, "%s/ready", job->check->folder);
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    bool here = file >= 0 && write(file, "+", 1) == 1;
    for (int i = 0; here && i < MEET_MS && fstat(file, &met) == 0 && met.st_size < 2; i++) nanosleep(&pause, NULL);
    if (file >= 0) close(file);
}

static void job_count(struct store_job *job) {
    if (!job_open_store(job)) return;
    tn_value found = job_query_take(job, job_json("{\"get\": {\"collection\": \"count\", \"key\": \"n\"}}"));
    value_unref(found);
    job_meet(job);
    for (int done = 0, attempts = 0; done < INCREMENTS && attempts < ATTEMPTS; attempts++) {
        bool incremented = job_increment(job);
        done += incremented;
        if (incremented) job_write_line(job, 'C', "");
    }
}

/* `number`: how many increments were acknowledged. */
static void job_total(struct store_job *job) {
    if (!job_open_store(job)) return;
    tn_value found = job_query_take(job, job_json("{\"get\": {\"collection\": \"count\", \"key\": \"n\"}}"));
    tn_value value = value_get(found, "value");
    int64_t total = value_is(value, TN_INT) ? value_to_int(value) : 0;
    if (total != job->number)
        job_report(job,
                   "two processes incremented a record %lld times, each with a condition on its version; the record "
                   "is %lld: a commit must see the commits of other processes",
                   (long long)job->number, (long long)total);
    value_unref(found);
}

static _Noreturn void job_end(const struct store_job *job) {
    job_write_line(job, 'E', "");
    _exit(0);
}

/* The suite with the plugin isolated, at one location, because each process needs time to start. */
static void job_suite_isolated(struct store_job *job) {
    char folder[sizeof job->check->folder + 16];
    snprintf(folder, sizeof folder, "%s/own", job->check->folder); /* the first suite has used the other one */
    struct store_cases cases = {.vtable = job->vtable,
                                .self = job->self,
                                .folder = folder,
                                .failed = job_case_failed,
                                .user = job,
                                .shares_store = true};
    for (size_t i = 0; i < store_cases_file_count; i++)
        if (strcmp(store_cases_files[i].name, "wrong.txt") != 0) store_cases_run(&cases, &store_cases_files[i]);
    store_cases_finish(&cases);
}

static _Noreturn void job_run(const struct store_check *check, void (*perform)(struct store_job *), int64_t number,
                              int pipe_end) {
    struct error error = ERROR_INIT;
    struct exercise_host host = {0};
    struct store_job job = {.check = check, .pipe_end = pipe_end, .number = number};
    conformance_child_reset_signals();
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nothing >= 0) dup2(nothing, STDERR_FILENO);
    const char *isolate = perform == job_suite_isolated ? check->id : NULL;
    if (!check->options->open(check->path, isolate, check->options->allow_drafts, &host, &error)) {
        job_report(&job, "a host with this plugin cannot be opened: %s", error.message);
        job_end(&job);
    }
    job.loop = host.loop;
    struct plugin *plugin = registry_plugin(host.registry, check->id);
    if (!plugin || plugin_load(plugin, &error) != TN_OK) {
        job_report(&job, "the plugin cannot be loaded: %s",
                   error.message ? error.message : "another plugin has its id");
        job_end(&job);
    }
    job.isolated = plugin_isolated(plugin);
    job.vtable = plugin_interface(plugin, TN_STORE_DRAFT);
    job.self = plugin_self(plugin);
    if (!job.vtable || job.vtable->size < TN_STORE_DRAFT_SIZE)
        job_report(&job, "the manifest provides " TN_STORE_DRAFT ", and `get` returns %s",
                   job.vtable ? "a struct of another size" : "NULL for it");
    else
        perform(&job);
    if (job.store) job.vtable->close(job.store);
    check->options->close(&host);
    job_end(&job);
}

/* ---- In the parent ---- */

/* A child, and what it has reported. */
struct store_child {
    pid_t pid;
    int pipe_end, output;
    struct buffer line;
    int64_t commits;
    unsigned findings, warnings;
    bool ended, closed; /* it has reported its end, or closed its pipe */
    const char *what;   /* what it has to do */
};

static bool child_start(const struct store_check *check, void (*perform)(struct store_job *), int64_t number,
                        const char *what, struct store_child *child) {
    *child = (struct store_child){.pid = -1, .what = what};
    child->pid = conformance_fork(check->conformance, check->path, &child->pipe_end, &child->output);
    if (child->pid == 0) job_run(check, perform, number, child->pipe_end);
    buffer_init(&child->line, LINE_BYTES);
    return child->pid > 0;
}

static void child_read_line(const struct store_check *check, struct store_child *child, const char *line) {
    if (*line == 'C') child->commits++;
    if (*line == 'E') child->ended = true;
    if (*line == 'F' && child->findings++ < FINDINGS_MAX)
        conformance_add(check->conformance, FINDING_STORE, "%s: %s", check->path, line + 1);
    if (*line == 'W' && child->warnings++ < FINDINGS_MAX)
        conformance_add(check->conformance, FINDING_STORE_LENIENT, "%s: %s", check->path, line + 1);
}

/* Reads until the child has ended, has completed `commits` commits (0: any number), or the time is up. */
static void child_read(const struct store_check *check, struct store_child *child, int64_t commits, int64_t end_ms) {
    while (!child->ended && (!commits || child->commits < commits)) {
        char bytes[512];
        struct pollfd ready = {.fd = child->pipe_end, .events = POLLIN};
        int got = clock_now_ms() < end_ms ? poll(&ready, 1, CONFORMANCE_TICK_MS) : -1;
        if (check->conformance->progress) check->conformance->progress(check->conformance->user, child->what);
        if (got == 0 || (got < 0 && errno == EINTR && clock_now_ms() < end_ms)) continue;
        ssize_t length = got > 0 ? read(child->pipe_end, bytes, sizeof bytes) : 0;
        child->closed = got > 0 && length <= 0;
        if (length <= 0) return;
        for (ssize_t i = 0; i < length; i++) {
            buffer_char(&child->line, bytes[i] == '\n' ? 0 : bytes[i]);
            if (bytes[i] != '\n') continue;
            if (!child->line.overflow) child_read_line(check, child, child->line.data);
            buffer_clear(&child->line);
        }
    }
}

/* A child that has closed its pipe is about to exit. */
static bool child_has_exited(const struct store_child *child, int *status) {
    const struct timespec pause = {0, 1000000};
    for (int i = 0; i < EXIT_MS; i++) {
        if (waitpid(child->pid, status, WNOHANG) == child->pid) return true;
        if (!child->closed) return false;
        nanosleep(&pause, NULL);
    }
    return false;
}

/* `what` is what the child had to do; NULL: it had to be killed. */
static void child_finish(const struct store_check *check, struct store_child *child, const char *what) {
    int status = 0;
    bool exited = child_has_exited(child, &status), killed = !exited && !child->ended;
    if (killed) kill(child->pid, SIGKILL);
    while (!exited && waitpid(child->pid, &status, 0) < 0 && errno == EINTR) continue;
    if (what && killed)
        conformance_add(check->conformance, FINDING_HUNG, "%s: hung; the store had to %s", check->path, what);
    else if (what && WIFSIGNALED(status))
        conformance_add(check->conformance, FINDING_CRASHED, "%s: ended by signal %d (%s); the store had to %s",
                        check->path, WTERMSIG(status), strsignal(WTERMSIG(status)), what);
    else if (what && !child->ended)
        conformance_add(check->conformance, FINDING_CRASHED,
                        "%s: ended the process with status %d; the store had to %s", check->path, WEXITSTATUS(status),
                        what);
    close(child->pipe_end);
    close(child->output);
    buffer_finish(&child->line);
}

/* Runs a job to its end. Returns true if there is no error so far. */
static bool run_job(const struct store_check *check, void (*perform)(struct store_job *), int64_t number,
                    const char *what) {
    struct store_child child;
    if (!child_start(check, perform, number, what, &child)) return false;
    child_read(check, &child, 0, clock_now_ms() + check->options->timeout_ms);
    child_finish(check, &child, what);
    return conformance_worst(check->conformance) != CONFORMANCE_ERROR;
}

/* True if the store keeps something at its location. Otherwise it gets a note. */
static bool has_location(const struct store_check *check) {
    char location[sizeof check->folder + 16];
    snprintf(location, sizeof location, "%s/" LOCATION, check->folder);
    if (check->options->store || access(location, F_OK) == 0) return true;
    conformance_add(check->conformance, FINDING_STORE_WITHOUT_FILES,
                    "%s: the store keeps nothing at its path; what happens if its process is killed, or if several "
                    "processes use it, was not tried",
                    check->path);
    return false;
}

/* `program`: the plugin is one, which is always isolated. */
static void check_processes(const struct store_check *check, bool program) {
    struct store_child writer, counters[2];
    int64_t end_ms = clock_now_ms() + check->options->timeout_ms, commits = 0;
    if (check->options->store && !run_job(check, job_clear, 0, "remove records")) return;
    if (!child_start(check, job_write, 0, "commit until it is killed", &writer)) return;
    child_read(check, &writer, KILL_AFTER, end_ms);
    child_finish(check, &writer, NULL);
    if (!has_location(check) || writer.findings || !run_job(check, job_verify, writer.commits, "open a location"))
        return;
    static const char together[] = "commit while another process commits";
    bool started[2];
    for (int i = 0; i < 2; i++) started[i] = child_start(check, job_count, 0, together, &counters[i]);
    for (int i = 0; i < 2; i++) {
        if (!started[i]) continue;
        child_read(check, &counters[i], 0, end_ms);
        child_finish(check, &counters[i], together);
        commits += counters[i].commits;
    }
    bool good = conformance_worst(check->conformance) != CONFORMANCE_ERROR &&
                run_job(check, job_total, commits, "read what other processes wrote");
    if (good && !program && !check->options->store)
        run_job(check, job_suite_isolated, 0, "run the cases of the suite isolated");
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at) {
    (void)status, (void)kind, (void)at;
    (void)remove(path);
    return 0;
}

static bool provides_store(tn_value manifest) {
    tn_value provides = value_get(manifest_plugin(manifest), "provides");
    for (size_t i = 0; i < value_count(provides); i++)
        if (value_text_is(value_at(provides, i), TN_STORE_DRAFT)) return true;
    return false;
}

void conformance_store(const char *path, const struct exercise_options *options, struct conformance *conformance) {
    struct manifest manifest;
    struct exercise_options own = *options;
    if (own.timeout_ms <= 0) own.timeout_ms = EXERCISE_TIMEOUT_MS;
    struct store_check check = {.path = path, .options = &own, .conformance = conformance};
    char own_folder[FOLDER_BYTES + 8];
    const char *temporary = getenv("TMPDIR");
    snprintf(check.folder, sizeof check.folder, "%.200s/tenon-store-XXXXXX",
             temporary && *temporary ? temporary : "/tmp");
    if (manifest_read(path, &manifest, NULL) != TN_OK) return; /* conformance_check has reported it */
    check.id = manifest_text(manifest_plugin(manifest.value), "id");
    if (provides_store(manifest.value) && !own.allow_drafts)
        /* For a shared object, this is already the reason why it was not loaded. */
        conformance_add_as(conformance, CONFORMANCE_ERROR, FINDING_DRAFT,
                           "%s: provides the draft interface `" TN_STORE_DRAFT
                           "`, which is not allowed here, so that a host refuses the plugin, and its store was not "
                           "tried; allow it with `plugins: {drafts: [%s]}` in tenon.yaml, or with --allow-drafts",
                           path, check.id);
    else if (provides_store(manifest.value) && !mkdtemp(check.folder))
        conformance_add(conformance, FINDING_CHECK,
                        "%s: its store was not tried, because %s cannot be created: %s; set TMPDIR", path, check.folder,
                        strerror(errno));
    else if (provides_store(manifest.value)) {
        snprintf(own_folder, sizeof own_folder, "%s/own", check.folder);
        (void)mkdir(own_folder, 0700); /* if it fails, opening the store reports it */
        if (run_job(&check, job_suite, 0, "run the cases of share/tenon/store/conformance"))
            check_processes(&check, manifest.program);
        (void)nftw(check.folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    }
    manifest_finish(&manifest);
}
