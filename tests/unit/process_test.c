/*
 * process_test.c - the child process of an isolated plugin, with shell scripts as children: its messages, its output,
 * and its end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/plugin/isolate/process.h"
#include "tests/unit/deny_call.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- A child whose socket is never empty ---- */

#define MESSAGE_BYTES (1u << 20)
#define IN_FLIGHT     4u
#define MESSAGES      (PROCESS_OUTGOING_MAX / MESSAGE_BYTES + 16)

struct echoes {
    struct process *process;
    tn_value params;
    uint32_t received;
    bool ended;
};

static void on_echo(void *user, tn_value message) {
    struct echoes *echoes = user;
    assert_true(value_equal(value_get(message, "params"), echoes->params));
    echoes->received++;
    process_notify_take(echoes->process, "echo", value_ref(echoes->params));
}

static void on_echo_ended(void *user, const struct error *why) {
    ((struct echoes *)user)->ended = true;
    print_message("%s\n", why->message);
}

static bool all_received(void *user) {
    const struct echoes *echoes = user;
    return echoes->ended || echoes->received == MESSAGES;
}

/* The queue is never empty; sent bytes must not count towards PROCESS_OUTGOING_MAX, which the total exceeds. */
static void test_never_idle(void **state) {
    static const char *const arguments[] = {"/bin/sh", "-c", "cat <&3 >&3", NULL};
    static const char *const environment[] = {"PATH=/usr/bin:/bin", NULL};
    (void)state;
    struct error error = ERROR_INIT;
    struct loop *loop = loop_new(&error);
    struct echoes echoes = {.received = 0};
    echoes.process = process_start(loop,
                                   &(struct process_options){.arguments = arguments,
                                                             .environment = environment,
                                                             .name = "test.echo",
                                                             .message = on_echo,
                                                             .ended = on_echo_ended,
                                                             .user = &echoes},
                                   &error);
    if (!echoes.process) fail_msg("%s", error.message);
    char *text = mem_alloc(MESSAGE_BYTES);
    memset(text, 'x', MESSAGE_BYTES);
    echoes.params = value_set_take(value_object(), "text", value_string(text, MESSAGE_BYTES));
    mem_free(text);
    process_hold(echoes.process);
    for (uint32_t i = 0; i < IN_FLIGHT; i++) process_notify_take(echoes.process, "echo", value_ref(echoes.params));
    assert_true(loop_run(loop, all_received, &echoes));
    assert_false(echoes.ended);
    process_free(echoes.process);
    loop_free(loop);
    value_unref(echoes.params);
}

/* ---- Children that are shell scripts ---- */

#define ANSWER_MS 60000 /* for a child that answers or ends soon */

struct script {
    struct loop *loop;
    struct process *process;
    bool ended;
    uint32_t messages;    /* that on_script_message received */
    struct buffer logged; /* "LEVEL TEXT" for each line that the process logs */
};

static void on_script_message(void *user, tn_value message) {
    (void)message;
    ((struct script *)user)->messages++;
}

static bool script_has_sent_message(void *user) { return ((struct script *)user)->messages > 0; }

static void on_script_ended(void *user, const struct error *why) {
    (void)why;
    ((struct script *)user)->ended = true;
}

static bool script_has_ended(void *user) { return ((struct script *)user)->ended; }

static void on_script_log(void *user, int32_t level, const char *who, const char *line) {
    (void)who;
    buffer_format(&((struct script *)user)->logged, "%d %s\n", (int)level, line);
}

static void program_start(struct script *script, const char *const *arguments) {
    static const char *const environment[] = {"PATH=/usr/bin:/bin", NULL};
    struct error error = ERROR_INIT;
    *script = (struct script){.loop = loop_new(&error)};
    buffer_init(&script->logged, SIZE_MAX);
    log_set_sink(NULL, on_script_log, script);
    log_set_level(NULL, LOG_DEBUG);
    script->process = process_start(script->loop,
                                    &(struct process_options){.arguments = arguments,
                                                              .environment = environment,
                                                              .name = "test.script",
                                                              .message = on_script_message,
                                                              .ended = on_script_ended,
                                                              .user = script},
                                    &error);
    if (!script->process) fail_msg("%s", error.message);
    process_hold(script->process);
}

static void script_start(struct script *script, const char *text) {
    const char *const arguments[] = {"/bin/sh", "-c", text, NULL};
    program_start(script, arguments);
}

static void script_finish(struct script *script) {
    process_free(script->process);
    loop_free(script->loop);
    buffer_finish(&script->logged);
    log_set_level(NULL, LOG_WARN);
    log_set_sink(NULL, NULL, NULL);
}

