/*
 * tenon/embed.h - the host as a library: load plugins, build a graph, run it, stream its events, save its threads.
 *
 * A *runnable* can be invoked: a component, a graph, a pipe of runnables, parallel runnables, a C function. Each can be
 * invoked, streamed, and batched. Link with libtenon (pkg-config tenon).
 *
 *     tenon *host = tenon_open(NULL, NULL);
 *     tenon_runnable *graph = tenon_graph_file(host, "hello.yaml");
 *     char *result = graph ? tenon_invoke_json(graph, "{\"name\": \"Ada\"}") : NULL;
 *     puts(result ? result : tenon_error(host));
 *     tenon_free(result);
 *     tenon_release(graph);
 *     tenon_close(host);
 *
 * OS threads: a host and everything made from it belong to the OS thread that opened it. A process can have several
 * hosts. Only functions marked [any] may be called from any OS thread; the others do nothing on a wrong one and fail
 * with WRONG_THREAD. Functions that return a status return TN_INVALID then, as for a wrong argument, NESTED and CLOSED:
 * the code is in tenon_error_value. Values are those of tenon.h, made and read through tenon_values(). Ownership is as
 * in tenon.h: the caller releases what a function returns.
 */
#ifndef TENON_EMBED_H
#define TENON_EMBED_H

#include <tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tenon tenon;
typedef struct tenon_runnable tenon_runnable;
typedef struct tenon_run tenon_run;
typedef struct tenon_builder tenon_builder;

/* ---- The host ---- */

/*
 * Opens a host. `options` is an object, or NULL. Members, all optional; an unknown one, or one of another kind, is an
 * error:
 *
 *     plugin_paths     array    folders and files with plugins, searched first
 *     config           string   the configuration file, instead of the nearest tenon.yaml
 *     no_config        bool     read no configuration
 *     models           object   {role: "provider:model", an object with `provider`, or a list of these}, as --model
 *     isolate          array    ids of plugins that run in separate processes, as --isolate
 *     store            any      where threads are saved, instead of the configured store: the path of a file, or
 *                               {use, path, ...} as in the configuration; a relative path is below the current folder
 *     drafts           array    ids of plugins that may use draft interfaces, in addition to `plugins.drafts`
 *     allow_drafts     bool     all plugins may use them
 *     file_roots       array    added to `files.roots`: documents from texts read files only below these folders
 *     check_plugins    bool     check mode, as --check-plugins
 *     protect_secrets  bool     see below
 *     quiet            bool     log errors only
 *     record_dir       string   as --record; without it and replay_dir, the environment variables apply
 *     replay_dir       string   as --replay
 *     loops            int      threads for tenon_batch, from 1 (the default) to 64; or "auto": one for each processor
 *
 * NULL on failure; `why` may be NULL, otherwise *why becomes a message that the caller frees with tenon_free. The code
 * is in tenon_error_value(NULL).
 *
 * Each loop beside that of the host is an OS thread of the library, which loads the plugins again. The program's own OS
 * thread is the first loop.
 *
 * The library does not change the environment of the process, unless `protect_secrets` is true: then, as in the tenon
 * program, the variables that contain secrets are removed and overwritten, and the process is not dumpable while it
 * holds a secret. This lasts until the process ends. Open the first such host before the process has other OS threads.
 */
TN_EXPORT tenon *tenon_open(tn_value options, char **why);
/*
 * Closes the host. NULL is allowed. Runs that have not ended are cancelled, and their callbacks are not called; it
 * waits until they have ended. A task of a plugin that does not end after it was cancelled is left behind: it keeps the
 * memory that it uses, and the process cannot use its linked plugin again (tenon_add_plugin). Handles that are left
 * stay valid only to be released: other calls with them fail with CLOSED. Returns 0; or fails with NESTED inside a
 * callback of this host, or with WRONG_THREAD.
 */
TN_EXPORT int32_t tenon_close(tenon *host);
TN_EXPORT const tn_value_1 *tenon_values(void); /* [any] needs no host */
TN_EXPORT const char *tenon_version(void);      /* [any] "0.1.0" */
/*
 * [any] The last failure: a message, "" if the last call has not failed; and {code, message, retryable, …} or NULL.
 * Borrowed until the next call. On the OS thread of the host it is the failure of the host's last call. On another one,
 * and if `host` is NULL or closed, it is the last failure of the calling OS thread: WRONG_THREAD, an argument that is
 * NULL, or that of tenon_open.
 */
