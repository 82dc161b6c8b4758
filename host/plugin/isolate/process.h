/*
 * process.h - a child process, and the messages between it and a loop.
 *
 * The child has a socket as descriptor PROCESS_SOCKET, /dev/null as standard input, and one pipe as standard output and
 * standard error. The host logs each line that it prints and keeps the last PROCESS_LINES for the error message. The
 * child leads its own process group, which is killed when the child ends. The kernel kills the child when this process
 * ends. Messages that are sent in one turn of the loop are written together.
 *
 *     struct process *process = process_start(loop, &options, &error);
 *     process_notify_take(process, "cancel", params);                        // queued
 *     process_request_take(process, "create", params, created, user, tag);   // queued; created() is called later
 *     process_call_take(process, "create", params, 5000, &result, &error); // waits; postpones other messages
 *     process_free(process);                                               // kills it
 *
 * Thread: all functions and callbacks run on the loop.
 */
#ifndef TENON_HOST_PLUGIN_ISOLATE_PROCESS_H
#define TENON_HOST_PLUGIN_ISOLATE_PROCESS_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include "host/plugin/isolate/frame.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct loop;
struct process;

#define PROCESS_SOCKET       3            /* the child's descriptor */
#define PROCESS_LINES        20u          /* number of output lines that are kept */
#define PROCESS_LINE_MAX     1024u        /* bytes of a line; longer ones are cut */
#define PROCESS_OUTGOING_MAX (256u << 20) /* bytes that the child has not read; if there are more, it is killed */
/* Bytes of other messages that arrive before a response; if there are more, the child is killed. */
#define PROCESS_POSTPONED_MAX (16u << 20)

#define PROCESS_LAST_CALL_MS 2000

struct process_options {
    const char *const *arguments;   /* the program first, a path; NULL-terminated */
    const char *const *environment; /* NAME=value, NULL-terminated; NULL for empty */
    const char *name;               /* the plugin's id, for messages and the log */
    /* Receives each message that is not the response to process_call_take; borrowed. */
    void (*message)(void *user, tn_value message);
    /*
     * Receives a message that arrives while process_call_take waits. Return true if it was handled. Otherwise it is
     * passed to `message` later, in the order of arrival. It must not call process_call_take, which would take the
     * response to the outer request for a message. May be NULL.
     */
    bool (*message_now)(void *user, tn_value message);
    /*
     * Called once when the child has ended, never from inside another function of this file. `why` (PLUGIN_CRASHED)
     * describes how it ended. The receiver must call process_free, now or later.
     */
    void (*ended)(void *user, const struct error *why);
    void *user;
    /*
     * clock_now_ms from which process_call_take gives a call at most PROCESS_LAST_CALL_MS, because the host ends; 0
     * until that is known. Read on each call and during it. NULL: never.
     */
    const _Atomic int64_t *ends_by_ms;
    /*
     * Removes secrets from a line of output. Returns the new line, which is freed with mem_free, or NULL if the line
     * contains none. May be NULL.
     */
    char *(*scrub)(void *scrub_user, const char *line);
    void *scrub_user;
};

/*
 * Starts the child. Copies the options; `arguments` and `environment` are not used after the call. Returns NULL and
 * sets `error` on failure.
 */
struct process *process_start(struct loop *loop, const struct process_options *options, struct error *error);
/*
 * Kills the child and its group if they still run. ended() is not called after that. Can be called from inside
 * `message` and `ended`. NULL is allowed.
 */
void process_free(struct process *process);
/* Kills the child. ended() is called later; its error message contains `why`. */
void process_kill(struct process *process, const char *why);

/* The child can read and write shared memory (shared.h): it has said so in its answer to `initialize`. */
void process_allow_shared(struct process *process);

pid_t process_id(const struct process *process);
/* True if the child has ended or closed its socket, even if ended() was not called yet. */
bool process_has_ended(const struct process *process);
/*
 * For a process whose loop does not run, because its thread only uses process_call_take: notices now what the loop
 * would notice, and logs what the child has printed. Returns false if the child has ended; then process_end has the
 * reason.
 */
bool process_refresh(struct process *process);
const struct error *process_end(const struct process *process); /* how the child has ended; borrowed */
/*
 * Queues the notification {"jsonrpc", "method", "params"}, and takes params. Does nothing if the child has ended.
 * Returns why the message was not queued, or FRAME_FITS.
 */
enum frame_fit process_notify_take(struct process *process, const char *method, tn_value params);
/*
 * The response to process_request_take: TN_OK with the result, or TN_FAILED with the child's error; both are borrowed.
 * It may be called while process_call_take waits for another response, so it must not call process_call_take.
 */
typedef void process_responded(void *user, int64_t tag, int32_t status, tn_value result, const struct error *error);
/*
 * Queues a request, and takes params. `responded` is called once, unless the child ends before it responds. If the
 * request does not fit into a message, returns why, and does not call it.
 */
enum frame_fit process_request_take(struct process *process, const char *method, tn_value params,
                                    process_responded *responded, void *user, int64_t tag);
/*
 * Sends a request and blocks until the response arrives; takes params. `error` may be NULL. Returns one of:
 *   TN_OK      *result is a new reference
 *   TN_FAILED  the child responded with an error, which is copied with its code
 *   TN_LIMIT   the request is too long, or the request or the response is nested too deep
 *   TN_ERROR   the child has ended, or was killed because there was no response in time (PLUGIN_CRASHED)
 */
int32_t process_call_take(struct process *process, const char *method, tn_value params, int64_t timeout_ms,
                          tn_value *result, struct error *error);
/*
 * While a process is held, it keeps the loop running, so that the loop waits for its messages. Holds nest: each needs a
 * process_unhold.
 */
void process_hold(struct process *process);
void process_unhold(struct process *process);

#endif
