/*
 * exercise.c - the child that does it, and the parent that reads what it says and how it ended.
 *
 * What crosses the pipe is lines: "D what is being done now", kept for when the child dies; "F severity code message".
 * The scope of the instances knows every name: what is tried is the plugin, not a document. Plugins that call other
 * components get an error for it.
 */
#include "host/check/exercise.h"
#include "adl/schema/schema.h"
#include "adl/value/buffer.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/call/call.h"
#include "host/call/instance.h"
#include "host/check/generate.h"
#include "host/host.h"
#include "host/interface/guard.h"
#include "host/log.h"
#include "host/loop/loop.h"
#include "host/plugin/check_internal.h"
#include "host/plugin/plugin.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES 2048

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- In the child ---- */

static int pipe_end;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *format, ...) {
    char line[LINE_MAX_BYTES];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line - 1, format, args);
    va_end(args);
    if (length < 0) return;
    if (length > (int)sizeof line - 2) length = (int)sizeof line - 2;
    for (int i = 0; i < length; i++)
        if (line[i] == '\n') line[i] = ' ';
    line[length] = '\n';
    for (int done = 0; done <= length;) {
        ssize_t wrote = write(pipe_end, line + done, (size_t)(length + 1 - done));
        if (wrote < 0 && errno != EINTR) _exit(1);
        if (wrote > 0) done += (int)wrote;
    }
}

static void say_finding(enum check_severity severity, const char *code, const char *text) {
    say("F%d %s %s", (int)severity, code, text);
}

/* Check mode's findings come by the log. */
static void on_log(void *user, int32_t level, const char *who, const char *line) {
    (void)user, (void)level, (void)who;
    if (strncmp(line, "check: ", 7) == 0) say_finding(CHECK_ERROR, "CONTRACT", line + 7);
}

static int32_t any_name(void *self, const char *name) {
    (void)self;
    uint32_t hash = 0;
    for (; *name; name++) hash = hash * 31 + (unsigned char)*name;
    return (int32_t)(hash % 1000);
}

static struct callable *no_callee(void *self, const char *kind, const char *name, tn_value config,
                                  struct error *error) {
    (void)self, (void)config;
    error_set(error, TN_NOT_FOUND, "NOT_FOUND", "there is no %s `%s` while a plugin is checked", kind, name);
    return NULL;
}

static const struct instance_scope scope = {
    .field = any_name, .channel = any_name, .callee = no_callee, .where = "a check"};

struct exercised {
    struct host *host;
    const char *path;
    int64_t end_ms;
    uint64_t seed;
    struct generator generator;
    struct component *component;
    tn_value configs[EXERCISE_CONFIGS]; /* that create has taken */
    uint32_t config_count;
    tn_value config; /* the one of the run */
    bool deaf;       /* a run of the component did not end when it was cancelled */
    bool over;
    struct call *call;
    tn_value reads[16];
};

static struct callable *make(const struct exercised *it, tn_value config) {
    struct callable *callable = NULL;
    if (instance_new(it->component, config, &scope, &callable, NULL) != TN_OK) return NULL;
    return callable;
}

/* Valid configurations are tried until one is taken; mutants must do no harm. */
static void try_configs(struct exercised *it) {
    const struct component_info *info = it->component->info;
    tn_value schema = value_get(info->manifest, "config");
    int count = 2 * EXERCISE_CONFIGS;
    for (int i = 0; i < count; i++) {
        tn_value made = i == 0 ? value_object() : generate(&it->generator, schema, 0);
        if (!value_is(made, TN_OBJECT)) {
            value_unref(made);
            made = value_object();
        }
        bool mutant = i >= EXERCISE_CONFIGS;
        tn_value config = mutant ? generate_mutant(&it->generator, made) : schema_with_defaults(info->config, made);
        if (mutant || schema_validate(info->config, config, NULL) == TN_OK) {
            char *text = json_text(config, JSON_COMPACT);
            say("Dcreate `%s` from %.1500s", info->id, text);
            mem_free(text);
            struct callable *callable = make(it, config);
            if (callable && !mutant && it->config_count < EXERCISE_CONFIGS)
                it->configs[it->config_count++] = value_ref(config);
            callable_unref(callable);
        }
        value_unref(config);
        value_unref(made);
    }
}

