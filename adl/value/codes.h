/*
 * codes.h - the stable error codes, one row each: the values of `struct error.code` when the host or a bundled plugin
 * fails.
 *
 * A code never changes its meaning and is never reused. Plugins may use these codes and their own. The reference is
 * generated from this table. If a component reports a code of the table without `retryable`, the row decides whether
 * the call is retried (only if the document asks for retries). `family` is the corresponding variant of the first
 * seed's AyasError.
 *
 *     const struct error_code *row = error_code_find("TIMEOUT");      // NULL if it is a plugin's own code
 *     if (row && row->retryable) ...
 */
#ifndef TENON_ADL_CODES_H
#define TENON_ADL_CODES_H

#include <stdbool.h>
#include <stddef.h>

/* clang-format off */
#define ERROR_CODES(CODE) \
    /* Documents, graphs and their steps. */ \
    CODE(INVALID_GRAPH, false, "Graph::InvalidGraph", \
         "The document cannot be built into a graph because it has mistakes, cannot be read, or nests too " \
         "deeply. `tenon check` shows every mistake with its line and column.") \
    CODE(RECURSION_LIMIT, false, "Graph::RecursionLimit", \
         "The run took as many super-steps as its recursion_limit allows and did not finish. Its state is " \
         "saved: resume with a higher limit, or look for a loop whose condition never ends it.") \
    CODE(CHANNEL, false, "Graph::Channel", \
         "A write was refused: the channel does not exist, is read-only, or the value does not fit its schema " \
         "or its reducer.") \
    CODE(CONCURRENT_UPDATE, false, "Graph::Channel", \
         "Two tasks of one super-step wrote a channel that keeps only the last value. Give the channel a " \
         "reducer, or run the nodes one after the other.") \
    CODE(NODE_EXECUTION, false, "Graph::NodeExecution", \
         "A component ended its task without an error message, or broke the contract while running it.") \
    CODE(STALLED, false, "Graph::NodeExecution", \
         "The run cannot continue: a component neither ended its task nor waits for anything.") \
    CODE(SUBGRAPH_FAILED, false, "Graph::NodeExecution", \
         "The inner graph of a subgraph node failed without an error.") \
    CODE(SUBGRAPH_OUTPUT, false, "Graph::Channel", \
         "The inner graph's result lacks a key that the subgraph node's `output` names, or an outer channel " \
         "refused the value.") \
    CODE(EMIT_FAILED, false, "Graph::NodeExecution", \
         "The host did not accept a streamed chunk.") \
    CODE(INTERRUPTED, false, "Graph::NodeExecution", \
         "The run waits for an answer from outside, and the caller cannot provide one. Resume the run with " \
         "answers.") \
    CODE(INVALID_MESSAGE, false, "Graph::NodeExecution", \
         "The conversation that a node received contains an invalid message. The error names the message and " \
         "what it lacks.") \
    /* Expressions, templates, text. */ \
    CODE(EXPRESSION_ERROR, false, "Chain::Template", \
         "An expression does not compile or failed during evaluation: a name is missing, operands have the " \
         "wrong kind, or a condition is not a boolean. The error contains the position.") \
    CODE(TEMPLATE_ERROR, false, "Chain::Template", \
         "The braces of a template are not balanced, or a hole failed. Write `{{` and `}}` for literal braces.") \
    CODE(MISSING_VARIABLE, false, "Chain::MissingVariable", \
         "A template names something that does not exist, or a channel or `input` that has no value.") \
    CODE(PARSE, false, "Chain::Parse", \
         "A text does not have the expected form, for example JSON, a number, a list, or the form that an " \
         "output parser expects.") \
    CODE(SCHEMA, false, "Chain::Parse", \
         "A JSON Schema is malformed. The message contains the JSON Pointer.") \
    /* Inputs, outputs, kinds. */ \
    CODE(INVALID_INPUT, false, "Tool::InvalidInput", \
         "The input has the wrong form: a tool's arguments, a graph's input, an answer, or a run's " \
         "configuration.") \
    CODE(INVALID_OUTPUT, false, "Tool::ExecutionFailed", \
         "The output of a component does not fit its published schema.") \
    CODE(INVALID_CONFIG, false, "Graph::InvalidGraph", \
         "A component's configuration or tenon.yaml is invalid. The message names the key.") \
    CODE(INVALID_VALUE, false, "Other", \
         "A component built a value that cannot exist, for example text that is not UTF-8 or a key twice. " \
         "The message and detail.at name the place as a JSON Pointer.") \
    CODE(TYPE, false, "Other", \
         "A value has the wrong kind. The message names the kind that was found and the kind that was " \
         "expected.") \
    CODE(NOT_FOUND, false, "Other", \
         "The component, key, file, record or model does not exist.") \
    CODE(LIMIT, false, "Other", \
         "A documented limit of size, depth, evaluation time or number was reached. The message names it.") \
    CODE(UNSUPPORTED, false, "Other", \
         "This host, or this kind of task, does not support the operation.") \
    CODE(INTERNAL, false, "Other", \
         "The host has a bug. Please report it together with the steps that led to it.") \
    CODE(NO_MEMORY, true, "Other", \
         "A component could not allocate memory.") \
    CODE(ERROR, false, "Other", \
         "The failure has no code.") \
    CODE(FAILED, false, "Other", \
         "A component's start failed with a status and without an explanation.") \
    /* Time and cancelling. */ \
    CODE(TIMEOUT, true, "Graph::NodeExecution", \
         "The task did not end within its total time, or sent nothing for longer than its idle time.") \
    CODE(CANCELLED, false, "Graph::NodeExecution", \
         "The run or the task was cancelled. Committed steps are kept.") \
    CODE(BUDGET_EXCEEDED, false, "Other", \
         "A run used up its document's `budget` of tokens, cost or steps: raise the budget and resume the " \
         "thread, or give it new input, which starts a new run. Or a runner used up its budget of tokens, " \
         "cost, time or iterations before the Task was done.") \
    /* Plugins. */ \
    CODE(PLUGIN_CRASHED, true, "Other", \
         "The process of an isolated plugin ended while it ran the task. The host starts it again, after a pause that grows " \
         "with each end in a row; other tasks wait for it. `tenon plugin reset ID` clears the pause.") \
    CODE(PLUGIN_HUNG, false, "Other", \
         "Too many tasks of the plugin's blocking components neither ended nor reacted to their cancellation. " \
         "The plugin gets no further tasks in this process. Make the components poll `cancelled`, or run the " \
         "plugin with isolation: process.") \
    CODE(PLUGIN_REFUSED, false, "Other", \
         "The plugin was not loaded, or it declined: wrong architecture, a missing interface, an unmet " \
         "version, or a policy.") \
    CODE(INTERFACE_MISSING, false, "Other", \
         "The plugin needs an interface that this host does not offer, or does not offer to this plugin " \
         "(drafts need a flag).") \
    CODE(PLUGIN_INVALID, false, "Other", \
         "The file is not a shared object for this machine, is broken, or its code breaks the contract: it has " \
         "no entry, structs of another size, or lacks interfaces that its manifest promises. `tenon plugin " \
         "check` shows details.") \
    CODE(MANIFEST_MISSING, false, "Other", \
         "The shared object has no manifest: neither notes of owner Tenon nor a <name>.tenon.json beside it.") \
    CODE(MANIFEST_INVALID, false, "Other", \
         "A plugin's manifest is invalid. The message names the file, the component and the field.") \
    CODE(PLUGIN_DUPLICATE, false, "Other", \
         "Two plugins define the same component, or two files define the same plugin, in the same place of the " \
         "search path. Neither is used. Remove one of them.") \
    CODE(PLUGIN_SHADOWED, false, "Other", \
         "A plugin of the same id in an earlier place of the search path is used instead. `tenon plugin list` shows it.") \
    CODE(NAME_RESERVED, false, "Other", \
         "A plugin claims an id that begins with `tenon.`, or a component name without a dot. These belong to the " \
         "plugins that are installed with Tenon. The plugin is not used.") \
    CODE(PLUGIN_BUSY, true, "Other", \
         "The plugin cannot be unloaded while it has instances or open tasks (nothing has changed; try again " \
         "later, or quiesce it), or it is being loaded.") \
    CODE(PACK_INVALID, false, "Other", \
         "The file is not a pack, or it is damaged or forged: a hash or a signature is wrong, a path leads out " \
         "of the pack, or a file is not listed. Nothing of it was used.") \
    CODE(PACK_REFUSED, false, "Other", \
         "The pack needs another version of Tenon, or another build of the same version is installed.") \
    CODE(PACK_ALTERED, false, "Other", \
         "A file of an installed pack was changed after the installation. Remove the pack and install it " \
         "again.") \
    CODE(SECRET_NOT_FOUND, false, "Other", \
         "A secret that the configuration refers to is not available: the variable is not set, the file cannot " \
         "be read, or the command failed.") \
    CODE(IO, false, "Other", \
         "A file or folder cannot be read or written. The message names it.") \
    CODE(PERMISSION_DENIED, false, "Other", \
         "The component's manifest does not declare the effect, or the operator's policy does not allow it.") \
    CODE(SANDBOX, false, "Other", \
         "The process of an isolated plugin could not be confined and was not started. `tenon doctor` shows " \
         "what this system allows.") \
    CODE(NODE_DENIED, false, "Other", \
         "A person refused to approve a node that the operator's policy asks about.") \
    /* Tools. */ \
    CODE(TOOL_NOT_FOUND, false, "Tool::NotFound", \
         "The tool does not exist, or the document's list `tools` does not contain it.") \
    CODE(TOOL_FAILED, false, "Tool::ExecutionFailed", \
         "A tool failed. The model receives the failure as the result of the call, unless the tool is marked " \
         "fatal.") \
    CODE(AUDIT_FAILED, false, "Tool::ExecutionFailed", \
         "The use of a tool could not be written to the audit log, and tenon.yaml requires that " \
         "(tools.audit_required).") \
    CODE(TOOL_DENIED, false, "Tool::ExecutionFailed", \
         "A person or a policy refused the call of a tool.") \
    CODE(APPROVAL_NEEDED, false, "Tool::ExecutionFailed", \
         "The operator's policy requires approval of this call of a tool. The detail has the question: ask a " \
         "person, and call the method tool/call again with `approved`.") \
    CODE(TOOLS, false, "Tool::ExecutionFailed", \
         "An agent's tools cannot be described to its model or called. There may be too many of them.") \
    CODE(TOOL_ERROR, false, "Tool::ExecutionFailed", \
         "A tool of an MCP server reported a failure. The text comes from the server.") \
    CODE(COMMAND_FAILED, false, "Tool::ExecutionFailed", \
         "A program that is a tool (`tenon.define`) could not be started, or its exit code was not 0. The " \
         "message contains the end of its standard error.") \
    CODE(FUNCTION_FAILED, false, "Tool::ExecutionFailed", \
         "A function of a library (`ffi`) returned a value that its description declares as a failure.") \
    CODE(INVALID_HANDLE, false, "Tool::InvalidInput", \
         "A handle of a library (`ffi`) does not exist, has been freed, or has another kind.") \
    CODE(NOT_TEXT, false, "Tool::ExecutionFailed", \
         "A component or a function of a library (`ffi`) returned text that is not UTF-8.") \
    CODE(NOT_FINITE, false, "Tool::ExecutionFailed", \
         "A function of a library (`ffi`) returned infinity or NaN, which JSON cannot represent.") \
    CODE(SERVER_LOST, false, "Tool::ExecutionFailed", \
         "The connection to an MCP server broke, or its process ended, before the server answered. It is " \
         "unknown whether the server did what was requested.") \
    CODE(SERVER_ERROR, false, "Tool::ExecutionFailed", \
         "An MCP server, or the authorization server that issues its tokens, answered with an error or with an " \
         "invalid answer.") \
    CODE(SESSION_ENDED, false, "Tool::ExecutionFailed", \
         "An MCP server ended its session, and ended the new session too.") \
    CODE(AUTH_NEEDED, false, "Tool::ExecutionFailed", \
         "An MCP server requires a sign-in with a browser. The message contains the address.") \
    /* Models and services. */ \
    CODE(API_REQUEST, true, "Model::ApiRequest", \
         "A service could not be reached, or answered with a server error.") \
    CODE(OVERLOADED, true, "Model::ApiRequest", \
         "The service reports that it is overloaded. Try again later.") \
    CODE(RATE_LIMITED, true, "Model::RateLimited", \
         "The account sent too many requests or tokens. The host waits for `retry_after_ms` if the service " \
         "sent it; `max` of the node's `retry` says how long at most.") \
    CODE(AUTH, false, "Model::Auth", \
         "The service refused the credentials, or none are configured. Set the secret that the message names.") \
    CODE(QUOTA, false, "Model::RateLimited", \
         "The account has no credit, or has used up its quota for a day or a month: waiting a few seconds does not " \
         "help. Check its plan and its bill at the service, or use another model.") \
    CODE(INVALID_REQUEST, false, "Model::ApiRequest", \
         "The service refused the request as malformed. The message contains its reason.") \
    CODE(CONTEXT_LENGTH, false, "Model::ApiRequest", \
         "The messages are longer than the model's context. Trim the history, or use another model.") \
    CODE(CONTENT_FILTERED, false, "Model::InvalidResponse", \
         "The service's policy withheld the answer.") \
    CODE(INVALID_RESPONSE, true, "Model::InvalidResponse", \
         "The service's answer does not follow its protocol.") \
    CODE(CONNECT, true, "Model::ApiRequest", \
         "A service could not be reached: its name is unknown, no server listens at the address, or the " \
         "connection broke before an answer started. Check the address and the network.") \
    CODE(TLS, false, "Other", \
         "The connection to a service could not be secured: its certificate is not trusted, or the TLS " \
         "handshake failed.") \
    CODE(CONNECTION_LOST, true, "Model::ApiRequest", \
         "The connection to a service broke in the middle of its answer. The service may have done what was " \
         "requested.") \
    CODE(PROTOCOL, false, "Other", \
         "The other side broke the protocol: HTTP, MCP, or the protocol of isolated plugins.") \
    CODE(HTTP_STATUS, false, "Tool::ExecutionFailed", \
         "A service answered with an error status that has no separate code. The message contains the " \
         "status.") \
    CODE(MODEL, false, "Graph::NodeExecution", \
         "A model could not be called.") \
    CODE(REFUSED, false, "Graph::NodeExecution", \
         "The model declined to answer. The message contains its words.") \
    CODE(OUTPUT_INVALID, false, "Chain::Parse", \
         "A model's answer does not have the required form, although the model was informed of the error and " \
         "tried again.") \
    CODE(TURN_LIMIT, false, "Graph::NodeExecution", \
         "A model calls tools although `max_turns` of its node is used up and none are offered. Raise it, or write " \
         "in the system prompt when to stop.") \
    CODE(REPLIES_USED_UP, false, "Model::InvalidResponse", \
         "A `scripted` model was called more often than it has replies. Add replies, or set `cycle: true`.") \
    /* Tasks, Artifacts, stores and threads. */ \
    CODE(CLAIM_LOST, false, "Other", \
         "The claim expired, or another runner holds it. The Task's result was not accepted.") \
    CODE(ATTEMPTS_EXHAUSTED, false, "Other", \
         "A Task was started as often as `retries.max_attempts` of its type allows, and no attempt has ended it: " \
         "each time the worker was killed, or has lost the claim. `tenon task show` has the history of the attempts. " \
         "Queue it again with `tenon task update ID '{\"state\": \"queued\"}'` when the cause is repaired.") \
    CODE(INVALID_RESULT, false, "Other", \
         "A strategy or a runner returned something that is not a RunResult. `tenon schema runner` is its form; " \
         "`tenon check --strategy` checks a document.") \
    CODE(INVALID_SUITE, false, "Other", \
         "The file of `tenon evaluate` is not a suite. The message names the line or the member.") \
    CODE(STOPPED, false, "Other", \
         "A run that `tenon evaluate` has started ended without an output.") \
    CODE(INVALID_TRANSITION, false, "Other", \
         "The Task cannot change from its state to the requested one.") \
    CODE(CONFLICT, true, "Other", \
         "Another process changed the record, or holds the thread, at the same time.") \
    CODE(GRAPH_CHANGED, false, "Graph::InvalidGraph", \
         "The thread was started with another version of the document. The message lists the differences.") \
    CODE(BATCH_CHANGED, false, "Other", \
         "A batch with threads is resumed with other lines than it began with. Use the same file; `accept_changes` (on " \
         "the command line --accept-changes) allows other lines in the place of those that have not begun.") \
    CODE(FENCED, false, "Other", \
         "Another process took over or removed the thread. This run writes nothing more; its committed steps " \
         "are kept, and the other process continues from there.") \
    CODE(OWNED, false, "Other", \
         "A process that has not ended runs the thread. Wait until its run has ended, or stop it. With `force` (on the " \
         "command line --force) a run takes the thread over: the other run then ends with FENCED.") \
    CODE(HOST_ENDED, false, "Other", \
         "The process of the host has died several times while the run was at the same checkpoint, so `tenon serve` does " \
         "not continue the run by itself any more. Find out why the process died, then resume the thread.") \
    CODE(WRONG_THREAD, false, "Other", \
         "A function of the library was called on another OS thread than the one that opened the host. Only functions " \
         "that tenon/embed.h marks with [any] may be. The call has done nothing.") \
    CODE(NESTED, false, "Other", \
         "A function of the library that waits, or that closes the host, was called in a callback of the same host. " \
         "Start a run with tenon_start instead, or call it after the callback has returned.") \
    CODE(CLOSED, false, "Other", \
         "The host of this object has been closed with tenon_close. The object can only be released.") \
    CODE(UNFINISHED, false, "Other", \
         "The thread is not done and received new input. Resume it, or discard its unfinished run with `replace` (on " \
         "the command line --replace).") \
    CODE(DONE, false, "Other", \
         "The thread is done and cannot be resumed. Give it new input.") \
    CODE(EXPIRED, false, "Other", \
         "The thread has waited for answers for longer than `limits.interrupt_hours` of tenon.yaml. Give it " \
         "new input with `replace` (on the command line --replace), or remove it.") \
    CODE(EXISTS, false, "Other", \
         "A thread, an open run or a key with that name already exists.") \
    CODE(STORE, true, "Other", \
         "The store could not read or write.") \
    CODE(INVALID, false, "Other", \
         "A request to a store, or a store's configuration, is invalid. The message names the member.") \
    CODE(STORE_NOT_FOUND, false, "Other", \
         "No plugin provides the store that tenon.yaml names.") \
    CODE(STORE_BUSY, true, "Other", \
         "Another process holds the store and did not release it in time.") \
    CODE(STORE_FULL, false, "Other", \
         "The device of the store has no space left.") \
    CODE(STORE_READ_ONLY, false, "Other", \
         "The store cannot be written: it was opened read-only, or its file is read-only.") \
    CODE(STORE_CORRUPT, false, "Other", \
         "The file of the store is damaged, or is not a store. Restore it from a backup.") \
    CODE(STORE_VERSION, false, "Other", \
         "A newer version of Tenon wrote the store. Use that version.") \
    CODE(STORE_INCOMPLETE, false, "Other", \
         "The store is the target of a copy that has not ended. Run the same `tenon store copy` again.") \
    CODE(STORE_ERROR, false, "Other", \
         "The store failed: its file cannot be opened, read or written. The message contains the reason.") \
    CODE(INVALID_STATE, false, "Serialization", \
         "The saved state of a run is broken, or does not fit the document.") \
    CODE(NOT_RECORDED, false, "Other", \
         "A replay needs a call of a thread or an HTTP exchange that was not recorded. A replay calls nothing " \
         "outside.") \
    CODE(REPLAY, false, "Other", \
         "A replay did not finish: it cannot continue with what was recorded.") \
    CODE(SERIALIZATION, false, "Serialization", \
         "A stored value cannot be read back.")
/* clang-format on */

struct error_code {
    const char *code;
    bool retryable;
    const char *family; /* "Graph::Channel" */
    const char *explanation;
};

/* Returns the row of a code, or NULL if the table does not have it. `code` may be NULL. */
const struct error_code *error_code_find(const char *code);
size_t error_code_count(void);
const struct error_code *error_code_at(size_t index); /* in table order; NULL past the end */

#endif
