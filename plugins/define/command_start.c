/*
 * command_start.c - starts the program that implements a tool, with the tool's arguments filled in.
 *
 * No shell is used: an argument of the tool is one word of the command, or a part of one, whatever characters it
 * contains. The host prepares the program (tenon/launch.h): its environment is short, and it runs in a sandbox with the
 * effects of the description, unless tenon.yaml says `sandbox: false`. A word without placeholders that is the name of
 * a file, as in [python3, tool.py], is part of the program: the sandbox lets it read that file.
 */
#include "call.h"
#include "command.h"
#include "fill.h"
#include "idempotency.h"
#include "launched.h"
#include "orphans.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tenon/util/build.h>
#include <unistd.h>

#define WORD_MAX (128u << 10) /* bytes of one word: Linux does not accept longer ones */

/* ---- The request ---- */

/* Appends a string to the array. Returns false if it is too long or contains a NUL, or if memory runs out. */
static bool request_put_word(tn_builder *out, const char *template, tn_value input) {
    struct tn_text_buffer word = {.limit = WORD_MAX};
    fill_append_text(&word, template, input, false);
    const char *chars = tn_text_chars(&word);
    bool good = word.status == TN_OK && strlen(chars) == word.length;
    if (good) tn_put_text(out, NULL, chars);
    tn_text_free(&word);
    return good;
}

static bool is_literal_file(const char *word) {
    struct stat status;
    return strpbrk(word, "{}") == NULL && stat(word, &status) == 0 && S_ISREG(status.st_mode);
}

static void request_put_sandbox(tn_builder *out, tn_value description) {
    tn_value effects = tn_get(description, "effects"), command = tn_get(description, "command");
    tn_put_begin(out, "sandbox", TN_OBJECT);
    if (effects != NULL) tn_put(out, "effects", effects);
    tn_put_begin(out, "files", TN_ARRAY);
    for (uint64_t i = 1, count = tn.value->count(command); i < count; i++) {
        const char *word = tn_chars(tn.value->at(command, i), NULL);
        if (is_literal_file(word)) tn_put_text(out, NULL, word);
    }
    tn.value->end(out);
    tn.value->end(out);
}

static void request_put_member(tn_builder *out, tn_value description, const char *name) {
    tn_value member = tn_get(description, name);
    if (member != NULL) tn_put(out, name, member);
}

/* The variables of the description, and the idempotency key of the task. */
static void request_put_env(tn_builder *out, tn_value description, tn_task task) {
    static const char name[] = "TENON_IDEMPOTENCY_KEY";
    tn_value env = tn_get(description, "env"), key = idempotency_key(task);
    env = env != NULL ? tn_retain(env) : tn_build("{}");
    if (key != NULL && tn_get(env, name) == NULL)
        env = tn_set_take(env, name, key);
    else
        tn_release(key);
    tn_put_take(out, "env", env);
}

/* What the host prepares, a new reference; NULL if a word cannot be used. */
static tn_value command_request(const struct definition *definition, tn_task task, tn_value input) {
    tn_value description = definition->value, command = tn_get(description, "command");
    tn_builder *out = tn_builder_new();
    bool good = true;
    tn.value->begin(out, TN_OBJECT);
    tn_put_begin(out, "command", TN_ARRAY);
    for (uint64_t i = 0, count = tn.value->count(command); good && i < count; i++)
        good = request_put_word(out, tn_chars(tn.value->at(command, i), NULL), input);
    tn.value->end(out);
    request_put_env(out, description, task);
    request_put_member(out, description, "inherit_env");
    if (definition->sandboxed) request_put_sandbox(out, description);
    tn.value->end(out);
    tn_value request = tn_finish(out);
    if (good) return request;
    tn_release(request);
    return NULL;
}

static tn_value command_stdin(tn_value description, tn_value input) {
    const char *template = tn_get_text(description, "stdin", NULL);
    struct tn_text_buffer text = {.limit = FILL_BYTES_MAX};
    if (template == NULL) return tn_to_json(input);
    fill_append_text(&text, template, input, false);
    return tn_text_finish(&text);
}

/* ---- The process ---- */

static bool command_open_pipe(int both[2], bool we_read) {
    if (pipe2(both, O_CLOEXEC) != 0) return false;
    int end = both[we_read ? 0 : 1];
    return fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK) == 0;
}

/* `theirs` are the ends of the program, by the number that each gets there; -1: it does not get this one. */
static int command_spawn(struct command *command, const struct launched *program, const int theirs[4]) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, defaults;
    orphans_begin();
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attributes);
    for (int i = 0; i < 4; i++)
        if (theirs[i] >= 0) (void)posix_spawn_file_actions_adddup2(&actions, theirs[i], i);
    (void)sigemptyset(&none);
    (void)sigfillset(&defaults);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &defaults);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    int failure = EPERM;
    for (int attempt = 0; attempt < 2 && failure == EPERM; attempt++) {
        short group = attempt ? 0 : POSIX_SPAWN_SETPGROUP;
        command->leads_group = !attempt;
        (void)posix_spawnattr_setflags(&attributes, (short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | group));
        failure =
            posix_spawn(&command->pid, program->path, &actions, &attributes, program->arguments, program->environment);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return failure;
}

