/*
 * codes.h - the stable error codes, one row each: what `struct error.code` says when the host or a bundled plugin
 * fails.
 *
 * A code never changes its meaning and is never used again. Plugins may use these, and codes of their own. The
 * reference is generated from the table; a component that gives a code of the table and no `retryable` is retried,
 * where the document asks for retries, as its row says. `family` is the variant of the first seed's AyasError that it
 * belongs to.
 *
 *     const struct error_code *row = error_code_find("TIMEOUT");      // NULL: a plugin's own code
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
         "The document cannot be built into a graph: it has mistakes, cannot be read, or nests too deeply. " \
         "`tenon check` " \
         "shows every mistake at its line and column.") \
    CODE(RECURSION_LIMIT, false, "Graph::RecursionLimit", \
         "The run took as many super-steps as its recursion_limit allows and was not done. The state is " \
         "kept: resume " \
         "with a higher limit, or look for a loop whose condition never ends it.") \
    CODE(CHANNEL, false, "Graph::Channel", \
         "A write that its channel cannot take: the channel does not exist, is read only, or the value does " \
         "not fit " \
         "its schema or its reducer.") \
    CODE(CONCURRENT_UPDATE, false, "Graph::Channel", \
         "Two tasks of one super-step wrote a channel that keeps the last value. Give the channel a reducer, " \
         "or put " \
         "the nodes one after the other.") \
    CODE(NODE_EXECUTION, false, "Graph::NodeExecution", \
         "A component ended its task without saying why, or broke the contract while running it.") \
    CODE(STALLED, false, "Graph::NodeExecution", \
         "Nothing is left that could bring the run on: a component neither ended its task nor waits for anything.") \
    CODE(SUBGRAPH_FAILED, false, "Graph::NodeExecution", \
         "The inner graph of a subgraph node failed without an error.") \
    CODE(SUBGRAPH_OUTPUT, false, "Graph::Channel", \
         "The inner graph's result does not have what the subgraph node's `output` names, or an outer " \
         "channel does not " \
         "take it.") \
    CODE(EMIT_FAILED, false, "Graph::NodeExecution", "The host did not take a streamed chunk.") \
    CODE(INTERRUPTED, false, "Graph::NodeExecution", \
         "The run waits for an answer from outside, and the caller has no way to give one. Resume it with answers.") \
    CODE(INVALID_MESSAGE, false, "Graph::NodeExecution", \
         "What a node was given as a conversation has a message that is none; the error says which, and what " \
         "it lacks.") \
    /* Expressions, templates, text. */ \
    CODE(EXPRESSION_ERROR, false, "Chain::Template", \
         "An expression does not compile, or failed while it was evaluated: a name is missing, operands do " \
         "not fit, a " \
         "condition is not true or false. The error has the position.") \
    CODE(TEMPLATE_ERROR, false, "Chain::Template", \
         "A template's braces do not pair, or a hole failed. `{{` and `}}` write braces.") \
    CODE(MISSING_VARIABLE, false, "Chain::MissingVariable", \
         "A template names a variable that is not there: no channel of the state, no key of what was given.") \
    CODE(PARSE, false, "Chain::Parse", \
         "Text that is not what it should be: JSON, a number, a list, what an output parser looks for.") \
    CODE(SCHEMA, false, "Chain::Parse", "A JSON Schema is itself malformed; the message has the JSON Pointer.") \
    /* Inputs, outputs, kinds. */ \
    CODE(INVALID_INPUT, false, "Tool::InvalidInput", \
         "What was given does not fit: a tool's arguments, a graph's input, an answer, a run's configuration.") \
    CODE(INVALID_OUTPUT, false, "Tool::ExecutionFailed", \
         "A component gave an output that is not of its published shape.") \
    CODE(INVALID_CONFIG, false, "Graph::InvalidGraph", \
         "A component's configuration, or tenon.yaml, is not what it should be; the message names the key.") \
    CODE(TYPE, false, "Other", "A value is of another kind than is needed there; the message names both.") \
    CODE(NOT_FOUND, false, "Other", "There is no component, key, file or record of that name.") \
    CODE(LIMIT, false, "Other", \
         "A documented bound was reached: of size, depth, time of evaluation, or number. The message names it.") \
    CODE(UNSUPPORTED, false, "Other", "This host, or this kind of task, cannot do that.") \
    CODE(INTERNAL, false, "Other", "A fault of the host's. Please report it with what led to it.") \
    CODE(NO_MEMORY, true, "Other", "A component could not get memory.") \
    CODE(ERROR, false, "Other", "A failure without a code.") \
    CODE(FAILED, false, "Other", "A component's start failed with a status and no explanation.") \
    /* Time and cancelling. */ \
    CODE(TIMEOUT, true, "Graph::NodeExecution", \
         "The task did not end within its total time, or sent nothing for longer than its idle time.") \
    CODE(CANCELLED, false, "Graph::NodeExecution", "The run or the task was cancelled. What was committed stays.") \
    CODE(BUDGET_EXCEEDED, false, "Other", \
         "A run used up its document's `budget` of tokens, cost or steps: raise it, and go on with what the thread was " \
         "at, or give it new input, which is a run of its own. Or a runner used up its budget of tokens, cost, time or " \
         "iterations before the Task was done.") \
    /* Plugins. */ \
    CODE(PLUGIN_CRASHED, true, "Other", \
         "The process of an isolated plugin died while it had the task. It is restarted.") \
    CODE(PLUGIN_HUNG, false, "Other", \
         "Too many tasks of the plugin's blocking components neither ended nor noticed that they were " \
         "cancelled; it " \
         "gets no further ones in this process. Have them poll `cancelled`, or run the plugin with " \
         "isolation: process.") \
    CODE(PLUGIN_REFUSED, false, "Other", \
         "The plugin was not loaded, or declined: wrong architecture, a missing interface, an unmet version, " \
         "a policy.") \
    CODE(INTERFACE_MISSING, false, "Other", \
         "The plugin needs an interface that this host does not offer, or not to this plugin (drafts need a flag).") \
    CODE(PLUGIN_INVALID, false, "Other", \
         "The file is no shared object for this machine, is broken, or its code does not keep the contract: " \
         "no entry, " \
         "structs of another size, interfaces that its manifest promises missing. `tenon plugin check` says more.") \
    CODE(MANIFEST_MISSING, false, "Other", \
         "The shared object has no manifest: neither notes of owner Tenon nor a <name>.tenon.json beside it.") \
    CODE(MANIFEST_INVALID, false, "Other", \
         "A plugin's manifest is not what it should be; the message names the file, the component and the field.") \
    CODE(PLUGIN_DUPLICATE, false, "Other", \
         "Two plugins claim one component, or two files one plugin: neither is used. Take one out of the " \
         "search path.") \
    CODE(PLUGIN_BUSY, true, "Other", \
         "The plugin cannot be unloaded while it has instances or open tasks. It takes no new work; try again.") \
    CODE(PACK_INVALID, false, "Other", \
         "The file is no pack, or a damaged or forged one: a hash or a signature is wrong, a path leads out of it, it " \
         "holds what is not listed. Nothing of it was used.") \
    CODE(PACK_REFUSED, false, "Other", \
         "The pack needs another Tenon, or another build of the same version is installed.") \
    CODE(PACK_ALTERED, false, "Other", \
         "A file of an installed pack is not what it was when it was installed. Remove the pack, and install it " \
         "again.") \
    CODE(SECRET_NOT_FOUND, false, "Other", \
         "A secret that the configuration refers to cannot be had: the variable is not set, the file cannot " \
         "be read, the " \
         "command failed.") \
    CODE(IO, false, "Other", "A file or folder cannot be read or written; the message names it.") \
    CODE(PERMISSION_DENIED, false, "Other", \
         "The effect is not declared by the component's manifest, or not allowed by the operator's policy.") \
    CODE(SANDBOX, false, "Other", \
         "The process of an isolated plugin could not be confined, and was not started. `tenon doctor` says " \
         "what this system allows.") \
    /* Tools. */ \
    CODE(TOOL_NOT_FOUND, false, "Tool::NotFound", \
         "No tool of that name, or it is not on the document's list `tools`.") \
    CODE(TOOL_FAILED, false, "Tool::ExecutionFailed", \
         "A tool failed. The model sees the failure as the call's result, unless the tool is marked fatal.") \
    CODE(AUDIT_FAILED, false, "Tool::ExecutionFailed", \
         "The use of a tool must be noted in the audit log, and could not be; tenon.yaml says so (tools.audit_required).") \
    CODE(TOOL_DENIED, false, "Tool::ExecutionFailed", "Somebody, or a policy, refused the call of a tool.") \
    CODE(TOOLS, false, "Tool::ExecutionFailed", \
         "An agent's tools cannot be described to its model, or called: there may be too many of them.") \
    CODE(TOOL_ERROR, false, "Tool::ExecutionFailed", \
         "A tool of an MCP server says that it failed; the text is its own.") \
    CODE(COMMAND_FAILED, false, "Tool::ExecutionFailed", \
         "A program that is a tool (`tenon.define`) could not be started, or ended with another code than 0; " \
         "the message has the end of what it wrote to standard error.") \
    CODE(FUNCTION_FAILED, false, "Tool::ExecutionFailed", \
         "A function of a library (`ffi`) gave what its description says is a failure.") \
    CODE(INVALID_HANDLE, false, "Tool::InvalidInput", \
         "A handle of a library (`ffi`) that was never given, has been freed, or is of another kind.") \
    CODE(NOT_TEXT, false, "Tool::ExecutionFailed", \
         "A function of a library (`ffi`) gave a text that is not UTF-8.") \
    CODE(NOT_FINITE, false, "Tool::ExecutionFailed", \
         "A function of a library (`ffi`) gave an infinity or no number, which JSON cannot say.") \
    CODE(SERVER_LOST, false, "Tool::ExecutionFailed", \
         "The connection to an MCP server broke, or its process ended, before it had answered. Whether it did " \
         "what was asked is not known.") \
    CODE(SERVER_ERROR, false, "Tool::ExecutionFailed", \
         "An MCP server, or one that gives it its keys, answered with an error or with what is no answer.") \
    CODE(SESSION_ENDED, false, "Tool::ExecutionFailed", \
         "An MCP server has ended its session, and did so again when another one was begun.") \
    CODE(AUTH_NEEDED, false, "Tool::ExecutionFailed", \
         "An MCP server wants somebody to sign in, in a browser; the message has the address.") \
    /* Models and services. */ \
    CODE(API_REQUEST, true, "Model::ApiRequest", "A service could not be reached, or answered with a server error.") \
    CODE(OVERLOADED, true, "Model::ApiRequest", "The service says that it is overloaded; try again later.") \
    CODE(RATE_LIMITED, true, "Model::RateLimited", \
         "Too many requests or tokens for the account. `retry_after_ms` is honoured where the service gave it.") \
    CODE(AUTH, false, "Model::Auth", \
         "The service refused the credentials, or there are none; set the secret it names.") \
    CODE(INVALID_REQUEST, false, "Model::ApiRequest", "The service refused the request as malformed; it says why.") \
    CODE(CONTEXT_LENGTH, false, "Model::ApiRequest", \
         "The messages are longer than the model's context. Trim the history, or take another model.") \
    CODE(CONTENT_FILTERED, false, "Model::InvalidResponse", "The service withheld the answer, by its own policy.") \
    CODE(INVALID_RESPONSE, true, "Model::InvalidResponse", "The service's answer is not what its protocol says.") \
    CODE(CONNECT, true, "Model::ApiRequest", \
         "A service could not be reached: its name is not known, nobody listens there, or the connection broke " \
         "before an answer began. Look at the address and the network.") \
    CODE(TLS, false, "Other", \
         "The connection to a service is not to be trusted, or could not be made so: its certificate, or the " \
         "protocol that was agreed on.") \
    CODE(CONNECTION_LOST, true, "Model::ApiRequest", \
         "The connection to a service broke in the middle of its answer. What was asked for may have been " \
         "done.") \
    CODE(PROTOCOL, false, "Other", \
         "The other side does not keep to the protocol: of HTTP, of an MCP server, of a plugin in a process of " \
         "its own.") \
    CODE(HTTP_STATUS, false, "Tool::ExecutionFailed", \
         "A service answered with a status that says that it will not, and that no other code is for; the " \
         "message has it.") \
    CODE(MODEL, false, "Graph::NodeExecution", \
         "A model could not be called.") \
    CODE(REFUSED, false, "Graph::NodeExecution", \
         "The model declined to answer; the message has its words.") \
    CODE(OUTPUT_INVALID, false, "Chain::Parse", \
         "A model that should answer in a given shape did not, although it was told what is wrong and asked " \
         "again.") \
    CODE(TURN_LIMIT, false, "Graph::NodeExecution", \
         "A model's turn was paused and gone on with as often as is allowed, and is not over.") \
    CODE(REPLIES_USED_UP, false, "Model::InvalidResponse", \
         "A `scripted` model was asked more often than it has replies. Add some, or `cycle: true`.") \
    /* Tasks, Artifacts, stores and threads. */ \
    CODE(CLAIM_LOST, false, "Other", \
         "The claim expired, or another runner holds it; the Task's result was not taken.") \
    CODE(INVALID_TRANSITION, false, "Other", "The Task cannot go from the state it is in to the one asked for.") \
    CODE(CONFLICT, true, "Other", "Somebody else changed the record, or holds the thread, at the same time.") \
    CODE(GRAPH_CHANGED, false, "Graph::InvalidGraph", \
         "The thread was begun with another version of the document; the message lists the differences.") \
    CODE(FENCED, false, "Other", \
         "Somebody else has taken the thread over, or removed it: the run that had it writes nothing more. What it " \
         "had committed stays, and the other one goes on from there.") \
    CODE(UNFINISHED, false, "Other", \
         "The thread is not done, and was given new input. Resume it, or give up what it was at with --replace.") \
    CODE(DONE, false, "Other", "The thread is done: there is nothing to resume. Give it new input.") \
    CODE(EXPIRED, false, "Other", \
         "The thread has waited for answers for longer than `limits.interrupt_hours` of tenon.yaml. Give it new " \
         "input with --replace, or remove it.") \
    CODE(EXISTS, false, "Other", "There is a thread of that id already.") \
    CODE(STORE, true, "Other", "The store could not read or write.") \
    CODE(INVALID, false, "Other", \
         "A request to a store, or a store's configuration, is not what it should be; the message names the " \
         "member.") \
    CODE(STORE_NOT_FOUND, false, "Other", \
         "No plugin provides the store that tenon.yaml names.") \
    CODE(STORE_BUSY, true, "Other", \
         "Another process holds the store, and did not let go of it in time.") \
    CODE(STORE_FULL, false, "Other", \
         "There is no room left where the store is.") \
    CODE(STORE_READ_ONLY, false, "Other", \
         "The store may not be written to: it was opened so, or its file may not be changed.") \
    CODE(STORE_CORRUPT, false, "Other", \
         "What the store has is damaged, or is no store. Put a copy back.") \
    CODE(STORE_VERSION, false, "Other", \
         "The store was written by a newer Tenon. Use that one.") \
    CODE(STORE_ERROR, false, "Other", \
         "The store failed: its file cannot be opened, read or written; the message says why.") \
    CODE(INVALID_STATE, false, "Serialization", \
         "What was saved of a run is broken, or does not fit the document.") \
    CODE(NOT_RECORDED, false, "Other", \
         "A replay came to something that was not recorded: a call of a thread, or an exchange over HTTP. A " \
         "replay calls nothing outside.") \
    CODE(REPLAY, false, "Other", \
         "A replay came to no end: nothing is left that could bring it on.") \
    CODE(SERIALIZATION, false, "Serialization", "A stored value cannot be read back.")
/* clang-format on */

struct error_code {
    const char *code;
    bool retryable;
    const char *family; /* "Graph::Channel" */
    const char *explanation;
};

/* The row of a code; NULL where it is none of the table. NULL is allowed. */
const struct error_code *error_code_find(const char *code);
size_t error_code_count(void);
const struct error_code *error_code_at(size_t index); /* in the table's order; NULL past the end */

#endif
