/*
 * langgraph.h - graphs by the API of LangGraph's Agent Server (README.md).
 *
 *     langgraph_server.c  routes, requests that are open, and their answers
 *     assistants.c        assistants: the graphs that are served; assistants_made.c, those that users make
 *     threads.c           threads; thread_state.c, their state and history
 *     prune.c             removing several threads, or their history
 *     runs.c              requests that start runs; run_request.c, what they may have
 *     runs_known.c        requests about runs that exist
 *     rollback.c          a run that was cancelled leaves nothing
 *     run_life.c          runs, and the runs of a thread that wait; run_load.c, runs of an earlier process;
 *                         run_share.c, what one user's runs may take
 *     stream.c            their events, and the clients that follow them; stream_saved.c, events that survive
 *     events.c            engine events as events of this protocol; message.c, messages and ids
 *     store.c             the store, which is the memory of the host
 *     webhook.c           addresses that get runs when they have ended
 *     crons.c             crons, which are schedules of the host; crons_run.c, the runs that they start
 *
 * What the protocol knows of a thread or a run, and the host does not, is a memory in the namespace [langgraph,
 * threads] or [langgraph, runs, THREAD]. events.c and message.c are pure. Everything is [loop].
 */
#ifndef LANGGRAPH_H
#define LANGGRAPH_H

#include "serving.h"

/* Limits; README.md has the table. */
#define BODY_MAX    (16 << 20)  /* bytes of a request */
#define RUNS_MAX    4096u       /* runs that have not ended, or are kept */
#define ENDED_MAX   100u        /* runs that have ended and whose events are kept */
#define ENDED_SIZE  (64u << 20) /* bytes of them */
#define SHARE_MAX   256u        /* runs of one user that have not ended */
#define SHARE_SIZE  (64u << 20) /* bytes of the bodies of one user's runs that wait */
#define WAITING_MAX 100u        /* runs of one thread that wait for another one */
#define LOG_MAX     (4u << 20)  /* bytes of the events of one run, roughly */
#define UNSAVED_MAX (16u << 20) /* the same while the store or a client does not take them */
#define EXCESS_MAX  (1u << 27)  /* bytes above LOG_MAX of all runs that clients have not received */
#define STEPS_MAX   1000u       /* updates of a new thread */
#define BATCH_MAX   100u        /* runs of one batch */
#define LIST_MAX    1000        /* threads or runs that one search reads */
#define DELAY_MAX   2592000     /* seconds of `after_seconds` */
#define STREAM_TTL  86400       /* seconds that the saved events of a run are kept */
#define ID_MAX      64u         /* bytes of the id of a thread, with its NUL */
#define UUID_TEXT   37u
/* A text in messages/partial that is longer than PARTIAL_WHOLE comes when it has grown by 1/PARTIAL_PART. */
#define PARTIAL_WHOLE 16384u
#define PARTIAL_PART  32u

/* ---- message.c ---- */

/* A message, or an array of messages, as Tenon has it: new. Other values stay as they are. */
tn_value message_in(tn_value value);
/* The members of the input, whose arrays of messages are converted: new. */
tn_value state_in(tn_value state);
/* The same in the other direction. */
tn_value message_out(tn_value message);
tn_value state_out(tn_value state);
/* The same without channels that have no value: null. */
tn_value values_out(tn_value state);
bool is_message(tn_value value);
/* The id without `@OWNER:`. */
const char *bare_id(const char *id);
bool is_uuid(const char *text);
void uuid_new(char out[UUID_TEXT]);
/* The same id for the same name. */
void uuid_of_name(const char *name, char out[UUID_TEXT]);
/*
 * The id of the checkpoint with this number, and back; -1 if it is not one. CHECKPOINT_START is the state before the
 * first input, which LangGraph has as a checkpoint.
 */