TN_EXPORT const char *tenon_error(tenon *host);
TN_EXPORT tn_value tenon_error_value(tenon *host);
TN_EXPORT void tenon_free(void *memory); /* for char * results; NULL is allowed */
/*
 * [any] Sets the function that is called when memory runs out; NULL removes it. It applies to the whole process: set
 * it before the first host is opened. `size` is the number of bytes that could not be allocated: 0 if it is unknown,
 * UINT64_MAX if the size itself overflowed.
 *
 * The library calls it on the OS thread that needed the memory, which can be one of the library, and possibly on
 * several at once. It must end the process, with abort, _exit or exec. Before that it may write a message, save
 * what belongs to the program, and free its own memory. It must not call the library, nor leave by longjmp or an
 * exception: locks may be held, and data be half changed. If it returns, or if none is set, the library writes "tenon:
 * out of memory: cannot allocate N bytes" to standard error and aborts. Saved threads stay as they were at their last
 * checkpoint.
 */
typedef void (*tenon_memory_handler)(void *user, uint64_t size);
TN_EXPORT void tenon_set_memory_handler(tenon_memory_handler handler, void *user);
/*
 * All diagnostics of the last document, as {"diagnostics": […]}, in the form of `tenon check --json`. NULL on a wrong
 * OS thread.
 */
TN_EXPORT tn_value tenon_diagnostics(tenon *host);

/*
 * As `tenon plugin reset`: an isolated plugin whose processes keep ending is started again at once, in this host and in
 * others of this user, and its deaths are forgotten. Returns how many there were, or -1 (tenon_error).
 */
TN_EXPORT int64_t tenon_reset_plugin(tenon *host, const char *plugin_id);

/* ---- Runnables ---- */

/*
 * A graph from a file, or from text; `name` is the file name for messages; relative files are resolved from its folder.
 * It can wait for plugins that add components at run time, such as those of MCP servers, and runs the loop meanwhile;
 * inside a callback it does not wait, and such components may be missing.
 */
TN_EXPORT tenon_runnable *tenon_graph_file(tenon *host, const char *path);
TN_EXPORT tenon_runnable *tenon_graph_text(tenon *host, const char *name, const char *text, uint64_t length);
/*
 * A component by itself. `config` is NULL or an object, as in a document.
 *   "node"     Its state is made for it: the input is an object of the channels that it reads, and others are ignored.
 *              The output is an object of the channels that it writes; a node that writes none returns its input. If it
 *              chooses what follows, as `router` does, the member `goto` is the name. It is a graph of one node, which
 *              streams, is interrupted and is saved in a thread like any graph. A node of tenon_register may read and
 *              write any names: its graph has the channels `state`, the inputs and writes so far in one object, and
 *              `output`, its last writes, which are also the output.
 *   "model"    A role of tenon.yaml, or provider:name. Its input is {messages, …}, or only the messages: a text, a
 *              message, or a list. Its output is {message, …}, as in tenon/message.h.
 *   "tool"     Its input are the arguments. The operator's policy for tools applies.
 *   "reducer"  Its input is {current, writes: […]}. Reducers of the engine, such as `sum`, cannot run by themselves.
 */
TN_EXPORT tenon_runnable *tenon_component(tenon *host, const char *kind, const char *id, tn_value config);
/*
 * The output of each stage is the input of the next. Retains the stages. Fails with TYPE if a stage cannot accept
 * anything that the stage before it returns, as far as their schemas say. What no schema describes is accepted. A node
 * of tenon_register has the schemas `input` and `output` of its description. The schemas of other nodes have the
 * channels that it reads and writes. Those are required that its templates need, and those that its configuration names
 * and that it only reads; an expression may read a channel that has no value.
 */
TN_EXPORT tenon_runnable *tenon_pipe(tenon *host, tenon_runnable *const *stages, uint32_t count);
/*
 * JSON Schemas of what a runnable accepts and returns, new references; NULL if nothing is known. tenon_with_types sets
 * both, for a function; NULL means anything. They are compared by tenon_pipe; values are not checked against them.
 */
TN_EXPORT tn_value tenon_input_schema(tenon_runnable *runnable);
TN_EXPORT tn_value tenon_output_schema(tenon_runnable *runnable);
TN_EXPORT int32_t tenon_with_types(tenon_runnable *runnable, tn_value input, tn_value output);
/*
 * All receive the same input and run concurrently. The output is an array in their order, or an object by `names`, each
 * of which is used once.
 */
