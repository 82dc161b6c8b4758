/*
 * process_internal.h - one child process, for process.c (its life) and process_messages.c (what passes its socket).
 */
#ifndef TENON_HOST_PLUGIN_ISOLATE_PROCESS_INTERNAL_H
#define TENON_HOST_PLUGIN_ISOLATE_PROCESS_INTERNAL_H

#include "adl/value/buffer.h"
#include "host/base/loop.h"
#include "host/plugin/isolate/frame.h"
#include "host/plugin/isolate/process.h"
#include <sys/types.h>
#include <uv.h>

#define EXIT_WAIT_MS 3000 /* time that a child has to exit after it has closed its socket */

/* Memory in which the host writes large texts for the child. */
enum sharing {
    SHARING_UNKNOWN, /* the child has not said that it can use it */
    SHARING_ALLOWED, /* there is none yet */
    SHARING_OFFERED, /* the descriptor was queued; the child has not answered */
    SHARING_USED
};

#define PASSED_MAX 2 /* descriptors that a child gets: of the memory in which the host writes, and of the other one */

/* A request of process_request_take without a response. */
struct process_request {
    int64_t id, tag;
    const char *method; /* a literal */
    process_responded *responded;
    void *user;
};

struct process {
    struct loop *loop;
    struct process_options options;
    char *name;
    pid_t pid;
    int socket, output;
    int pidfd; /* -1 if the kernel does not have pidfds */
    uv_poll_t socket_poll, output_poll, pidfd_poll;
    uv_timer_t exit_timer;      /* EXIT_WAIT_MS; in real time, because the child does not have a test's fake clock */
    unsigned open_handles;      /* of libuv: the handles above that are not closed */
    unsigned holds;             /* calls of process_hold without their process_unhold */
    bool polling_writes;        /* socket_poll also waits until the socket accepts bytes */
    bool socket_closed;         /* the child has closed its socket and may still run; its exit is awaited */
    bool output_closed;         /* the child has closed its output */
    bool dead;                  /* the child has ended, and waitpid has returned its exit status */
    bool end_reported;          /* ended() was called */
    bool free_requested;        /* process_free was called */
    bool in_message_now;        /* message_now() has not returned */
    unsigned callbacks_running; /* calls of message() and ended() that have not returned */
    struct frame_reader reader;
    struct buffer outgoing; /* messages for the child */
    size_t outgoing_sent;   /* bytes at the start of `outgoing` that were sent */
    uint64_t sent_total;    /* bytes that were ever sent */
    struct passed {
        int descriptor;
        uint64_t at;      /* it goes with the byte at which sent_total is this */
    } passed[PASSED_MAX]; /* descriptors that were not sent yet, in order */
    size_t passed_count;
    enum sharing sharing;
    struct shared_memory *shared_out, *shared_in; /* the host writes in the first, the child in the second; or NULL */
    size_t shared_bytes;                          /* of the message that was read last */
    struct loop_work flush, deliver;
    tn_value *postponed; /* messages that arrived while process_call_take waited for its response */
    size_t postponed_count, postponed_capacity;
    size_t postponed_bytes;           /* their size on the wire */
    int64_t last_id;                  /* of the last request */
    struct process_request *requests; /* in order of id */
    size_t request_count, request_capacity;
    char *lines[PROCESS_LINES]; /* the last lines of output, a ring; NULL where there was no line */
    size_t line_count;          /* number of lines that were put into the ring */
    struct buffer line;         /* the line whose end was not read yet */
    char *kill_reason;          /* NULL if the host has not killed the child */
    struct error end_error;     /* describes how the child ended */
};

/* process.c */

/* Reads the child's output. */
void process_read_output(struct process *process);
/*
 * Kills the child and its group, reads its exit status and the rest of its output, and schedules ended(). A child that
 * has closed its socket usually exits soon: it has `wait_ms` for that, so that its status is not that of being killed.
 */
void process_reap(struct process *process, int wait_ms);
/*
 * Calls ended() if the child has ended and all messages were delivered. Frees the memory if process_free was called,
 * all handles are closed, and no callback is running. Otherwise does nothing; it is called again after each such
 * change. The process may be freed when it returns: call it last.
 */
void process_report_or_free(struct process *process);
void process_on_socket(uv_poll_t *poll, int status, int events);

/* process_messages.c */

/* Polls for writing only while there is something to write. */
void process_update_poll(struct process *process);
/* Writes as much as the socket accepts. Returns false if the child has closed it. */
bool process_write(struct process *process);
/* Reads what is available, but not much more than 256 KiB. Returns false if the child has closed the socket. */
bool process_read(struct process *process);
/* Passes a message to its request, or to message(). */
void process_deliver(struct process *process, tn_value message);
/* Delivers all messages that were read, and reports the end; the process may be freed when it returns. */
void process_dispatch(struct process *process);
void process_on_flush(struct loop_work *work);

#endif