#define CHECKPOINT_START INT64_C(-2)
void checkpoint_id(int64_t seq, char out[UUID_TEXT]);
int64_t checkpoint_seq(const char *id);
#define TIME_TEXT_SIZE 32
void time_text(int64_t ms, char out[TIME_TEXT_SIZE]);
tn_value time_value(int64_t ms); /* null for 0: new */
/* What the graph asks, as interrupts of this protocol: new. */
tn_value interrupts_out(tn_value interrupts);

/* ---- events.c ---- */

/* The stream modes of a request. */
enum {
    MODE_VALUES = 1,
    MODE_UPDATES = 2,
    MODE_MESSAGES = 4,
    MODE_TUPLE = 8,
    MODE_CUSTOM = 16,
    MODE_TASKS = 32,
    MODE_CHECKPOINTS = 64,
    MODE_DEBUG = 128,
    MODE_EVENTS = 256
};

/* The modes of a text or an array of texts; 0 if one of them is not known. NULL: values. */
unsigned modes_read(tn_value modes);
/* The modes of run/start: new. Tasks are needed for the names of events of sub-graphs. */
tn_value modes_of_run(unsigned modes, bool subgraphs);

struct events {
    unsigned modes;
    bool subgraphs; /* events of nested runs, too */
    const char *run_id, *thread_id, *graph;
    void (*send)(void *user, const char *event, tn_value data);
    void *user;
    tn_value open;   /* {NODE: the message that a model streams} */
    tn_value shown;  /* {NODE: bytes of its text in the last messages/partial} */
    tn_value seen;   /* {id of a message: true} */
    tn_value inside; /* {the nodes around a nested run: true} that has reported messages */
    tn_value tasks;  /* {nodes of a path: the task that runs there}, with sub-graphs */
    uint64_t made;   /* ids of messages */
    bool missed;     /* events are lost: no deltas any more */
};

void events_take(struct events *events, tn_value event);
/* Events before the next one are lost: from now on messages are sent whole, when their node has ended. */
void events_missed(struct events *events);
/* The end: the report of the run. */
void events_end(struct events *events, tn_value report);
void events_close(struct events *events);

/* ---- The server ---- */

struct langgraph {
    struct serving serving;
    struct serving_exchanges exchanges;
    struct run *runs; /* the newest first */
    uint32_t count, ended;
    uint64_t ended_size;          /* bytes of those that have ended */
    uint64_t excess;              /* of the others: bytes of their logs above LOG_MAX */
    uint64_t subscription;        /* to schedule/started; 0: none */
    const struct tn_http_1 *http; /* NULL: there are no webhooks */
    tn_value hooks_allow;
    struct hook *hooks; /* the newest first */
};

struct run;
typedef void step(struct exchange *exchange, bool ok, tn_value value);

/* A request of a client, from its first event to CLOSED. */
struct exchange {
    SERVING_EXCHANGE;
    struct langgraph *langgraph;
    tn_value body;
    uint64_t call; /* that is open */
    step *then;    /* what it continues with */
    struct serving_lookup *lookup;
    void (*with_graph)(struct exchange *exchange);
    struct serving_graph graph;
    tn_value assistant;     /* that a user has made, of `graph`: a memory; or NULL */
    tn_value graphs;        /* what `graph` is of */
    char thread[ID_MAX];    /* of the path, or of the request; "" without a thread */
    tn_value known, record; /* of a thread: the memory, and thread/get. NULL: there is none */
    tn_value list, made;    /* for searches */
    uint64_t at;
    void (*with_thread)(struct exchange *exchange);
    void (*with_run)(struct exchange *exchange, struct run *run);
    void (*on_event)(struct exchange *exchange, int32_t event); /* ROOM, DRAIN, CLOSED */
    void *object;
    int how;                /* what the client of a new run wants: runs.c */
    int64_t head;           /* the checkpoint of the thread before the run, or BASE_NONE */
    uint64_t index, pruned; /* prune.c */
};

typedef void exchange_begin(struct exchange *exchange);