TN_EXPORT tenon_runnable *tenon_parallel(tenon *host, tenon_runnable *const *branches, const char *const *names,
                                         uint32_t count);
/* A C function. It returns a new value, or NULL with *error an object {code, message} (or left NULL). [its thread] */
typedef tn_value (*tenon_function)(void *user, tn_value input, tn_value *error);
TN_EXPORT tenon_runnable *tenon_lambda(tenon *host, tenon_function function, void *user);
TN_EXPORT tenon_runnable *tenon_identity(tenon *host);
TN_EXPORT tenon_runnable *tenon_retain(tenon_runnable *runnable);
TN_EXPORT void tenon_release(tenon_runnable *runnable); /* NULL is allowed */

/* ---- Running and waiting for the end ---- */

/*
 * `config` is an object or NULL. Members, all optional; an unknown one, or one of another kind, is an error:
 *
 *     tags             array    of strings      | passed to models, tools and recordings
 *     metadata         object                   |
 *     configurable     object   values for `configurable` of components
 *     run_id           string   not empty; default: a random id
 *     runner_id        string   who runs it; not empty
 *     recursion_limit  int      super-steps, from 1; at most the configured limit
 *     concurrency      int      nodes that run at once, from 1
 *     timeout_ms       int      time limit of the run
 *     seed             int      for components that draw random numbers
 *     strategy         string   parallel, pick_first, pick_last or stop_at_nonlinear
 *     refresh_cache    bool     nodes with `cache` run, and their results replace those in the cache
 *     interrupt_before array    of node ids, or "*": this invocation stops before them, as at `interrupt: before`
 *     interrupt_after  array    the same, after them
 *
 *     thread_id        string   the thread in which the run is saved (see *Threads*)
 *     replace          bool     discard what an unfinished thread was doing
 *     force            bool     take the thread over, even if a process that lives runs it
 *     accept_changes   bool     the document may have changed since the thread began
 *     durability       string   sync (default): each super-step is written before the next begins; exit: only the end
 *
 * Functions of this section, and others that wait, run the loop: they also advance the other runs of the host and call
 * their callbacks. Inside a callback of the same host they fail with NESTED; start a run with tenon_start there.
 */

/* Runs to the end and returns the output; NULL on failure (tenon_error), also if the run waits for an answer. */
TN_EXPORT tn_value tenon_invoke(tenon_runnable *runnable, tn_value input, tn_value config);
/* The same in JSON text. The result is released with tenon_free. */
TN_EXPORT char *tenon_invoke_json(tenon_runnable *runnable, const char *input);
/*
 * Runs and calls `event` for each event; `modes` as for `tenon run --stream` ("values,updates", "all"; NULL: "values").
 * A runnable that is not a graph reports {type: "custom", data} for each chunk. For each delta of a model it reports
 * {type: "messages", step: 0, node: "model", delta}. A pipe passes on the deltas of all of its models, and the other
 * chunks of its last stage; a graph inside a pipe or a parallel reports no events.
 * share/tenon/schema/component/1/event.schema.json has the shapes of events. `event` returns 0 to cancel the run: it is
 * not called again then. Returns the output.
 */
typedef int32_t (*tenon_event)(void *user, tn_value event);
TN_EXPORT tn_value tenon_stream(tenon_runnable *runnable, tn_value input, tn_value config, const char *modes,
                                tenon_event event, void *user);
/*
 * One run for each input, at most `concurrency` at once (0: 16): an array in the order of inputs, each {output} or
 * {error}. `progress` (may be NULL) is called with the number of runs that have ended. The runs are not saved: a
 * `thread_id` is an error. A host with `loops` runs a graph on all of them, unless it contains components of the
 * program or was made of them; other runnables run on the OS thread of the host. The results do not depend on that.
 */
typedef void (*tenon_progress)(void *user, uint64_t ended, uint64_t total);
TN_EXPORT tn_value tenon_batch(tenon_runnable *runnable, tn_value inputs, tn_value config, uint32_t concurrency,
                               tenon_progress progress, void *user);
/* [any] Cancels all runs of the host that were started before, also those of a function that waits. */
TN_EXPORT void tenon_cancel(tenon *host);

/* ---- Runs ---- */

