/*
 * two_hosts_test.c - two hosts in one process are independent: each has its own configuration, log and clock.
 *
 * Each test writes lines from the loop's thread, from worker threads and from a thread that the host does not know, and
 * compares what arrives at the sink of each host.
 */
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "adl/value/memory.h"
#include "host/assembly/host.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/plugin/abi/abi.h"
#include "host/plugin/call/worker.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"

#define ROUNDS 25
#define JOBS   4 /* at a time */

/* One host, its configuration, and what its sink received. */
struct side {
    char name;
    const char *level; /* in tenon.yaml */
    char folder[64];
    struct host *host;
    _Atomic unsigned lines[LOG_ERROR + 1], foreign_lines;
    unsigned jobs_left;
    pthread_barrier_t *ready;
};

struct logging_job {
    struct job job;
    struct side *side;
};

static void on_line(void *user, int32_t level, const char *who, const char *line) {
    struct side *side = user;
    (void)who;
    atomic_fetch_add(line[0] == side->name ? &side->lines[level] : &side->foreign_lines, 1);
}

static void side_open(struct side *side) {
    char path[80];
    const char *const plugins[] = {TENON_CORE_PLUGIN, NULL};
    struct error error = ERROR_INIT;
    snprintf(side->folder, sizeof side->folder, "/tmp/tenon-two-hosts-XXXXXX");
    assert_non_null(mkdtemp(side->folder));
    snprintf(path, sizeof path, "%s/tenon.yaml", side->folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "log: %s\n", side->level);
    assert_int_equal(fclose(file), 0);
    side->host =
        host_new(&(struct host_options){.plugin_paths = plugins, .no_installed = true, .config_file = path}, &error);
    if (!side->host) fail_msg("%s", error.message);
    log_set_sink(host_log(side->host), on_line, side);
}

static void side_close(struct side *side) {
    char path[80];
    host_free(side->host);
    snprintf(path, sizeof path, "%s/tenon.yaml", side->folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(side->folder), 0);
}

static void write_each_level(const struct side *side) {
    for (int32_t level = LOG_DEBUG; level <= LOG_ERROR; level++) log_write(level, NULL, "%c at %d", side->name, level);
}

/* [worker] */
static void job_run(struct job *job) { write_each_level(((struct logging_job *)job)->side); }

static void job_returned(struct loop_work *work) {
    struct logging_job *job = (struct logging_job *)(void *)((char *)work - offsetof(struct logging_job, job.work));
    workers_returned(&job->job);
    job->side->jobs_left--;
    mem_free(job);
}

static bool no_jobs_left(void *user) { return ((const struct side *)user)->jobs_left == 0; }

static void jobs_submit(struct side *side) {
    for (unsigned i = 0; i < JOBS; i++) {
        struct logging_job *job = mem_zalloc(sizeof *job);
        job->side = side;
        job->job.run = job_run;
        job->job.work.run = job_returned;
        side->jobs_left++;
        workers_submit(&job->job, host_loop(side->host), NULL);
    }
}

/* A thread that a plugin started: it has only the plugin's tn_host. */
static void *plugin_thread(void *user) {
    const struct side *side = user;
    const tn_host *host = plugin_host(registry_plugin(host_registry(side->host), "tenon.core"));
    char line[] = {side->name, 0};
    assert_null(log_current());
    for (int32_t level = LOG_DEBUG; level <= LOG_ERROR; level++) interface_core.log(host, level, line, TN_Z);
    return NULL;
}

static void expect_lines(const struct side *side, unsigned rounds) {
    static const char *const levels[] = {"debug", "info", "warn", "error"};
    assert_int_equal(side->foreign_lines, 0);
    bool shown = false;
    for (int32_t level = LOG_DEBUG; level <= LOG_ERROR; level++) {
        if (strcmp(levels[level], side->level) == 0) shown = true;
        assert_int_equal(side->lines[level], shown ? rounds : 0);
    }
}

static void *run_side(void *user) {
    struct side *side = user;
    pthread_t thread;
    pthread_barrier_wait(side->ready);
    side_open(side);
    for (unsigned round = 0; round < ROUNDS; round++) {
        write_each_level(side);
        jobs_submit(side);
        assert_int_equal(pthread_create(&thread, NULL, plugin_thread, side), 0);
        assert_true(loop_run(host_loop(side->host), no_jobs_left, side));
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    assert_ptr_equal(log_current(), host_log(side->host));
    expect_lines(side, ROUNDS * (1 + JOBS + 1));
    pthread_barrier_wait(side->ready); /* both hosts exist until both have counted */
    side_close(side);
    assert_null(log_current());
    return NULL;
}

static void each_thread_writes_to_the_log_of_its_host(void **state) {
    (void)state;
    pthread_barrier_t ready;
    pthread_barrier_init(&ready, NULL, 2);
    struct side verbose = {.name = 'a', .level = "debug", .ready = &ready};
    struct side quiet = {.name = 'b', .level = "error", .ready = &ready};
    pthread_t threads[2];
    assert_int_equal(pthread_create(&threads[0], NULL, run_side, &verbose), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, run_side, &quiet), 0);
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    pthread_barrier_destroy(&ready);
    workers_stop();
}

