/*
 * tenon/embed.h - the host as a library: load plugins, build a graph, run it, stream its events.
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
 * Threads: a host and everything made from it belong to the thread that opened it. A process can have several hosts.
 * Only functions marked [any] may be called from any thread; the others do nothing on a wrong thread and fail with
 * WRONG_THREAD. Values are those of tenon.h, made and read through tenon_values(). Ownership is as in tenon.h: the
 * caller releases what a function returns.
 */
#ifndef TENON_EMBED_H
#define TENON_EMBED_H

#include <tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tenon tenon;
typedef struct tenon_runnable tenon_runnable;
typedef struct tenon_builder tenon_builder;

/* ---- The host ---- */

/*
 * Opens a host. `options` is an object, or NULL: {plugin_paths: [string], config: file name, no_config: bool,
 * allow_drafts: bool, drafts: [plugin id], file_roots: [folder], protect_secrets: bool, record_dir: folder,
 * replay_dir: folder}; the last two are as for `tenon run --record` and `--replay`; if neither is present, the
 * environment variables apply. NULL on failure; `why` may be NULL, otherwise *why becomes a message that the caller
 * frees with tenon_free.
 *
 * `drafts` are plugins that may use draft interfaces, in addition to `plugins.drafts` of the configuration;
 * `allow_drafts` allows them for all plugins.
 *
 * `file_roots` is added to `files.roots` of the configuration: documents from texts read files only below these
 * folders.
 *
 * The library does not change the environment of the process, unless `protect_secrets` is true: then, as in the tenon
 * program, the variables that contain secrets are removed and overwritten, and the process is not dumpable while it
 * holds a secret. This lasts until the process ends. Open the first such host before the process has other threads.
 */
TN_EXPORT tenon *tenon_open(tn_value options, char **why);
/*
 * Closes the host. NULL is allowed. Runnables and builders that are left stay valid only to be released: other calls
 * with them fail with CLOSED. Fails with NESTED inside a callback of this host.
 */
TN_EXPORT int32_t tenon_close(tenon *host);
TN_EXPORT const tn_value_1 *tenon_values(void); /* [any] needs no host */
TN_EXPORT const char *tenon_version(void);      /* [any] "0.1.0" */
/*
 * [any] The last failure: a message, "" if the last call has not failed; and {code, message, retryable, …} or NULL.
 * Borrowed until the next call. On the thread of the host it is the failure of the host's last call. On another thread,
 * and if `host` is NULL or closed, it is the last failure of the calling thread: WRONG_THREAD, an argument that is
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
 * The library calls it on the thread that needed the memory, which can be one of its own, and possibly on several
 * threads at once. It must end the process, with abort, _exit or exec. Before that it may write a message, save what
 * belongs to the program, and free its own memory. It must not call the library, nor leave by longjmp or an exception:
 * locks may be held, and data be half changed. If it returns, or if none is set, the library writes
 * "tenon: out of memory: cannot allocate N bytes" to standard error and aborts. Saved threads stay as they were at
 * their last checkpoint.
 */
typedef void (*tenon_memory_handler)(void *user, uint64_t size);
TN_EXPORT void tenon_set_memory_handler(tenon_memory_handler handler, void *user);
/* All diagnostics of the last document, as {"diagnostics": […]}, in the form of `tenon check --json`. */
TN_EXPORT tn_value tenon_diagnostics(tenon *host);

/*
 * As `tenon plugin reset`: an isolated plugin whose processes keep ending is started again at once, in this host and in
 * others of this user, and its deaths are forgotten. Returns how many there were, or -1 (tenon_error).
 */
TN_EXPORT int64_t tenon_reset_plugin(tenon *host, const char *plugin_id);

/* ---- Runnables ---- */

/* A graph from a file, or from text; `name` is the file name for messages; relative files are resolved from its folder.
 */
TN_EXPORT tenon_runnable *tenon_graph_file(tenon *host, const char *path);
TN_EXPORT tenon_runnable *tenon_graph_text(tenon *host, const char *name, const char *text, uint64_t length);
/* A component by kind and id, with a config (NULL: {}). */
TN_EXPORT tenon_runnable *tenon_component(tenon *host, const char *kind, const char *id, tn_value config);
/* The output of each stage is the input of the next. Retains the stages. */
TN_EXPORT tenon_runnable *tenon_pipe(tenon *host, tenon_runnable *const *stages, uint32_t count);
/* All receive the same input and run concurrently. The output is an array in their order, or an object by `names`. */
TN_EXPORT tenon_runnable *tenon_parallel(tenon *host, tenon_runnable *const *branches, const char *const *names,
                                         uint32_t count);