/*
 * A *run* is a handle. A host can have any number of them at once; all advance on its OS thread, while the loop runs:
 * inside a function that waits, or in tenon_turn. Nothing of a run happens, and no callback is called, inside the
 * others.
 *
 *     tenon_run *run = tenon_start(graph, input, NULL);
 *     tenon_run_on_event(run, "messages", show_token, window);
 *     tenon_run_on_ended(run, show_end, window);
 */
enum {
    TENON_RUN_RUNNING,     /* or will start in the next turn */
    TENON_RUN_DONE,        /* it has an output */
    TENON_RUN_FAILED,      /* it has an error */
    TENON_RUN_CANCELLED,   /* it has an error */
    TENON_RUN_INTERRUPTED, /* it waits for answers */
    TENON_RUN_STOPPED      /* by tenon_run_drain or the strategy stop_at_nonlinear; it can continue */
};

/*
 * Starts a run, without waiting. NULL if an argument is wrong. Everything else that fails, such as a thread that
 * another process runs, is the error of the run. The caller releases the handle; `runnable` may be released before.
 */
TN_EXPORT tenon_run *tenon_start(tenon_runnable *runnable, tn_value input, tn_value config);
/*
 * Callbacks, on the OS thread of the host; NULL removes one. They are set right after tenon_start, tenon_resume or
 * tenon_run_resume, before the next turn, and stay when the run is continued. `ended` is called once for each end,
 * including an interrupt. A callback may call every function except those that wait and tenon_close; it may release or
 * continue its run.
 */
typedef void (*tenon_ended)(void *user, tenon_run *run);
TN_EXPORT int32_t tenon_run_on_event(tenon_run *run, const char *modes, tenon_event event, void *user);
TN_EXPORT int32_t tenon_run_on_ended(tenon_run *run, tenon_ended ended, void *user);

/* TENON_RUN_...; -1 on failure. */
TN_EXPORT int32_t tenon_run_status(tenon_run *run);
/* The output of a run that is done; NULL with an error otherwise. A new reference. */
TN_EXPORT tn_value tenon_run_output(tenon_run *run);
/* {code, message, ...} of a run that failed or was cancelled; NULL otherwise. Borrowed until it is continued or
 * released.
 */
TN_EXPORT tn_value tenon_run_error(tenon_run *run);
/*
 * What the run waits for: [{id, node, payload?, schema?, ...}]; empty if it does not wait. An entry without `payload`
 * is a pause, which needs no answer. A new reference.
 */
TN_EXPORT tn_value tenon_run_questions(tenon_run *run);
/* The last event of `tenon run --json`: {type: "result", status, run_id, steps, state, usage?, ...}. A new reference.
 */
TN_EXPORT tn_value tenon_run_report(tenon_run *run);

/*
 * Continues a run that is interrupted, with answers {id: answer} to some or all of its questions; one that is stopped,
 * or failed by its recursion_limit; and, with a thread, one that failed or was cancelled after it began. `answers` may
 * be NULL if nothing is asked, or if they are saved in the thread. Fails, and changes nothing, if an answer does not
 * match its schema or its id is unknown. A run without a thread can be continued until it is released.
 */
TN_EXPORT int32_t tenon_run_resume(tenon_run *run, tn_value answers);
/* The same with the answer to the only open question. Fails if several are open. */
TN_EXPORT int32_t tenon_run_answer(tenon_run *run, tn_value answer);
/*
 * Waits until the run has ended. Returns 0; TN_AGAIN if that takes longer than `timeout_ms` (-1: no limit), which does
 * not end the run; TN_FAILED with STALLED if no event can occur any more. A component that never ends may still end, as
 * far as the library knows: give its run a `timeout_ms`. tenon_wait waits for all runs of the host.
 */
TN_EXPORT int32_t tenon_run_wait(tenon_run *run, int64_t timeout_ms);
TN_EXPORT int32_t tenon_wait(tenon *host, int64_t timeout_ms);
/* [any] Ends the run soon, as cancelled. What its thread has committed stays. The handle must not be released
 * meanwhile.
 */
TN_EXPORT void tenon_run_cancel(tenon_run *run);
/* Ends the run as stopped after its present super-step, so that it can continue later: for a program that shuts down.
 */
TN_EXPORT int32_t tenon_run_drain(tenon_run *run);
/* NULL is allowed. A run that has not ended is cancelled, and its callbacks are not called any more. */
TN_EXPORT void tenon_run_release(tenon_run *run);

/* ---- The loop of the program ---- */

