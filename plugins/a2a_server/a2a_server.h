/*
 * a2a_server.h - graphs as agents of the A2A protocol, versions 1.0 and 0.3.
 *
 *     wire.c        objects of 0.3 as those of 1.0, and back
 *     error.c       errors in the shapes of JSON-RPC and of HTTP+JSON
 *     card.c        agent cards
 *     message.c     what a client sends, as the input of a graph or as an answer
 *     task.c        tasks, and the clients that follow them; task_run.c, what a run makes of a task
 *     task_load.c   tasks of saved threads; task_room.c, how many are in memory
 *     send.c        SendMessage and SendStreamingMessage
 *     operations.c  the other methods
 *     push*.c       push notifications (push.h)
 *     a2a_server.c  routes, and the requests that are open
 *
 * Inside, everything has the shapes of 1.0. wire.c and message.c are pure. Everything is [loop].
 */
#ifndef A2A_SERVER_H
#define A2A_SERVER_H

#include "serving.h"
#include <tenon/http.h>

/* Limits; README.md has the table. */
#define PARTS_MAX         100u
#define ID_MAX            128u         /* bytes of the ids that a client chooses */
#define HISTORY_MAX       (256u << 10) /* bytes of the history that is kept with a thread */
#define TASKS_MAX         4096u        /* tasks that are not at their end */
#define TASKS_OWNER_MAX   1024u        /* of one user */
#define TASKS_BYTES       (256u << 20) /* of all tasks in memory: their messages and artifacts, as JSON */
#define TASKS_OWNER_BYTES (64u << 20)  /* of one user */
#define ENDED_MAX         500u         /* tasks that are at their end, and are kept in memory */
#define LIST_MAX          10000        /* threads that are looked at for a list */
#define PAGE_MAX          100
#define PAGE_DEFAULT      50
#define PUSH_OPEN_MAX     64u /* requests with notifications at a time */

/* What a user is told who has too many tasks. */
#define TASKS_FULL                                                                                                     \
    "too many tasks are not at their end, or they need too much memory: one user may have 1024 tasks, with 64 MiB; "   \
    "answer or cancel some of them, or try again later"

enum a2a_kind {
    A2A_TASK_NOT_FOUND,
    A2A_NOT_CANCELABLE,
    A2A_NO_PUSH,
    A2A_UNSUPPORTED,
    A2A_CONTENT_TYPE,
    A2A_NO_EXTENDED_CARD,
    A2A_VERSION,
    A2A_PARSE,
    A2A_INVALID_REQUEST,
    A2A_NO_METHOD,
    A2A_INVALID_PARAMS,
    A2A_INTERNAL,
    A2A_UNAUTHORIZED,
    A2A_FORBIDDEN,
    A2A_NO_AGENT,
    A2A_CONFLICT,
    A2A_LIMIT,
    A2A_UNAVAILABLE
};

struct a2a;
struct exchange;
struct list;
struct push;
struct task;

/* ---- Objects ---- */

/* What a result is: the objects of 0.3 say it in `kind`. */
enum a2a_result { RESULT_TASK, RESULT_EVENT, RESULT_OTHER };

/* `event` is {task}, {message}, {statusUpdate} or {artifactUpdate}. New; NULL if memory runs out. */
tn_value wire_old(enum a2a_result kind, tn_value value);
/* A message of 0.3 in the shape of 1.0: new. Members of the wrong kind stay as they are. */
tn_value wire_message_from_old(tn_value message);
/* Parameters of a method of 0.3. New. */
tn_value wire_params_from_old(tn_value params);
/* The same of the methods of push notifications, and of their configuration alone. */
tn_value wire_push_params_from_old(tn_value params);
tn_value wire_push_config_from_old(tn_value config);
/* Parameters of a method of 1.0, whose members may have the names of the .proto file, too. New. */
tn_value wire_params_named(tn_value params);
bool wire_state_is_known(const char *state); /* a TASK_STATE_… of 1.0 */

/* ---- Errors ---- */

/* The body of an error: of JSON-RPC if `id` is not NULL (a null value if it is not known), else of HTTP+JSON. New. */
tn_value error_body(enum a2a_kind kind, const char *message, tn_value id);
int32_t error_status(enum a2a_kind kind);
enum a2a_kind error_kind_of(tn_value error); /* an ERROR of a method */
enum a2a_kind error_kind_of_status(int32_t status);

/* ---- Messages ---- */