static void create_and_destroy(struct exercised *it) {
    const char *id = it->component->info->id;
    say("Dcreate and destroy `%s` %d times", id, EXERCISE_ROUNDS);
    uint64_t before = 0;
    for (int i = 0; i < EXERCISE_ROUNDS; i++) {
        callable_unref(make(it, it->configs[(uint32_t)i % it->config_count]));
        if (i == 9) before = *plugin_memory(it->component->plugin);
    }
    uint64_t after = *plugin_memory(it->component->plugin);
    if (after > before + EXERCISE_ROUNDS / 2) {
        char text[256];
        snprintf(text, sizeof text,
                 "`%.100s` keeps %llu bytes of the host's memory for each instance that is destroyed", id,
                 (unsigned long long)(after - before) / (EXERCISE_ROUNDS - 10));
        say_finding(CHECK_ERROR, "LEAK", text);
    }
}

/* ---- Running ---- */

static void on_ended(struct call *call) { ((struct exercised *)call_owner(call))->over = true; }
static bool on_chunk(struct call *call, tn_value chunk) {
    (void)call, (void)chunk;
    return true;
}
static tn_value on_read(struct call *call, uint32_t field) {
    return ((struct exercised *)call_owner(call))->reads[field % 16];
}
static const struct call_ops ops = {.ended = on_ended, .chunk = on_chunk, .read = on_read};

static bool is_over(void *user) { return ((struct exercised *)user)->over; }

struct countdown {
    struct exercised *it;
    uint64_t turns;
};

static bool turns_are_over(void *user) {
    struct countdown *countdown = user;
    return countdown->it->over || countdown->turns-- == 0;
}

/* One run; cancelled after `turns` of the loop, or where that is UINT64_MAX by its timeout. */
static void run_once(struct exercised *it, tn_value input, uint64_t turns) {
    struct callable *callable = make(it, it->config);
    if (!callable) return;
    it->over = false;
    it->call = call_new(it->host->loop, callable, &ops, it);
    call_timeout(it->call, EXERCISE_RUN_MS, 0);
    it->over = call_start(it->call, input);
    if (!it->over && turns != UINT64_MAX) {
        struct countdown countdown = {it, turns};
        loop_run(it->host->loop, turns_are_over, &countdown);
        if (!it->over) call_cancel(it->call);
    }
    int64_t asked = now_ms();
    if (!it->over) loop_run(it->host->loop, is_over, it);
    if (now_ms() - asked > EXERCISE_DEAF_MS) it->deaf = true;
    if (it->over) call_free(it->call);
    callable_unref(callable);
}

static void run_and_cancel(struct exercised *it) {
    const struct component_info *info = it->component->info;
    tn_value schema = value_get(info->manifest, "input");
    for (size_t i = 0; i < 16; i++) {
        value_unref(it->reads[i]);
        it->reads[i] = generate(&it->generator, NULL, 0);
    }
    for (int i = 0; i < EXERCISE_CANCELS + 5 && !it->deaf && now_ms() < it->end_ms; i++) {
        it->config = it->configs[generate_number(&it->generator, it->config_count)];
        tn_value input = schema ? generate(&it->generator, schema, 0) : value_null();
        uint64_t turns = i < 5 ? UINT64_MAX : generate_number(&it->generator, 4);
        char *text = json_text(input, JSON_COMPACT);
        say("D%s `%s` on %.1500s", i < 5 ? "run" : "cancel", info->id, text);
        mem_free(text);
        run_once(it, input, turns);
        value_unref(input);
    }
}

static bool is_harmless(const struct component_info *info) {
    return value_is(info->effects, TN_ARRAY) && value_count(info->effects) == 0;
}

static bool visit(void *user, const struct component_info *info) {
    struct exercised *it = user;
    struct plugin *plugin = registry_plugin(it->host->registry, info->plugin_id);
    if (strcmp(plugin_path(plugin), it->path) != 0 || strcmp(info->kind, "reducer") == 0) return true;
    if (now_ms() > it->end_ms) return false; /* what has been tried is enough */
    if (registry_resolve(it->host->registry, info->kind, info->id, &it->component, NULL) != TN_OK) return true;
    it->generator.state = it->seed;
    for (const char *at = info->id; *at; at++) it->generator.state = it->generator.state * 31 + (unsigned char)*at;
    it->config_count = 0;
    try_configs(it);
    if (it->config_count) {
        it->config = it->configs[0];
        if (is_harmless(info)) run_and_cancel(it);
        it->config = it->configs[0];
        create_and_destroy(it);
        if (is_harmless(info)) run_and_cancel(it);
        guard_fail_allocations(true);
        say("Dcreate and run `%s` while allocations fail", info->id);
        for (int i = 0; i < EXERCISE_CANCELS; i++) {
            if (is_harmless(info))
                run_once(it, NULL, UINT64_MAX);
            else
                callable_unref(make(it, it->config));
        }
        guard_fail_allocations(false);
    }
    if (it->deaf) {
        char text[256];
        snprintf(text, sizeof text, "`%.150s` works on for seconds when it is cancelled, or its time is up", info->id);
        say_finding(CHECK_WARNING, "DEAF", text);
    }
    it->deaf = false;
    for (uint32_t i = 0; i < it->config_count; i++) value_unref(it->configs[i]);
    return true;
}