/*
 * A program that has an event loop waits in it, for the descriptor of the host and for its timeout, and calls
 * tenon_turn if either is due:
 *
 *     struct pollfd poll_set = {.fd = tenon_descriptor(host), .events = POLLIN};
 *     for (;;) {
 *         poll(&poll_set, 1, (int)tenon_timeout(host));
 *         tenon_turn(host);
 *     }
 *
 * tenon_turn does what is due, without waiting, and calls callbacks. The descriptor can be polled, with poll, epoll, or
 * as a source of GLib, Qt or libuv; it stays the same while the host is open, belongs to the host, and is only polled.
 * It is readable after a run was started, continued or cancelled.
 */
TN_EXPORT int32_t tenon_descriptor(tenon *host); /* -1 on failure */
/*
 * In how many milliseconds the next turn is due, at most a day: 0 if at once, -1 if only the descriptor can make it
 * due. Ask before each wait.
 */
TN_EXPORT int64_t tenon_timeout(tenon *host);
TN_EXPORT int32_t tenon_turn(tenon *host); /* 0, or NESTED inside a callback */

/* ---- Threads ---- */

/*
 * A *thread* is a saved conversation. A run with a `thread_id` saves each super-step in the store (the option `store`),
 * so it can be continued after its process has ended, in this program or with the command line. New input for a thread
 * that is done continues with its state. The run fails with UNFINISHED if the thread is not done, OWNED if a process
 * that lives runs it, GRAPH_CHANGED if the document has changed.
 *
 * Messages name options of the command line, whose names are those of the configuration: --replace is `replace`.
 *
 * The functions below do what the command of the same name does (`tenon thread show`, ...) and fail with its codes,
 * such as NOT_FOUND. They wait for the store, so they fail with NESTED inside a callback. Those that return an object
 * return a new reference, or NULL; the others return 0, or another status. A run of a thread that is changed or deleted
 * meanwhile ends with FENCED.
 */

/*
 * Continues the thread that `config` names (thread_id), in any process: after a crash, or with answers {id: answer}. If
 * the thread waits and has no answers, the run ends at once as interrupted; its questions can be answered with
 * tenon_run_answer. Otherwise as tenon_start.
 */
TN_EXPORT tenon_run *tenon_resume(tenon_runnable *graph, tn_value answers, tn_value config);

/*
 * {threads: [record], more}, the newest first. `filter` may be NULL: {status, agent, since, before (times in ISO 8601),
 * after (a thread id: the next page), limit (1 to 10000, default 50)}. `since` and `before` may be dates. A status that
 * does not exist, or a time that is not one, fails with INVALID_INPUT.
 */
TN_EXPORT tn_value tenon_thread_list(tenon *host, tn_value filter);
/* The record: {thread_id, status, step, head, updated_at, interrupts?, error?, ...}. */
TN_EXPORT tn_value tenon_thread_show(tenon *host, const char *id);
/*
 * The checkpoints [{seq, step, source, now, ran?, next}], the newest first: at most `limit`, and never more than 10000.
 * A limit of 0 is 10000.
 */
TN_EXPORT tn_value tenon_thread_history(tenon *host, const char *id, int64_t limit);
/* The state after checkpoint `seq`; -1 is the newest. */
TN_EXPORT tn_value tenon_thread_state(tenon *host, const char *id, int64_t seq);
/* Creates the thread `fork` from `id` as it was after checkpoint `seq` (-1: the newest). EXISTS. */
TN_EXPORT int32_t tenon_thread_fork(tenon *host, const char *id, int64_t seq, const char *fork);
/* Saves answers {interrupt id: answer} until the thread is resumed. */
TN_EXPORT int32_t tenon_thread_answer(tenon *host, const char *id, tn_value answers);
/*
 * Writes channels {name: value} from outside, as an input does. With `node`, the thread continues after that node; NULL
 * leaves unchanged what it does next.
 */
TN_EXPORT int32_t tenon_thread_update(tenon_runnable *graph, const char *id, const char *node, tn_value channels);
TN_EXPORT int32_t tenon_thread_delete(tenon *host, const char *id);
/* A whole thread as a value, and back; `replace` may overwrite a thread. EXISTS. */
TN_EXPORT tn_value tenon_thread_export(tenon *host, const char *id);
TN_EXPORT int32_t tenon_thread_import(tenon *host, const char *id, tn_value exported, int32_t replace);