/* What is wrong with a message; false. */
struct a2a_problem {
    enum a2a_kind kind;
    char text[300];
};
bool problem_set(struct a2a_problem *problem, enum a2a_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool message_check(tn_value message, struct a2a_problem *problem);
/* The channels of a run: new; NULL with the problem. */
tn_value message_input(tn_value message, const struct serving_graph *graph, struct a2a_problem *problem);
/* {ID: answer} for the interrupts: new; NULL with the problem. */
tn_value message_answers(tn_value message, tn_value interrupts, struct a2a_problem *problem);
/* A part of a message of Tenon as one of A2A: new; NULL if there is none. */
tn_value message_part(tn_value part);
/* An artifact as a graph writes it into the channel `artifacts`. */
bool message_artifact_is_valid(tn_value artifact);

/* ---- Cards ---- */

/* The card of the graph; `origin` is that of the server. `hybrid`: with the members of 0.3. New. */
tn_value card_of(tn_value item, const char *origin, bool hybrid, bool pushes);

/* ---- Tasks ---- */

struct follower {
    struct follower *next;
    struct exchange *exchange;
    struct task *task;
    int64_t history; /* the most messages of the history; -1: all */
    bool streams, begun, full;
    bool subscribed; /* the stream ends with the task; otherwise also with a question */
    bool at_once;    /* returnImmediately */
    bool cancels;
};

struct task {
    struct task *next;
    struct a2a *a2a;
    char *id, *context, *graph, *owner;
    uint64_t caller;
    const char *state;                    /* TASK_STATE_… */
    int64_t changed;                      /* ms */
    tn_value history, artifacts, message; /* of the status; NULL if there is none */
    tn_value asked;                       /* the interrupts that are open */
    tn_value open;                        /* the artifact that grows: not in `artifacts` yet */
    struct tn_text_buffer text;           /* of it */
    uint64_t answers;                     /* for ids */
    uint64_t bytes;                       /* of messages and artifacts, as JSON */
    char *rejected;                       /* why the graph rejects the task */
    bool replies;                         /* the answer is a message, not a task */
    bool started;
    struct serving_run *run;
    struct serving_items *items;
    struct follower *followers;
    struct push *pushes;
};

/* NULL also if there are too many: TASKS_FULL. Another task can be forgotten. */
struct task *task_new(struct a2a *a2a, uint64_t caller, const char *owner, const char *id, const char *context,
                      const char *graph);
struct task *task_find(struct a2a *a2a, const char *owner, const char *id);
bool task_is_ended(const struct task *task);
void task_free(struct task *task);
void tasks_free(struct a2a *a2a);
/* Forgets tasks, not `kept`, until this user can have so many bytes more, and if `kept` is NULL, one task more. False
 * if that is not enough. */
bool tasks_make_room(struct a2a *a2a, const char *owner, const struct task *kept, uint64_t bytes);
/* Adds a message of the user to the history. */
void task_add_message(struct task *task, tn_value message);
/* Starts a run of the task. Takes `params`. False if memory runs out. */
bool task_run(struct task *task, const struct serving_graph *graph, const char *last_input, const char *method,
              tn_value params);
/* Follows a run of this host from its begin. False if memory runs out. */
bool task_follow_run(struct task *task, const struct serving_graph *graph, const char *last_input, const char *run_id);
/* The run has ended before: what it has made comes from the state of its thread. */
void task_replay(struct task *task, const struct serving_graph *graph, const char *last_input, tn_value state,
                 tn_value report);
/* The run is about to continue: what its steps have completed comes from the state. The id of the last message,
 * borrowed from the state: what is behind it will be new. */
const char *task_replay_part(struct task *task, const struct serving_graph *graph, const char *last_input,
                             tn_value state);
/* Answers the request with the task now or later, or with its events. False if memory runs out. */
bool task_follow(struct task *task, struct exchange *exchange, const struct follower *how);
/* The task: new. `history`: -1 for all. */
tn_value task_value(const struct task *task, int64_t history, bool artifacts);
void task_cancel(struct task *task);
tn_value task_metadata(const struct task *task, const char *last_input); /* what is saved with the thread: new */
tn_value task_saved(tn_value thread);

/* Finds a task of the exchange's user in memory or in the store. `task` is NULL, with the error or NULL, if there is
 * none. The exchange is free again. */
typedef void task_then(struct exchange *exchange, struct task *task, tn_value error);
void task_load(struct exchange *exchange, const char *id, task_then *then);

/* ---- The server ---- */

struct a2a {
    struct serving serving;
    struct serving_exchanges exchanges;
    struct task *tasks; /* the newest first */
    uint32_t active, ended;
    uint64_t bytes;                      /* of all tasks */
    bool hybrid;                         /* cards have the members of 0.3, too */
    const tn_http_1 *http;               /* for push notifications; NULL: there are none */
    tn_value push_allow;                 /* origins */
    uint64_t push_queued;                /* bytes */
    struct push *sending[PUSH_OPEN_MAX]; /* whose requests are open */
};

/* A request of a client, from its first event to CLOSED. */
struct exchange {
    SERVING_EXCHANGE;
    struct a2a *a2a;
    const char *graph;
    bool old;        /* 0.3 */
    bool is_card;    /* the answer is a file, not the result of a method */
    tn_value id;     /* of JSON-RPC; NULL: HTTP+JSON */
    tn_value params; /* of the method, in the shapes of 1.0 */
    /* ROOM, DRAIN and CLOSED; after CLOSED the exchange is freed. NULL: nothing to do. */
    void (*on_event)(struct exchange *exchange, int32_t event);
    void *object;
    struct list *then_object; /* the list that loads its tasks with this request */
};

/* Takes the value. */
void exchange_reply(struct exchange *exchange, enum a2a_result kind, tn_value value);
void exchange_event(struct follower *follower, tn_value event); /* of a stream */
void exchange_fail(struct exchange *exchange, enum a2a_kind kind, const char *message);
void exchange_fail_of(struct exchange *exchange, tn_value error); /* an ERROR of a method */
void exchange_problem(struct exchange *exchange, const struct a2a_problem *problem);
void exchange_abort(struct exchange *exchange); /* memory ran out */

void list_drop(struct exchange *exchange); /* the request has ended while its list was loading tasks */

typedef void exchange_begin(struct exchange *exchange);
exchange_begin send_begin, stream_begin, get_begin, list_begin, cancel_begin, subscribe_begin, extended_begin,
    card_begin, push_create_begin, push_get_begin, push_list_begin, push_delete_begin;

#endif