/* Writes the response to request 1 to a file; the whole message is `size` bytes long. */
static void write_response(const char *path, size_t size) {
    static const char before[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"", after[] = "\"}";
    char head[64];
    size_t content = size;
    while ((size_t)snprintf(head, sizeof head, "Content-Length: %zu\r\n\r\n", content) + content > size) content--;
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s%s", head, before);
    for (size_t i = sizeof before + sizeof after - 2; i < content; i++) fputc('x', file);
    fprintf(file, "%s", after);
    assert_int_equal(ftell(file), size);
    assert_int_equal(fclose(file), 0);
}

/* The socket is read in pieces of 64 KiB, so a response of that size is read together with the end of the stream. */
static void test_response_before_end(void **state) {
    struct script script;
    struct error error = ERROR_INIT;
    tn_value result = NULL;
    siginfo_t info;
    (void)state;
    write_response("response", 65536);
    script_start(&script, "cat response >&3");
    assert_int_equal(waitid(P_PID, (id_t)process_id(script.process), &info, WEXITED | WNOWAIT), 0);
    if (process_call_take(script.process, "ask", value_object(), ANSWER_MS, &result, &error) != TN_OK)
        fail_msg("%s", error.message);
    value_unref(result);
    loop_run(script.loop, script_has_ended, &script);
    script_finish(&script);
}

/* A message that is read together with the response before it is delivered, even if the child sends nothing more. */
static void test_message_after_response(void **state) {
    struct script script;
    struct error error = ERROR_INIT;
    tn_value result = NULL;
    (void)state;
    write_response("response", 100);
    FILE *file = fopen("response", "a");
    assert_non_null(file);
    fprintf(file, "Content-Length: 33\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"note\"}");
    assert_int_equal(fclose(file), 0);
    script_start(&script, "cat response >&3; exec sleep 100");
    if (process_call_take(script.process, "ask", value_object(), ANSWER_MS, &result, &error) != TN_OK)
        fail_msg("%s", error.message);
    value_unref(result);
    assert_int_equal(script.messages, 0);
    process_unhold(script.process);
    loop_run(script.loop, script_has_sent_message, &script);
    assert_int_equal(script.messages, 1);
    process_hold(script.process);
    script_finish(&script);
}

/* A configuration that is nested too deep fails its request. The child does not learn of it, and answers others. */
static void test_request_too_deep(void **state) {
    struct script script;
    struct error error = ERROR_INIT;
    tn_value result = NULL, deep = value_int(1);
    (void)state;
    for (size_t depth = 0; depth < FRAME_DEPTH_MAX - 1; depth++)
        deep = value_set_take(value_object_reserve(1), "deeper",
                              deep); /* with the message around it, one level too deep */
    write_response("response", 100);
    script_start(&script, "cat response >&3; exec sleep 100");
    if (process_call_take(script.process, "ask", value_object(), ANSWER_MS, &result, &error) != TN_OK)
        fail_msg("%s", error.message);
    value_unref(result);
    assert_int_equal(process_notify_take(script.process, "note", value_ref(deep)), FRAME_FITS);
    deep = value_push_take(value_array(), deep);
    assert_int_equal(process_notify_take(script.process, "note", value_ref(deep)), FRAME_TOO_DEEP);
    assert_int_equal(process_call_take(script.process, "create", deep, ANSWER_MS, &result, &error), TN_LIMIT);
    assert_string_equal(error.code, "LIMIT");
    assert_string_equal(error.message,
                        "plugin `test.script`: the request `create` is nested deeper than the 264 levels "
                        "that can be sent");
    error_finish(&error);
    assert_int_equal(kill(process_id(script.process), 0), 0);
    assert_false(script.ended);
    script_finish(&script);
}

static void test_invalid_message_is_logged_once(void **state) {
    struct script script;
    (void)state;
    script_start(&script, "echo 'this is garbage' >&3");
    loop_run(script.loop, script_has_ended, &script);
    process_unhold(script.process);
    loop_run(script.loop, NULL, NULL);
    assert_string_equal(buffer_cstr(&script.logged),
                        "3 it sent an invalid message: a line of a message's header has no colon; found `this is "
                        "garbage?`, expected `Content-Length: N`, an empty line, and JSON\n");
    process_hold(script.process);
    script_finish(&script);
}

/* A child chooses the level of a line; an unknown one does not reach the log. */
static void test_log_levels(void **state) {
    struct script script;
    (void)state;
    script_start(&script, "printf '\\0012warned\\n\\0010debug\\n\\0019odd\\n\\001\\377low\\nplain\\n'");
    loop_run(script.loop, script_has_ended, &script);
    assert_string_equal(buffer_cstr(&script.logged), "2 warned\n0 debug\n1  9odd\n1  \377low\n1 plain\n");
    script_finish(&script);
}

/* While the host waits for a response, a child that has closed its output costs no processor time. */
static void test_closed_output(void **state) {
    struct script script;
    struct error error = ERROR_INIT;
    tn_value result = NULL;
    (void)state;
    write_response("response", 100);
    script_start(&script, "exec >&- 2>&-; sleep 0.5; cat response >&3");
    clock_t before = clock();
    if (process_call_take(script.process, "ask", value_object(), ANSWER_MS, &result, &error) != TN_OK)
        fail_msg("%s", error.message);
    assert_true(clock() - before < CLOCKS_PER_SEC / 10);
    value_unref(result);
    script_finish(&script);
}

/* ---- Signals ---- */

static uint32_t alarms;

static void on_alarm(int number) {
    (void)number;
    alarms++;
}

/* A signal that interrupts the wait for the child's exit does not end the wait. */
static void test_interrupted_wait_for_end(void **state) {
    static const struct itimerval each_ms = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = on_alarm}, before;
    struct script script;
    struct error error = ERROR_INIT;
    tn_value result = NULL;
    (void)state;
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &each_ms, NULL), 0); /* first: the child lives for several signals */
    script_start(&script, "exec 3>&-; sleep 0.03; exit 7");
    assert_int_equal(process_call_take(script.process, "ask", value_object(), ANSWER_MS, &result, &error), TN_ERROR);
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
    assert_true(alarms > 0);
    assert_string_equal(error.message, "plugin `test.script`: its process exited with status 7");
    error_finish(&error);
    script_finish(&script);
}