static _Noreturn void child(const char *path, uint64_t seed, bool allow_drafts) {
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    const char *const paths[] = {path, NULL};
    struct error error = ERROR_INIT;
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) signal(fatal[i], SIG_DFL);
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nothing >= 0) dup2(nothing, STDOUT_FILENO);
    if (nothing >= 0) dup2(nothing, STDERR_FILENO);
    log_set_sink(on_log, NULL);
    struct exercised it = {.path = path, .end_ms = now_ms() + EXERCISE_ENOUGH_MS, .seed = seed};
    it.host = host_new(
        &(struct host_options){
            .plugin_paths = paths, .no_config = true, .allow_drafts = allow_drafts, .check_plugins = true},
        &error);
    if (!it.host) _exit(0); /* the first part has said why */
    it.host->catalog.each(it.host->catalog.self, NULL, visit, &it);
    for (size_t i = 0; i < 16; i++) value_unref(it.reads[i]);
    say("Dbe unloaded");
    host_free(it.host);
    say("E");
    _exit(0);
}

/* ---- In the parent ---- */

struct told {
    struct check *check;
    char doing[LINE_MAX_BYTES];
    bool ended;
};

static void take_line(struct told *told, char *line) {
    if (line[0] == 'D') {
        snprintf(told->doing, sizeof told->doing, "%s", line + 1);
    } else if (line[0] == 'E') {
        told->ended = true;
    } else if (line[0] == 'F' && line[1] >= '0' && line[1] <= '2' && line[2] == ' ') {
        char *text = strchr(line + 3, ' ');
        if (!text) return;
        *text = 0;
        check_add(told->check, (enum check_severity)(line[1] - '0'),
                  strcmp(line + 3, "LEAK") == 0   ? "LEAK"
                  : strcmp(line + 3, "DEAF") == 0 ? "DEAF"
                                                  : "CONTRACT",
                  "%s", text + 1);
    }
}

static void read_lines(int from, int64_t end, struct told *told) {
    struct buffer line;
    buffer_init(&line, LINE_MAX_BYTES);
    for (;;) {
        char bytes[4096];
        int64_t left = end - now_ms();
        struct pollfd ready = {.fd = from, .events = POLLIN};
        int got = left > 0 ? poll(&ready, 1, (int)left) : 0;
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        ssize_t length = read(from, bytes, sizeof bytes);
        if (length <= 0) break;
        for (ssize_t i = 0; i < length; i++) {
            if (bytes[i] != '\n') {
                buffer_char(&line, bytes[i]);
                continue;
            }
            buffer_char(&line, 0);
            take_line(told, line.data);
            buffer_clear(&line);
        }
    }
    buffer_finish(&line);
}

void exercise(const char *path, uint64_t seed, bool allow_drafts, struct check *check) {
    int ends[2], status = 0;
    struct told told = {.check = check, .doing = "be loaded"};
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        pipe_end = ends[1];
        child(path, seed, allow_drafts);
    }
    close(ends[1]);
    int64_t end = now_ms() + EXERCISE_TIMEOUT_MS;
    if (pid > 0) read_lines(ends[0], end, &told);
    close(ends[0]);
    if (pid <= 0) return;
    bool hung = !told.ended && now_ms() >= end;
    if (hung) kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    char text[LINE_MAX_BYTES + 256];
    if (hung)
        snprintf(text, sizeof text, "%s: it hung; it was asked to %s (seed %llu)", path, told.doing,
                 (unsigned long long)seed);
    else if (WIFSIGNALED(status))
        snprintf(text, sizeof text, "%s: it ended by signal %d (%s); it was asked to %s (seed %llu)", path,
                 WTERMSIG(status), strsignal(WTERMSIG(status)), told.doing, (unsigned long long)seed);
    else if (!told.ended && WEXITSTATUS(status) != 0)
        snprintf(text, sizeof text, "%s: it ended the process with status %d; it was asked to %s (seed %llu)", path,
                 WEXITSTATUS(status), told.doing, (unsigned long long)seed);
    else
        return;
    check_add(check, CHECK_ERROR, hung ? "HUNG" : "CRASHED", "%s", text);
}