/* ---- Registering components ---- */

/*
 * A program can bring its own node types, tools, models and reducers. Register them before a document names them; they
 * exist until the host is closed. Ids follow the rules for plugins: they have a dot, do not begin with `tenon.`, and no
 * other component has them. A mistake fails with NAME_RESERVED, PLUGIN_DUPLICATE or MANIFEST_INVALID.
 */

/* One task of a registered function; valid until the function returns. The arguments of all functions are borrowed. */
typedef struct tenon_task tenon_task;
/*
 * What a component does. It returns a new value, or NULL with *error an object {code, message} (or left NULL):
 *   "node"     `input` is the state {channel: value}; returns the writes {channel: value}, or null for none.
 *   "tool"     `input` has the arguments, validated; returns the result.
 *   "model"    `input` is {messages, tools?, options?, response_schema?}; returns a text, an `ai` message, or {message,
 *              usage?, finish_reason?} as in tenon/message.h. tenon_task_emit takes the deltas, or texts. An answer or
 *              a delta of another form fails with INVALID_RESPONSE.
 *   "reducer"  `input` is {current, update}; returns the new value of the channel. It is called for each write.
 * An error beside a value is released and ignored.
 */
typedef tn_value (*tenon_component_function)(void *user, tenon_task *task, tn_value input, tn_value *error);
/*
 * Registers a function as the component `id` of the kind. `description` is NULL or has the members of a component in a
 * plugin's manifest (share/tenon/schema/manifest.schema.json): {title?, documentation?, input?, output?, config?,
 * effects?, style?, examples?, …}. `input`, `output` and `config` are JSON Schemas. Without `effects` the worst is
 * assumed: a model that calls the tool needs approval, and a node is not retried. `config` is what documents may
 * configure; without it nothing, for a model anything.
 *
 * With the style "async", the default, the function runs on the host's thread and must not wait. With "blocking" it
 * runs on a thread of the library and may wait; several tasks run at once only if the description has `reentrant:
 * true`. A reducer cannot be "blocking".
 *
 * `destroy` (may be NULL) is called with `user` when the host is closed, and at once if this function fails. It is not
 * called if a blocking function has not returned by then.
 */
TN_EXPORT int32_t tenon_register(tenon *host, const char *kind, const char *id, tn_value description,
                                 tenon_component_function function, void *user, void (*destroy)(void *user));
/* For the function, on its thread: its configuration, borrowed. */
TN_EXPORT tn_value tenon_task_config(tenon_task *task);
/* What a map edge or another node has sent to this node, borrowed; NULL if nothing. */
TN_EXPORT tn_value tenon_task_item(tenon_task *task);
/* {task_id, run_id, thread_id, node, step, attempt, now, seed, …}, as task_1.context of tenon.h. A new reference. */
TN_EXPORT tn_value tenon_task_context(tenon_task *task);
/*
 * Streams a chunk. TN_CANCELLED or TN_STALE: the task is to end. TN_INVALID: a model has emitted what is not a delta;
 * it is dropped, and the task fails.
 */
TN_EXPORT int32_t tenon_task_emit(tenon_task *task, tn_value chunk);
/* 1 if the task should end soon, else 0. */
TN_EXPORT int32_t tenon_task_cancelled(tenon_task *task);

/*
 * Adds a plugin that is linked into the program, written as for a file: with tenon/easy.h, pass tn_plugin_entry_1 and
 * NULL. It has the rights of a plugin in a file: calls, streams, expressions, its section of tenon.yaml. `manifest` is
 * the plugin's manifest; NULL: it is read from the notes in the program or library that contains the entry. The entry
 * is called when a component is used for the first time. Its variables exist once, so only one host at a time can use
 * it: for another one, using a component fails with PLUGIN_REFUSED. If a task has not ended when its host is closed,
 * the process cannot use the plugin again.
 */
typedef const tn_plugin *TN_FN(tenon_plugin_entry)(const tn_host *host);
TN_EXPORT int32_t tenon_add_plugin(tenon *host, tenon_plugin_entry entry, tn_value manifest);

/* ---- Building a graph by calls ---- */

/*
 * The calls make a document, and tenon_compile checks it like a document from a file. So everything that a document can
 * say can be built: with the functions below, or as a value in the form of the language (share/doc/tenon/adl.md). The
 * functions fail for arguments that are NULL or not UTF-8, and for a second node or channel of the same name;
 * tenon_set_node also fails for a node that does not exist. tenon_compile reports all other mistakes, such as an edge
 * from or to a node that does not exist, an unknown type or an unknown tool. The message names the node.
 */