/* A C function. It returns a new value, or NULL with *error an object {code, message} (or left NULL). [its thread] */
typedef tn_value (*tenon_function)(void *user, tn_value input, tn_value *error);
TN_EXPORT tenon_runnable *tenon_lambda(tenon *host, tenon_function function, void *user);
TN_EXPORT tenon_runnable *tenon_identity(tenon *host);
TN_EXPORT tenon_runnable *tenon_retain(tenon_runnable *runnable);
TN_EXPORT void tenon_release(tenon_runnable *runnable); /* NULL is allowed */

/* ---- Running ---- */

/*
 * `config` is an object or NULL: {tags: [string], metadata: {}, configurable: {},
 * recursion_limit: int, run_id: string, thread_id, seed: int, concurrency: int, timeout_ms: int, strategy: string}.
 */

/* Runs to the end and returns the output; NULL on failure (tenon_error). */
TN_EXPORT tn_value tenon_invoke(tenon_runnable *runnable, tn_value input, tn_value config);
/* The same in JSON text. The result is released with tenon_free. */
TN_EXPORT char *tenon_invoke_json(tenon_runnable *runnable, const char *input);
/*
 * Runs and calls `event` for each event; `modes` as for `tenon run --stream` ("values,updates", "all"). Components that
 * are not graphs report {type: "custom", data} for each chunk. share/tenon/schema/component/1/event.schema.json has the
 * shapes of events. `event` returns 0 to cancel. Returns the output.
 */
typedef int32_t (*tenon_event)(void *user, tn_value event);
TN_EXPORT tn_value tenon_stream(tenon_runnable *runnable, tn_value input, tn_value config, const char *modes,
                                tenon_event event, void *user);
/*
 * One run for each input, at most `concurrency` at once (0: 16): an array in the order of inputs, each {output} or
 * {error}. `progress` (may be NULL) is called with the number of runs that have ended.
 */
typedef void (*tenon_progress)(void *user, uint64_t ended, uint64_t total);
TN_EXPORT tn_value tenon_batch(tenon_runnable *runnable, tn_value inputs, tn_value config, uint32_t concurrency,
                               tenon_progress progress, void *user);
/* [any] Cancels the tenon_invoke, tenon_stream or tenon_batch that is running on this host. */
TN_EXPORT void tenon_cancel(tenon *host);

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
 *              usage?, finish_reason?} as in tenon/message.h. tenon_task_emit takes the deltas, or texts.
 *   "reducer"  `input` is {current, update}; returns the new value of the channel. It is called for each write.
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
 * true`.
 *
 * `destroy` (may be NULL) is called with `user` when the host is closed, and at once if this function fails.
 */
TN_EXPORT int32_t tenon_register(tenon *host, const char *kind, const char *id, tn_value description,
                                 tenon_component_function function, void *user, void (*destroy)(void *user));
/* For the function, on its thread: its configuration, borrowed. */
TN_EXPORT tn_value tenon_task_config(tenon_task *task);
/* What a map edge or another node has sent to this node, borrowed; NULL if nothing. */
TN_EXPORT tn_value tenon_task_item(tenon_task *task);
/* {task_id, run_id, thread_id, node, step, attempt, now, seed, …}, as task_1.context of tenon.h. A new reference. */
TN_EXPORT tn_value tenon_task_context(tenon_task *task);
/* Streams a chunk. TN_CANCELLED or TN_STALE: the task is to end. */
TN_EXPORT int32_t tenon_task_emit(tenon_task *task, tn_value chunk);
/* 1 if the task should end soon, else 0. */
TN_EXPORT int32_t tenon_task_cancelled(tenon_task *task);

/*
 * Adds a plugin that is linked into the program, written as for a file: with tenon/easy.h, pass tn_plugin_entry_1 and
 * NULL. It has the rights of a plugin in a file: calls, streams, expressions, its section of tenon.yaml. `manifest` is
 * the plugin's manifest; NULL: it is read from the notes in the program or library that contains the entry. The entry
 * is called when a component is used for the first time. Its variables exist once, so only one host at a time can use
 * it.
 */
typedef const tn_plugin *TN_FN(tenon_plugin_entry)(const tn_host *host);
TN_EXPORT int32_t tenon_add_plugin(tenon *host, tenon_plugin_entry entry, tn_value manifest);

/* ---- Building a graph by calls ---- */

/*
 * The calls make a document, and tenon_compile checks it like a document from a file. So everything that a document can
 * say can be built: with the functions below, or as a value in the form of the language (share/doc/tenon/adl.md). The
 * functions fail for arguments that are NULL or not UTF-8, for a node or channel that does not exist, and for a second
 * one of the same name; mistakes that need the whole graph are found by tenon_compile. The message names the node.
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
 * names. `targets` are all names that it may return. It is called by a node of its own, FROM.route, which takes a step.
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