/* Calls a method, and continues with `then`. Takes `params`. */
void ask(struct exchange *exchange, const char *method, tn_value params, step *then);
/* Answers. Takes the value. */
void reply(struct exchange *exchange, int32_t status, tn_value json);
void refuse(struct exchange *exchange, int32_t status, const char *format, ...) __attribute__((format(printf, 3, 4)));
void refuse_error(struct exchange *exchange, tn_value error);
const char *param(const struct exchange *exchange, const char *name);
const char *query(const struct exchange *exchange, const char *name);
/* A whole number of the body from 0 to `most`. */
int64_t body_number(const struct exchange *exchange, const char *name, int64_t fallback, int64_t most);
/* Answers with the items from `offset` on, at most `limit`, of the body. Takes the list. */
void reply_page(struct exchange *exchange, tn_value list);

/* Finds the graph of the assistant of the body or the path, an id or a name; 404 if there is none. */
void find_graph(struct exchange *exchange, void (*then)(struct exchange *exchange));
/* The same for the assistant of the path; the body is not used. */
void find_in_path(struct exchange *exchange, void (*then)(struct exchange *exchange));
tn_value assistants_namespace(void);
/* The id of the assistant that was found. Returns `id`. */
const char *assistant_id_of(const struct exchange *exchange, char id[UUID_TEXT]);
/* Reads the graph of an assistant in `exchange->graphs`; false if there is none. */
bool select_graph(struct exchange *exchange, const char *assistant);
/* Finds the thread of `exchange->thread`; 404 if there is none, unless `create`. */
void find_thread(struct exchange *exchange, bool create, void (*then)(struct exchange *exchange));
/* Reads the id in the path; false if it is not one, which was answered. */
bool thread_of_path(struct exchange *exchange);
tn_value threads_namespace(void);
/* `supersteps` of a new thread, thread_steps.c. False, and answered, if they are not valid. */
bool check_steps(struct exchange *exchange);
/* The node that an update acts as; NULL for `__start__`: values are written, and what is next stays. */
const char *node_in(const char *name);
/* Writes them, and continues with `then`. */
void write_steps(struct exchange *exchange, void (*then)(struct exchange *exchange));
tn_value runs_namespace(const char *thread);
/* The status in this protocol of a thread's record. */
const char *thread_status(tn_value record);
/* {thread_id, checkpoint_ns, checkpoint_id}: new. */
tn_value checkpoint_value(const char *thread, int64_t seq);
/* Metadata of `memory`, or an empty object: borrowed or NULL. */
tn_value known_member(tn_value memory, const char *name);

/* ---- run_request.c ---- */

bool is_set(tn_value value); /* not null, and not empty */
/* False if the request has what is not valid, or not supported; it was answered. */
bool check_run_request(struct exchange *exchange);
/* The parameters of *method: new; NULL if that was answered. */
tn_value run_params(struct exchange *exchange, const char **method);
/* The configuration of run/start, for a body, or what run_value has as `kwargs`: new. `replace`: what the thread does.
 */
tn_value run_config(tn_value body, tn_value assistant, const char *thread, bool replace);
/* The checkpoint that the run begins with; NULL: the newest one. */
const char *run_checkpoint(const struct exchange *exchange);

/* ---- Runs ---- */

struct run_options {
    const char *assistant, *graph, *method, *strategy;
    tn_value params, metadata, kwargs; /* params: without config.run_id */
    tn_value state;                    /* whose values the stream begins with; or NULL */
    unsigned modes;
    bool subgraphs, cancel_on_disconnect, resumable;
    uint64_t delay_ms;
    int64_t base;                /* the checkpoint of the thread before the run, or one of these: */
#define BASE_NONE    INT64_C(-1) /* the thread had none */
#define BASE_UNKNOWN INT64_C(-2)
};

struct run;

/*
 * A run of `exchange->thread`, or without one. It starts at once, or when the runs of its thread before it have ended.
 * NULL: there are too many, which was answered. Takes nothing.
 */