TN_EXPORT tenon_builder *tenon_builder_new(tenon *host, const char *name);
TN_EXPORT void tenon_builder_free(tenon_builder *builder); /* NULL is allowed */
/* Sets a section of the document: "agent", "defaults", "models", "tools", "budget", "input", "output", "requires". */
TN_EXPORT int32_t tenon_builder_set(tenon_builder *builder, const char *section, tn_value value);
/* Appends an object of the language to "channels", "nodes" or "edges". */
TN_EXPORT int32_t tenon_builder_add(tenon_builder *builder, const char *list, tn_value item);
/*
 * The document so far; a new reference. Its JSON text is a document for tenon_graph_text and `tenon run`, unless it has
 * nodes of tenon_add_node_runnable or tenon_add_route, whose types exist only in this host.
 */
TN_EXPORT tn_value tenon_builder_document(tenon_builder *builder);

/* type: "last_value", "append", "topic", "ephemeral", "reduce:sum" …; `initial` may be NULL. */
TN_EXPORT int32_t tenon_add_channel(tenon_builder *builder, const char *name, const char *type, tn_value initial);
/* A role that nodes name, and its model: "provider:model", {provider, …options}, or a list of fallbacks. */
TN_EXPORT int32_t tenon_add_model(tenon_builder *builder, const char *role, tn_value binding);
/* A tool that the graph may use, or a pattern; `options` may be NULL: {approval?, timeout?, concurrency?, max_calls?}.
 * Without a call, all tools may be used. */
TN_EXPORT int32_t tenon_add_tool(tenon_builder *builder, const char *name, tn_value options);
/* A node of a registered type. */
TN_EXPORT int32_t tenon_add_node(tenon_builder *builder, const char *id, const char *type, tn_value config);
/*
 * A node that runs a runnable: its input is the state, an object; its output is {channel: value}. It counts as a pure
 * function, which is repeated where the graph says so; register a component with `effects` for one that is not.
 */
TN_EXPORT int32_t tenon_add_node_runnable(tenon_builder *builder, const char *id, tenon_runnable *runnable);
/* Sets members of a node: {retry?, timeout?, cache?, interrupt?, on_error?, defer?, config?}, as in a document. */
TN_EXPORT int32_t tenon_set_node(tenon_builder *builder, const char *id, tn_value members);
/* TENON_START and TENON_END are allowed as ends. */
#define TENON_START "__start__"
#define TENON_END   "__end__"
TN_EXPORT int32_t tenon_add_edge(tenon_builder *builder, const char *from, const char *to);
/* An edge from several nodes: `to` starts when all of them have ended. */
TN_EXPORT int32_t tenon_add_join(tenon_builder *builder, const char *const *from, uint32_t count, const char *to);
/*
 * One task of `to` for each item of the list that the expression `over` returns. A task reads its item as `item`, and
 * as `state.NAME` if `as` is a name. `empty` is the node to continue with if the list is empty. Both may be NULL.
 */
TN_EXPORT int32_t tenon_add_map_edge(tenon_builder *builder, const char *from, const char *over, const char *as,
                                     const char *to, const char *empty);
/* Pairs of expression and target, tried in order; the expression "default" always holds. */
TN_EXPORT int32_t tenon_add_conditional_edges(tenon_builder *builder, const char *from, const char *const *expressions,
                                              const char *const *targets, uint32_t count);
/*
 * After `from`, the function chooses what follows: it receives the state and returns the name of a target, or a list of
 * names. `targets` are all names that it may return: the run fails with INVALID_OUTPUT for any other. A separate node,
 * FROM.route, calls it, which takes a step.
 */
TN_EXPORT int32_t tenon_add_route(tenon_builder *builder, const char *from, tenon_function route, void *user,
                                  const char *const *targets, uint32_t count);
TN_EXPORT int32_t tenon_set_entry_point(tenon_builder *builder, const char *node);
TN_EXPORT int32_t tenon_set_finish_point(tenon_builder *builder, const char *node);
/* Checks and builds. The builder may be changed and compiled again. NULL on failure (tenon_error, tenon_diagnostics).
 */
TN_EXPORT tenon_runnable *tenon_compile(tenon_builder *builder);

#ifdef __cplusplus
}
#endif
#endif