/* A descriptor that is dup2'ed must not have the number of a later one: all pipes are moved above those numbers. */
static bool move_up(int both[2]) {
    for (int i = 0; i < 2; i++) {
        if (both[i] < 0 || both[i] > TN_LAUNCH_LOG) continue;
        int moved = fcntl(both[i], F_DUPFD_CLOEXEC, TN_LAUNCH_LOG + 1);
        if (moved < 0) return false;
        (void)close(both[i]);
        both[i] = moved;
    }
    return true;
}

/* Opens the pipes and starts the program. Returns 0 or an errno value. */
static int command_open(struct command *command, const struct launched *program) {
    int pipes[COMMAND_ENDS][2];
    bool open = true;
    for (int i = 0; i < COMMAND_ENDS; i++) pipes[i][0] = pipes[i][1] = -1;
    for (int i = 0; open && i < COMMAND_ENDS; i++)
        if (i != COMMAND_LOG || program->sandboxed)
            open = command_open_pipe(pipes[i], i != COMMAND_IN) && move_up(pipes[i]);
    const int theirs[4] = {pipes[COMMAND_IN][0], pipes[COMMAND_OUT][1], pipes[COMMAND_ERR][1], pipes[COMMAND_LOG][1]};
    int failure = open ? command_spawn(command, program, theirs) : errno;
    for (int i = 0; i < 4; i++)
        if (theirs[i] >= 0) (void)close(theirs[i]);
    for (int i = 0; i < COMMAND_ENDS; i++) command->ends[i] = pipes[i][i == COMMAND_IN ? 1 : 0];
    return failure;
}

/* ---- The call ---- */

static void command_report_spawn_error(struct call *call, const char *code, const char *reason) {
    char message[1024];
    const char *program = tn_chars(tn.value->at(tn_get(call->definition->value, "command"), 0), NULL);
    (void)snprintf(message, sizeof(message), "the command `%.200s` cannot be started: %s", program, reason);
    define_call_fail(call, code, message);
}

/* Prepares and starts the program. If that fails, ends the call and returns false. */
static bool command_launch(struct command *command, tn_value request) {
    struct launched program;
    const char *code;
    char reason[700];
    bool prepared = launched_init(&program, define_launch, request, &code, reason, sizeof(reason)) == TN_OK;
    int failure = prepared ? command_open(command, &program) : 0;
    if (failure != 0) {
        code = failure == ENOENT ? "NOT_FOUND" : "COMMAND_FAILED";
        (void)snprintf(reason, sizeof(reason), "%s", strerror(failure));
    }
    if (!prepared || failure != 0) command_report_spawn_error(command->call, code, reason);
    launched_finish(&program);
    return prepared && failure == 0;
}

static struct command *command_new(struct call *call, tn_value input) {
    struct command *command = tn.core->alloc(tn.host, sizeof(*command));
    if (command == NULL) return NULL;
    *command = (struct command){.call = call,
                                .pid_descriptor = -1,
                                .out = {.limit = COMMAND_OUTPUT_MAX},
                                .err = {.limit = COMMAND_ERRORS_MAX},
                                .log = {.limit = COMMAND_LOG_MAX}};
    for (int i = 0; i < COMMAND_ENDS; i++) command->ends[i] = -1;
    command->input = command_stdin(call->definition->value, input);
    return command;
}

int32_t command_start(struct call *call, tn_value input) {
    struct command *command = command_new(call, input);
    if (command == NULL) return TN_NO_MEMORY;
    tn_value request = command->input != NULL ? command_request(call->definition, call->task, input) : NULL;
    if (request == NULL)
        define_call_fail(call, "INVALID_INPUT",
                         "with these arguments a word of the command is longer than 128 KiB or contains a NUL, or its "
                         "standard input is longer than 16 MiB");
    if (request == NULL || !command_launch(command, request)) {
        tn_release(request);
        command_free(command);
        return TN_OK;
    }
    tn_release(request);
    call->command = command;
    if (command->leads_group) orphans_add(command->pid);
    if (!command_watch(command, tn_get_int(call->definition->value, "timeout_ms", 60000))) {
        command_kill(command);
        if (command->leads_group) orphans_remove(command->pid);
        (void)waitpid(command->pid, NULL, 0);
        define_call_fail(call, "LIMIT", "the command cannot be watched: too many descriptors are open");
        command_free(command);
    }
    return TN_OK;
}