static void thread_with_two_hosts_logs_to_the_host_entered_last(void **state) {
    (void)state;
    struct side info = {.name = 'a', .level = "info"}, warning = {.name = 'b', .level = "warn"};
    side_open(&info);
    side_open(&warning);
    write_each_level(&warning);
    jobs_submit(&info);
    assert_true(loop_run(host_loop(info.host), no_jobs_left, &info));
    write_each_level(&info);
    loop_enter(host_loop(warning.host));
    write_each_level(&warning);
    expect_lines(&info, JOBS + 1);
    expect_lines(&warning, 2);
    side_close(&info);
    assert_ptr_equal(log_current(), host_log(warning.host));
    write_each_level(&warning);
    expect_lines(&warning, 3);
    side_close(&warning);
    assert_null(log_current());
    workers_stop();
}

static void host_without_a_sink_logs_to_the_sink_of_the_process(void **state) {
    (void)state;
    struct side process = {.name = 'a', .level = "info"}, other = {.name = 'a', .level = "info"};
    side_open(&other);
    log_set_sink(host_log(other.host), NULL, NULL);
    log_set_sink(NULL, on_line, &process);
    write_each_level(&other);
    expect_lines(&process, 1); /* the sink is that of the process, the level that of the host */
    assert_int_equal(log_level(NULL), LOG_WARN);
    assert_int_equal(log_level(host_log(other.host)), LOG_INFO);
    log_set_sink(NULL, NULL, NULL);
    side_close(&other);
}

static void fake_clock_affects_one_host(void **state) {
    (void)state;
    struct side fake = {.name = 'a', .level = "info"}, real = {.name = 'b', .level = "info"};
    side_open(&fake);
    side_open(&real);
    int64_t before = loop_wall_ms(host_loop(real.host));
    loop_fake_clock(host_loop(fake.host));
    loop_fake_advance(host_loop(fake.host), 1000);
    assert_int_equal(loop_now_ms(host_loop(fake.host)), 1000);
    int64_t moved = loop_wall_ms(host_loop(real.host)) - before;
    assert_true(moved >= -1000 && moved < 60000);
    assert_true(loop_wall_ms(host_loop(real.host)) != loop_wall_ms(host_loop(fake.host)));
    side_close(&real);
    side_close(&fake);
}

/* `tenon plugin check` depends on it: otherwise a check could write to the user's store. */
static void replaced_store_never_falls_back_to_the_configured_one(void **state) {
    (void)state;
    struct side side = {.name = 'a', .level = "info"};
    struct error error = ERROR_INIT;
    side_open(&side);
    host_set_store_options_take(side.host, value_set_take(value_object(), "use", value_text("missing")));
    for (int i = 0; i < 2; i++) {
        assert_null(host_store(side.host, &error));
        assert_string_equal(error.code, "STORE_NOT_FOUND");
        assert_non_null(strstr(error.message, "`missing`"));
        error_finish(&error);
    }
    side_close(&side);
}

static size_t count_copies(void) {
    char path[300], target[64];
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    size_t count = 0;
    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        (void)snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
        ssize_t length = readlink(path, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        count += strncmp(target, "/memfd:tenon-plugin", strlen("/memfd:tenon-plugin")) == 0;
    }
    closedir(folder);
    return count;
}

static struct host *open_with_core(void) {
    const char *const plugins[] = {TENON_CORE_PLUGIN, NULL};
    struct error error = ERROR_INIT;
    struct host *host =
        host_new(&(struct host_options){.plugin_paths = plugins, .no_installed = true, .no_config = true}, &error);
    if (!host) fail_msg("%s", error.message);
    struct component *component = NULL;
    assert_int_equal(registry_resolve(host_registry(host), "node", "passthrough", &component, &error), TN_OK);
    assert_true(plugin_bundled(component->plugin));
    return host;
}

/* Hosts that come and go while another one exists need no new copy of a plugin each time. */
static void copies_are_used_again(void **state) {
    (void)state;
    struct host *first = open_with_core();
    size_t before = count_copies();
    struct host *second = open_with_core(), *third = open_with_core();
    size_t copies = count_copies();
    assert_true(copies <= before + 2);
    for (int i = 0; i < 5; i++) {
        host_free(second);
        second = open_with_core();
        host_free(third);
        third = open_with_core();
    }
    assert_int_equal(count_copies(), copies);
    host_free(third);
    host_free(second);
    host_free(first);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_used_again),
        cmocka_unit_test(each_thread_writes_to_the_log_of_its_host),
        cmocka_unit_test(thread_with_two_hosts_logs_to_the_host_entered_last),
        cmocka_unit_test(host_without_a_sink_logs_to_the_sink_of_the_process),
        cmocka_unit_test(fake_clock_affects_one_host),
        cmocka_unit_test(replaced_store_never_falls_back_to_the_configured_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