struct run *run_new(struct exchange *exchange, const struct run_options *options);
/* False, and 429, if the user has too many runs that have not ended to start `more`. */
bool run_check_share(struct exchange *exchange, uint64_t more);
/* The run of the user that is known here, in `exchange->thread`; NULL if it is not. */
struct run *run_find(struct exchange *exchange, const char *id);
/*
 * Reads the run of the path, which is not known here; 404 if it does not exist. `run`: NULL if only the memory
 * `exchange->made` knows it. A run whose process has ended is continued, if the caller may.
 */
void run_load(struct exchange *exchange, int64_t after, void (*then)(struct exchange *exchange, struct run *run));
/* The newest run of `exchange->thread` that has not ended, or NULL. `waiting`: how many wait. */
struct run *run_active(struct exchange *exchange, uint32_t *waiting);
/* Cancels the runs that the body of /runs/cancel names, and returns their number. */
uint32_t runs_cancel_named(struct exchange *exchange);
/* The run of `exchange->thread` that has begun and has not ended; NULL: there is none. */
struct run *run_begun(struct exchange *exchange);
/* Cancels all runs of `exchange->thread`. `forget`: nothing of them is saved any more. */
void runs_cancel(struct exchange *exchange, bool forget);
tn_value run_value(const struct run *run); /* new */
const char *run_id_of(const struct run *run);
bool run_has_ended(const struct run *run);
bool run_has_result(const struct run *run);
bool run_was_loaded(const struct run *run); /* it is of an earlier process */
/* Of a run that has ended. */
void run_forget(struct run *run);
void run_cancel(struct run *run);
/* The client gets the events after this number. `with_start`: it has started the run. */
void run_follow(struct run *run, struct exchange *exchange, int64_t after, bool with_start);
/* The client gets the values of the end. `with_start`: it has started the run. */
void run_wait(struct run *run, struct exchange *exchange, bool with_start);
/* Calls `then` when the run has ended. */
void run_await(struct run *run, struct exchange *exchange, void (*then)(struct exchange *exchange, struct run *run));
/*
 * After run_cancel of a run that has begun: waits until it has ended, and removes it and its checkpoints. Then the
 * thread is as it was before the run, and `exchange->record` is its record; `then` is called, unless it failed, which
 * was answered. If it is not known what was before, only the run is removed.
 */
void run_roll_back(struct run *run, struct exchange *exchange, void (*then)(struct exchange *exchange));
/* Removes the thread and what is known of it; its runs are cancelled. */
void thread_forget(struct exchange *exchange, void (*then)(struct exchange *exchange));
/* Answers with the run as soon as it has started, or waits for another one. */
void run_tell(struct run *run, struct exchange *exchange);
/* The newest event; 0 if there is none. */
int64_t run_newest(const struct run *run);
void runs_free(struct langgraph *langgraph);

/* ---- webhook.c ---- */

void webhooks_open(struct langgraph *langgraph, tn_value config);
void webhooks_close(struct langgraph *langgraph);
/* False, and answered, if the body has a webhook that is not allowed. */
bool webhook_check(struct exchange *exchange);
/* The run has ended. */
void webhook_send(const struct run *run);

/* ---- Crons ---- */

#define CRON_MEMBER "langgraph" /* of the metadata of a schedule */

void crons_open(struct langgraph *langgraph);
void crons_close(struct langgraph *langgraph);

exchange_begin assistants_search, assistants_count, assistants_create, assistant_get, assistant_patch, assistant_delete,
    assistant_latest, assistant_graph, assistant_schemas, assistant_subgraphs, assistant_versions, threads_create,
    threads_search, threads_count, threads_prune, thread_get, thread_patch, thread_remove, thread_copy,
    thread_state_get, thread_state_at, thread_state_post, thread_history_get, thread_history_post, runs_create,
    runs_stream, runs_wait, runs_batch, runs_stop, stateless_create, stateless_stream, stateless_wait, runs_list,
    run_get, run_remove, run_join, run_stream, run_stop, store_put, store_get, store_delete, store_search,
    store_namespaces, crons_create, crons_create_for_thread, crons_search, crons_count, cron_get, cron_patch,
    cron_delete, info, ok;

#endif
