/*
 * process.h - a program started as a child, and the messages between it and a loop.
 *
 * The child gets a socket as descriptor PROCESS_SOCKET, nothing on standard input, and one pipe as standard output and
 * error, whose lines are logged and the last of them kept. It is a process group of its own, which dies with it, and it
 * is asked to end when this process does. Messages that are sent in one turn of the loop leave in one write.
 *
 *     struct process *process = process_start(loop, &options, &error);
 *     process_send(process, message);                               // soon
 *     process_call(process, "create", params, 5000, &result, &error); // waits; what else arrives meanwhile comes later
 *     process_free(process);                                        // kills it
 *
 * Everything is [loop].
 */
#ifndef TENON_HOST_PROCESS_H
#define TENON_HOST_PROCESS_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct loop;
struct process;

#define PROCESS_SOCKET      3            /* the child's descriptor */
#define PROCESS_LINES       20u          /* last lines of output that are kept */
#define PROCESS_LINE_MAX    1024u        /* bytes of a line; longer ones are cut */
#define PROCESS_UNSENT_MAX  (256u << 20) /* bytes that the child has yet to read; past it, it is killed */
#define PROCESS_WAITING_MAX (16u << 20)  /* bytes that it says while an answer is waited for; past it, it is killed */

struct process_options {
    const char *const *arguments;   /* the program first, a path; NULL-terminated */
    const char *const *environment; /* NAME=value, NULL-terminated; NULL: empty */
    const char *name;               /* for messages and the log: the plugin's id */
    /* A message that is no response to process_call; borrowed. */
    void (*message)(void *user, tn_value message);
    /*
     * One that arrives while an answer is waited for: true where it was seen to now; else it comes to `message` later,
     * in order. May be NULL.
     */
    bool (*at_once)(void *user, tn_value message);
    /* It is gone, and why (PLUGIN_CRASHED): once, never from inside another function here. Free it when convenient. */
    void (*ended)(void *user, const struct error *why);
    void *user;
    /* A line of its output without what nobody is to see, mem_free it; NULL: as it is. May be NULL. */
    char *(*safe)(void *safe_user, const char *line);
    void *safe_user;
};

/* NULL with error. Options are copied. */
struct process *process_start(struct loop *loop, const struct process_options *options, struct error *error);
/* Kills it, if it lives, with its group; ended() does not come. NULL is allowed. Fine from inside message and ended. */
void process_free(struct process *process);
/* Kills it; ended() comes, with `why` as a part of its message. */
void process_kill(struct process *process, const char *why);

pid_t process_id(const struct process *process);
/* Queues a message. Nothing where the child is gone. Takes the message. False: it is too long (FRAME_MESSAGE_MAX). */
bool process_send_take(struct process *process, tn_value message);
/* {"jsonrpc", "method", "params"}; takes params. */
bool process_notify_take(struct process *process, const char *method, tn_value params);
/*
 * A request, and its answer, waited for; takes params. TN_OK and the result, a new reference; TN_FAILED and the error
 * that the child answered, with its code; TN_LIMIT: it is too long to be asked; TN_ERROR (TIMEOUT or PLUGIN_CRASHED):
 * there is no answer, and the child is done for.
 */
int32_t process_call_take(struct process *process, const char *method, tn_value params, int64_t timeout_ms,
                          tn_value *result, struct error *error);
/* While somebody waits for it, the loop does. Counted. */
void process_hold(struct process *process);
void process_release(struct process *process);
/* Its last lines of output, oldest first: an array of strings; a new reference. */
tn_value process_lines(const struct process *process);

#endif