static int handled[2] = {-1, -1}; /* a pipe; on_urgent writes to it, in whichever process it runs */
static bool raise_after_fork;

static void on_urgent(int number) {
    (void)number;
    if (write(handled[1], "x", 1) != 1) _exit(1);
}

static void after_fork_in_child(void) {
    if (raise_after_fork) raise(SIGURG);
}

/*
 * A signal that arrives before the child has reset the handlers does not run a handler of this process in the child.
 * The child's program starts without blocked signals, and this process keeps its mask.
 */
static void test_handlers_do_not_run_in_child(void **state) {
    static const char *const arguments[] = {"/bin/grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status", NULL};
    struct sigaction action = {.sa_handler = on_urgent}, before;
    struct script script;
    sigset_t blocked;
    char byte;
    (void)state;
    assert_int_equal(pipe2(handled, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(sigaction(SIGURG, &action, &before), 0);
    assert_int_equal(pthread_atfork(NULL, NULL, after_fork_in_child), 0);
    raise_after_fork = true;
    program_start(&script, arguments);
    raise_after_fork = false;
    assert_int_equal(sigprocmask(SIG_SETMASK, NULL, &blocked), 0);
    assert_true(sigisemptyset(&blocked));
    loop_run(script.loop, script_has_ended, &script);
    assert_int_equal(read(handled[0], &byte, 1), -1);
    assert_string_equal(buffer_cstr(&script.logged), "1 SigBlk: 0000000000000000\n1 SigIgn: 0000000000000000\n");
    assert_int_equal(sigaction(SIGURG, &before, NULL), 0);
    close(handled[0]);
    close(handled[1]);
    script_finish(&script);
}

/* ---- Descriptors ---- */

#define INHERITABLE 100 /* a descriptor without the close-on-exec flag */

/* Returns the status with which a forked child exits. */
static int start_without_close_range(void) {
    struct script script;
    if (!deny_call(SYS_close_range)) return 77;
    if (fcntl(STDIN_FILENO, F_DUPFD, INHERITABLE) != INHERITABLE) return 1;
    script_start(&script, "if [ -e /proc/self/fd/100 ]; then echo inherited; else echo closed; fi");
    loop_run(script.loop, script_has_ended, &script);
    return strcmp(buffer_cstr(&script.logged), "1 closed\n") == 0 ? 0 : 2;
}

/* Neither a new kernel nor one without close_range lets a child inherit descriptors of this process. */
static void test_inherits_nothing_without_close_range(void **state) {
    int status;
    (void)state;
    pid_t child = fork();
    if (child == 0) _exit(start_without_close_range());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

static char folder[] = "/tmp/tenon-process-XXXXXX";

static int enter_folder(void **state) {
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_never_idle),
                                       cmocka_unit_test(test_response_before_end),
                                       cmocka_unit_test(test_message_after_response),
                                       cmocka_unit_test(test_request_too_deep),
                                       cmocka_unit_test(test_invalid_message_is_logged_once),
                                       cmocka_unit_test(test_log_levels),
                                       cmocka_unit_test(test_closed_output),
                                       cmocka_unit_test(test_interrupted_wait_for_end),
                                       cmocka_unit_test(test_handlers_do_not_run_in_child),
                                       cmocka_unit_test(test_inherits_nothing_without_close_range)};
    return cmocka_run_group_tests(tests, enter_folder, remove_folder);
}
