/*
 * command_options.c - the options of each command, and those of all commands.
 *
 * The columns without names are the option's name and, unless the option is a flag, its argument. command.h describes
 * the members. command_table.c names these tables.
 *
 * Words and numbers that other code defines in another form are macros below, each with the file and the name of the
 * definition.
 */
#include "host/program/command_options.h"
#include "adl/draw/draw.h"
#include "host/server/acp/acp.h"

/* ---- Words that other code defines ---- */

#define THREAD_STATUSES "running|interrupted|stopped|failed|cancelled|done"          /* run.h: enum run_status */
#define STREAM_MODES    "values,updates,messages,custom,tasks,checkpoints,debug,all" /* event.c: run_modes_parse */
#define TASK_REASONS    "retry|drain|wait"                                           /* kernel_end.c: release_reasons */
#define TASK_STATES     "queued|running|done|failed"                                 /* kernel_task.c: states */
#define SHELLS          "bash|zsh|fish" /* completion.c: completion_print */

/* ---- Defaults of options that other code defines ---- */

#define BATCH_RUNS    "16"  /* execution.h: BATCH_CONCURRENCY */
#define LIST_ENTRIES  "100" /* plugins/state: `limit` in task.json, artifact.json and memory.json */
#define WORK_TASKS    "16"  /* task_worker.h: TASK_WORKER_CONCURRENCY */
#define CHECK_SECONDS "20"  /* exercise.h: EXERCISE_TIMEOUT_MS */

/* ---- Options that several commands have ---- */

#define OPTIONS_END                                                                                                    \
    { .name = NULL }
#define JSON_OPTION                                                                                                    \
    { "json", .help = "print JSON on standard output" }
#define FILTER_OPTION                                                                                                  \
    { "filter", "JSON", .letter = 'f', .help = "conditions that members must meet: {\"payload.size\": {\"gt\": 9}}" }
#define CONNECT_OPTION                                                                                                 \
    { "connect", "PATH", .help = "work in the host that listens on this socket (`tenon serve`)" }
#define LIMIT_OPTION                                                                                                   \
    { "limit", "N", .letter = 'n', .help = "list at most N (default: " LIST_ENTRIES ")" }
#define AFTER_OPTION                                                                                                   \
    { "after", "ID", .help = "list those after this one" }
#define ARTIFACT_OPTION                                                                                                \
    { "artifact", "ID", .letter = 'a', .help = "an Artifact that belongs to the Task; may be repeated" }

/* name, argument */
const struct command_option global_options[] = {
    {"plugins", "PATH", .letter = 'P',
     .help = "search this folder, or load this .so file, before all others; may be repeated"},
    {"config", "FILE", .letter = 'c', .help = "use this configuration instead of the nearest tenon.yaml"},
    {"no-config", .help = "read no configuration"},
    {"allow-drafts", .help = "let plugins that are not bundled use draft interfaces"},
    {"isolate", "ID", .help = "run this plugin in a separate process; may be repeated"},
    {"model", "[ROLE=]MODEL", .letter = 'M',
     .help = "bind a role (default: `default`) to PROVIDER:NAME or to a JSON binding; may be repeated"},
    {"record", "DIR", .help = "write every HTTP request and response into this folder, without secrets"},
    {"replay", "DIR", .help = "answer HTTP requests from a folder that --record wrote, without network"},
    {"check-plugins", .help = "check every call to and from plugins; fail if a plugin violates the rules of tenon.h"},
    {"color", "WHEN", .help = "when to use colours", .choices = "auto|always|never"},
    {"help", .letter = 'h', .help = "show the help of a command, with an example"},
    OPTIONS_END,
};

/* For commands without other options. */
const struct command_option json_options[] = {JSON_OPTION, OPTIONS_END};
const struct command_option connect_options[] = {CONNECT_OPTION, OPTIONS_END};
const struct command_option plugin_unload_options[] = {
    {"quiesce", .help = "unload a busy plugin when its last run has ended"}, CONNECT_OPTION, OPTIONS_END};
const struct command_option connect_json_options[] = {JSON_OPTION, CONNECT_OPTION, OPTIONS_END};

#define TOOLS_OPTION                                                                                                   \
    { "tools", .help = "for documents in editors: start what tenon.yaml configures to add tools, such as MCP servers" }
const struct command_option lsp_options[] = {TOOLS_OPTION, CONNECT_OPTION, OPTIONS_END};

const struct command_option serve_options[] = {
    {"port", "PORT", .letter = 'p', .help = "listen for HTTP on this port, 0 for any free one (default: 8700)"},
    {"address", "IP", .help = "listen for HTTP on this address (default: 127.0.0.1)"},
    {"socket", "PATH", .letter = 's', .help = "listen on this Unix socket, too, for clients of JSON-RPC"},
    {"mode", "OCTAL", .help = "the file mode of the socket, which decides who may connect (default: 0600)"},
    {"scope", "SCOPE", .help = "what the clients may do (default: admin)", .choices = "read|run|admin"},
    {"drain", "SECONDS",
     .help = "time for requests and runs to end after SIGTERM (default: `serve.drain_seconds` in tenon.yaml, "
             "or " COMMAND_TEXT_OF(COMMAND_DRAIN_SECONDS) ")"},
    {"loops", "N", .help = "threads for runs and Tasks: 1 to 64, or auto (default: `loops` in tenon.yaml, or 1)"},
    TOOLS_OPTION,
    OPTIONS_END,
};

const struct command_option key_create_options[] = {
    {"scope", "SCOPE", .help = "what clients with the key may do (default: run)", .choices = "read|run|admin"},
    {"owner", "OWNER", .help = "who owns what they create (default: NAME; with --scope admin, the operator)"},
    {"expires", "DAYS", .help = "refuse the key after so many days, 1 to 3650"},
    {"requests-per-minute", "N", .help = "the most requests in a minute"},
    {"open-requests", "N", .help = "the most requests and streams at the same time"},
    {"runs", "N", .help = "the most runs at the same time"},
    {"tokens-per-day", "N", .help = "the most tokens of models in a day (UTC)"},
    {"cost-per-day", "N", .help = "the highest cost of models in a day, in the currency of `prices` in tenon.yaml"},
    JSON_OPTION,
    CONNECT_OPTION,
    OPTIONS_END,
};

const struct command_option acp_options[] = {
    {"channel", "NAME", .help = "the channel of the messages (default: messages)"},
    {"accept-changes", .help = "continue sessions even if the document has changed since they started"},
    {"context", "TOKENS",
     .help = "the size of the model's context, which the editor shows beside its use (default: " COMMAND_TEXT_OF(
         ACP_CONTEXT_TOKENS) ")"},
    {"no-mcp", .help = "do not start the MCP servers that the editor names"},
    OPTIONS_END,
};

/* ---- Options: Running ---- */

const struct command_option run_options[] = {
    {"input", "JSON", .letter = 'i', .help = "the run's input: JSON, @FILE, or - for standard input"},
    {"set", "PATH=VALUE", .letter = 's', .help = "set a part of the input: user.name=Ada, tags=[1,2]; may be repeated"},
    {"run-config", "JSON",
     .help = "an object with tags, metadata, configurable, recursion_limit, refresh_cache, …: JSON or @FILE"},
    {"stream", "MODES", .help = "show the events of these modes, no live view", .choices = STREAM_MODES},
    {"json",
     .help =
         "print events as JSON lines, ending with {\"type\":\"result\", …}; for a batch, one result per line of input"},
    {"batch", "FILE", .letter = 'b',
     .help = "run each non-blank line of FILE as a JSON input; print the results in the same order"},
    {"concurrency", "N", .letter = 'j',
     .help = "number of runs of a batch at the same time, not of activations (default: " BATCH_RUNS ")"},
    {"loops", "N", .help = "threads that run a batch: 1 to 64, or auto (default: `loops` in tenon.yaml, or 1)"},
    {"thread", "ID", .letter = 't', .help = "save the run in this thread; continue from its state if it exists"},
    {"resume", .letter = 'r', .help = "resume the thread where it stopped; with --batch: run what is not done"},
    {"answer", "ID=VALUE", .help = "with --resume: answer an interrupt of the thread; may be repeated"},
    {"replace", .help = "discard the thread's unfinished run, and start a new run with the thread's state"},
    {"force", .help = "with --resume or --replace: take the thread over from a process that runs it"},
    {"accept-changes", .help = "resume even if the document has changed since the thread started"},
    {"durability", "WHEN",
     .help = "when to save the run: after each step, before the next one (sync), or only at its end (exit)",
     .choices = "sync|exit"},
    {"quiet", .letter = 'q', .help = "show no live view, no progress and no warnings"},
    CONNECT_OPTION,
    OPTIONS_END,
};

const struct command_option chat_options[] = {
    {"thread", "ID", .letter = 't', .help = "save the conversation in this thread; continue it if it exists"},
    {"accept-changes", .help = "continue even if the document has changed since the thread started"},
    {"channel", "NAME", .help = "the channel of the messages (default: messages)"},
    {"input", "JSON", .letter = 'i', .help = "the values of other channels before the first message: JSON or @FILE"},
    {"set", "PATH=VALUE", .letter = 's', .help = "set a part of that input, as for `tenon run`; may be repeated"},
    {"json", .help = "print events as JSON lines, and {\"type\":\"turn\", …} after each turn"},
    {"images", "HOW", .help = "show images of answers in this way (default: auto, what the terminal can)",
     .choices = "auto|kitty|sixel|link"},
    {"no-notifications", .help = "leave notifications to another process: claim and show none"},
    {"quiet", .letter = 'q',
     .help = "show only the answers and errors: no warnings, no calls of tools, no notifications"},
    OPTIONS_END,
};

const struct command_option replay_options[] = {
    {"document", "FILE", .letter = 'd',
     .help = "use this document instead of the one that the thread was started with"},
    {"from", "N", .help = "with --fork: the checkpoint from which the new thread runs"},
    {"fork", "NEW", .help = "with --from: the id of the new thread"},
    JSON_OPTION,
    OPTIONS_END,
};

const struct command_option test_options[] = {
    {"document", "FILE", .letter = 'd',
     .help = "use this document instead of the one that each thread was started with"},
    {"json", .help = "print one line of JSON per file"},
    OPTIONS_END,
};

const struct command_option evaluate_options[] = {
    {"out", "FILE", .letter = 'o', .help = "write each result into this file, a line of JSON for each run"},
    {"resume", .help = "with --out: continue, without the runs that have a result in the file"},
    {"against", "FILE", .help = "show which cases have changed since the results in this file"},
    {"case", "ID", .help = "run only this case"},
    {"json", .help = "print the report as JSON"},
    {"quiet", .letter = 'q', .help = "show no progress and no warnings"},
    OPTIONS_END,
};

/* ---- Options: Threads ---- */

const struct command_option thread_list_options[] = {
    {"status", "STATUS", .help = "only threads with this status", .choices = THREAD_STATUSES},
    {"agent", "NAME", .help = "only threads of documents with this agent name"},
    {"limit", "N", .help = "list at most N threads (default: " COMMAND_TEXT_OF(COMMAND_THREADS) ")"},
    {"after", "THREAD", .help = "list the threads after this one"},
    {"older-than", "DAYS", .help = "only threads that have not changed for this many days"},
    {"newer-than", "DAYS", .help = "only threads that have changed within this many days"},
    {"json", .help = "print one line of JSON per thread"},
    CONNECT_OPTION,
    OPTIONS_END,
};

const struct command_option thread_history_options[] = {
    {"limit", "N", .help = "list at most N checkpoints (default: " COMMAND_TEXT_OF(COMMAND_CHECKPOINTS) ")"},
    {"json", .help = "print one line of JSON per checkpoint"},
    CONNECT_OPTION,
    OPTIONS_END,
};

const struct command_option thread_at_options[] = {
    {"at", "N", .help = "the number of a checkpoint, from `thread history` (default: the newest)"},
    CONNECT_OPTION,
    OPTIONS_END,
};

const struct command_option thread_update_options[] = {
    {"input", "JSON", .letter = 'i', .help = "channels and their values: JSON, @FILE, or - for standard input"},
    {"set", "PATH=VALUE", .letter = 's', .help = "set a channel, as for `tenon run`; may be repeated"},
    {"as", "NODE", .help = "continue as if this node had written the values"},
    {"accept-changes", .help = "update even if the document has changed since the thread started"},
    {"force", .help = "update even if a process runs the thread; that run then ends with FENCED"},
    CONNECT_OPTION,
    OPTIONS_END,
};

const struct command_option thread_delete_options[] = {
    {"force", .help = "delete even if a process runs the thread; that run then ends with FENCED"},
    CONNECT_OPTION,
    OPTIONS_END,
};

const struct command_option thread_import_options[] = {
    {"replace", .help = "replace an existing thread that has the same id"},
    CONNECT_OPTION,
    OPTIONS_END,
};

const struct command_option thread_gc_options[] = {
    {"older-than", "DAYS", .help = "days since the last change (default: limits.thread_days of tenon.yaml)"},
    {"keep", "N", .help = "keep the newest N threads of each agent"},
    {"status", "STATUS", .help = "only threads with this status (default: done)", .choices = THREAD_STATUSES},
    {"dry-run", .help = "report how many would be removed, and remove nothing"},
    CONNECT_OPTION,
    OPTIONS_END,
};

/* ---- Options: Stores ---- */

const struct command_option store_copy_options[] = {
    {"replace", .help = "delete what the target has; restarts a copy that was interrupted"},
    {"while-used", .help = "copy although a host uses the source; fails at the end if the source has changed"},
    {"quiet", .letter = 'q', .help = "show no progress and no warnings"},
    OPTIONS_END,
};

/* ---- Options: Documents ---- */

const struct command_option check_options[] = {
    {"json", .help = "print {\"diagnostics\": […]} on standard output; positions count from 0, as in LSP"},
    {"strict", .help = "treat warnings as errors"},
    {"strategy", .help = "also compare the documents with the contract of strategies (`tenon schema runner`)"},
    {"quiet", .letter = 'q', .help = "print no summary"},
    CONNECT_OPTION,
    OPTIONS_END,
};

const struct command_option graph_options[] = {
    {"format", "FORMAT", .letter = 'f', .help = "output format (default: text)", .choices = DRAW_FORMATS},
    {"inside", .letter = 'i', .help = "also draw subgraphs and agents inside nodes; this loads their plugins"},
    CONNECT_OPTION,
    OPTIONS_END,
};

const struct command_option fmt_options[] = {
    {"check", .help = "change nothing; fail if a file is not formatted"},
    {"stdout", .help = "print the formatted text instead of changing the file"},
    OPTIONS_END,
};

const struct command_option eval_options[] = {
    {"input", "JSON", .letter = 'i',
     .help = "the value of `state` and of `input`; each of its members is a name, too: JSON, @FILE or -"},
    {"raw", .letter = 'r', .help = "print a string result without quotes"},
    {"lines", .help = "read lines of {\"expr\": …, \"bindings\": {…}}; print {\"value\"} or {\"error\"} for each"},
    OPTIONS_END,
};

/* ---- Options: Tasks ---- */

const struct command_option schedule_list_options[] = {
    {"next", "NUMBER", .letter = 'n', .help = "how many due times of each schedule are listed, 0 to 100 (default: 3)"},
    JSON_OPTION,
    CONNECT_OPTION,
    OPTIONS_END,
};

const struct command_option schedule_run_options[] = {
    {"key", "TEXT", .letter = 'k', .help = "idempotency key: if this schedule was run with it, return that Task"},
    JSON_OPTION,
    CONNECT_OPTION,
    OPTIONS_END,
};

const struct command_option task_create_options[] = {
    {"payload", "JSON", .letter = 'p', .help = "the Task's payload, an object: JSON, @FILE, or - for standard input"},
    ARTIFACT_OPTION,
    {"not-before", "TIME", .help = "the Task cannot be claimed before this time, for example 2026-01-31T12:00:00Z"},
    {"key", "TEXT", .letter = 'k', .help = "idempotency key: if a Task has this key, return that Task"},
    JSON_OPTION,
    CONNECT_OPTION,
    OPTIONS_END,
};

const struct command_option task_watch_options[] = {
    {"type", "TYPE", .letter = 't', .help = "only Tasks of this type; may be repeated"},
    {"state", "STATE", .letter = 's', .help = "only changes to this state; may be repeated", .choices = TASK_STATES},
    {"until-done", .help = "end when none of the Tasks is queued or running"},
    {"json", .help = "print one line of JSON for each change: {\"change\": …, \"task\": …}"},
    CONNECT_OPTION,
    OPTIONS_END,
};

const struct command_option task_list_options[] = {
    {"type", "TYPE", .letter = 't', .help = "only Tasks of this type; may be repeated"},
    {"state", "STATE", .letter = 's', .help = "only Tasks in this state; may be repeated", .choices = TASK_STATES},
    FILTER_OPTION,
    {"order", "MEMBER", .letter = 'o',
     .help = "sort by this member, for example updated_at; may be repeated (default: oldest first)"},
    {"reverse", .letter = 'r', .help = "reverse the order"},
    LIMIT_OPTION,
    AFTER_OPTION,
    JSON_OPTION,
    CONNECT_OPTION,
    OPTIONS_END,
};

const struct command_option task_update_options[] = {
    {"token", "TOKEN", .help = "update only if the claim with this token is still valid"},
    JSON_OPTION,
    CONNECT_OPTION,
    OPTIONS_END,
};

const struct command_option task_claim_options[] = {
    {"type", "TYPE", .letter = 't', .help = "only Tasks of this type; may be repeated, in order of preference"},
    FILTER_OPTION,
    {"as", "NAME", .help = "the name of the claimant (default: this machine and shell)"},
    {"ttl", "SECONDS", .help = "how long the claim is valid (default: " COMMAND_TEXT_OF(COMMAND_CLAIM_SECONDS) ")"},
    JSON_OPTION,
    CONNECT_OPTION,
    OPTIONS_END,
};

const struct command_option task_renew_options[] = {
    {"ttl", "SECONDS",
     .help = "how long the claim is valid from now (default: " COMMAND_TEXT_OF(COMMAND_CLAIM_SECONDS) ")"},
    JSON_OPTION,
    CONNECT_OPTION,
    OPTIONS_END,
};

const struct command_option task_complete_options[] = {
    ARTIFACT_OPTION, {"output", "TEXT", .help = "the Task's `user_output`, as Markdown"}, JSON_OPTION, CONNECT_OPTION,
    OPTIONS_END,
};

const struct command_option task_fail_options[] = {
    {"code", "CODE", .help = "the error's code (default: FAILED)"},
    ARTIFACT_OPTION,
    JSON_OPTION,
    CONNECT_OPTION,
    OPTIONS_END,
};

const struct command_option task_release_options[] = {
    {"reason", "REASON", .letter = 'r', .help = "why the claim ends (default: drain)", .choices = TASK_REASONS},
    {"not-before", "TIME", .help = "the Task cannot be claimed before this time, for example 2026-01-31T12:00:00Z"},
    {"error", "MESSAGE", .letter = 'e', .help = "why the attempt failed"},
    {"code", "CODE", .help = "the code of this error (default: FAILED)"},
    JSON_OPTION,
    CONNECT_OPTION,
    OPTIONS_END,
};

/* ---- Options: Workers ---- */

const struct command_option ask_options[] = {
    {"type", "TYPE", .letter = 't', .help = "the type of the Task (default: user_request)"},
    {"payload", "JSON", .letter = 'p', .help = "the Task's payload instead of TEXT, an object: JSON, @FILE, or -"},
    {"stream", .help = "print the text of models on standard error as it arrives"},
    {"json", .help = "print the Task as a line of JSON of the type `result`; with --stream, events before it"},
    CONNECT_OPTION,
    OPTIONS_END,
};

const struct command_option work_options[] = {
    {"types", "TYPES",
     .help = "the Task types to claim, separated by commas (default: those in tenon.yaml, user_request, work)"},
    {"concurrency", "N", .letter = 'j', .help = "the most Tasks at the same time (default: " WORK_TASKS ")"},
    {"loops", "N", .help = "threads that handle Tasks: 1 to 64, or auto (default: `loops` in tenon.yaml, or 1)"},
    {"name", "WORKER", .help = "the name of the worker (default: the name of the machine and the process id)"},
    {"once", .help = "end after the first Task, or at once if there is none"},
    {"drain", .help = "end when no Task can be claimed any more"},
    {"json", .help = "print one line of JSON for each claim and each end, and a last one of the type `result`"},
    {"quiet", .letter = 'q', .help = "show no view, no lines and no warnings"},
    CONNECT_OPTION,
    OPTIONS_END,
};

/* ---- Options: Artifacts ---- */

const struct command_option artifact_write_options[] = {
    {"type", "TYPE", .letter = 't', .help = "the media type (default: from the file's name)"},
    {"metadata", "JSON", .letter = 'm', .help = "metadata that can be searched, an object: JSON, @FILE or -"},
    {"key", "TEXT", .letter = 'k', .help = "idempotency key: if an Artifact has this key, return that Artifact"},
    JSON_OPTION,
    CONNECT_OPTION,
    OPTIONS_END,
};

const struct command_option artifact_read_options[] = {
    {"output", "FILE", .letter = 'o', .help = "write the body to this file instead of standard output"},
    {"offset", "N", .help = "start at this byte"},
    {"length", "N", .help = "read this many bytes"},
    {"json", .help = "print the Artifact, with its body, as JSON"},
    CONNECT_OPTION,
    OPTIONS_END,
};

const struct command_option artifact_list_options[] = {
    FILTER_OPTION, LIMIT_OPTION, AFTER_OPTION, JSON_OPTION, CONNECT_OPTION, OPTIONS_END,
};

/* ---- Options: Memory ---- */

const struct command_option memory_put_options[] = {
    {"ttl", "SECONDS", .help = "delete the memory after this time"},
    {"text", "TEXT", .help = "the text to search (default: every string in the value)"},
    JSON_OPTION,
    CONNECT_OPTION,
    OPTIONS_END,
};

const struct command_option memory_search_options[] = {
    {"query", "WORDS", .help = "only memories that contain all of these words, best match first"},
    {"similar", "TEXT", .letter = 's',
     .help = "the memories whose text is similar in meaning, best match first; needs `memory.embed` in tenon.yaml"},
    {"exact", .help = "with --similar: compare with every vector, also in a large store"},
    {"filter", "JSON", .letter = 'f', .help = "conditions that members of the value must meet: {\"likes\": \"pizza\"}"},
    LIMIT_OPTION,
    JSON_OPTION,
    CONNECT_OPTION,
    OPTIONS_END,
};

/* ---- Options: Models ---- */

const struct command_option model_embed_options[] = {
    {"dimensions", "N", .letter = 'd', .help = "the length of the vectors, if the model can change it"},
    {"batch", "N", .letter = 'b', .help = "the most texts of one request to the service (default: 256)"},
    {"json", .help = "print {embeddings, model, usage} as one JSON object"},
    CONNECT_OPTION,
    OPTIONS_END,
};

const struct command_option model_test_options[] = {
    {"prompt", "TEXT", .letter = 'p', .help = "the prompt (default: a request to answer OK)"},
    {"json", .help = "print the message, its usage and the times as JSON"},
    CONNECT_OPTION,
    OPTIONS_END,
};

/* ---- Options: Tools ---- */

const struct command_option tool_call_options[] = {
    {"set", "PATH=VALUE", .letter = 's', .help = "set an argument, as for `tenon run`; may be repeated"},
    {"yes", .letter = 'y', .help = "approve the call in advance; a denied tool stays denied"},
    {"json", .help = "print a text result as JSON, too"},
    {"idempotency-key", "KEY",
     .help =
         "the tool's idempotency key: up to 64 letters, digits, `-`, `.` and `_`; without it, each call has a new one"},
    CONNECT_OPTION,
    OPTIONS_END,
};

/* ---- Options: Plugins ---- */

const struct command_option plugin_show_options[] = {
    {"json", .help = "print the whole manifest as JSON"},
    {"validate", .help = "print nothing; fail if the manifest is invalid (for build systems)"},
    CONNECT_OPTION,
    OPTIONS_END,
};

const struct command_option plugin_install_options[] = {
    {"force", .letter = 'f', .help = "replace an installed plugin of the same id"},
    OPTIONS_END,
};

const struct command_option plugin_new_options[] = {
    {"directory", "DIR", .letter = 'd', .help = "the folder to create (default: the plugin's name)"},
    {"kind", "KIND", .letter = 'k', .choices = "node|tool|model|store", .help = "what it provides (default: node)"},
    {"language", "LANGUAGE", .letter = 'l', .choices = "c|cpp|rust|python", .help = "of its code (default: c)"},
    OPTIONS_END,
};

const struct command_option plugin_check_options[] = {
    JSON_OPTION,
    {"quiet", .letter = 'q', .help = "show no progress"},
    {"seed", "N", .help = "repeat an earlier check that printed this seed, with the same random choices"},
    {"store", "JSON",
     .help =
         "options of the store to check, if it is not in a folder; records of collections that cases use are deleted"},
    {"timeout", "SECONDS",
     .help = "time limit of the check; half of it is shared by the components (default: " CHECK_SECONDS ")"},
    OPTIONS_END,
};

const struct command_option plugin_serve_options[] = {
    {"require-filter", .help = "fail if this system cannot filter the plugin's system calls"},
    OPTIONS_END,
};

const struct command_option plugin_launch_options[] = {
    {"effect", .argument = "EFFECT", .help = "an effect that the sandbox allows"},
    {"file", .argument = "PATH", .help = "a file that can be read"},
    OPTIONS_END,
};

/* ---- Options: Packs ---- */

const struct command_option pack_build_options[] = {
    {"output", "FILE", .letter = 'o', .help = "the file to write (default: NAME-VERSION.tenonpack)"},
    {"force", .letter = 'f', .help = "replace an existing file, even if it is signed"},
    OPTIONS_END,
};

const struct command_option pack_sign_options[] = {
    {"key", "FILE", .letter = 'k', .help = "the secret key: NAME.key from `pack keygen`"},
    OPTIONS_END,
};

#define PLAIN_HTTP_OPTION                                                                                              \
    { "plain-http", .help = "use the registry without encryption (default: only on this machine)" }

const struct command_option pack_push_options[] = {
    {"force", .letter = 'f', .help = "move a tag that already names another pack"},
    PLAIN_HTTP_OPTION,
    OPTIONS_END,
};

const struct command_option pack_pull_options[] = {
    {"output", "FILE", .letter = 'o', .help = "the file to write (default: NAME-VERSION.tenonpack)"},
    {"force", .letter = 'f', .help = "replace an existing file"},
    PLAIN_HTTP_OPTION,
    OPTIONS_END,
};

const struct command_option pack_verify_options[] = {
    {"key", "KEY", .letter = 'k',
     .help = "require a signature of this public key or key file (default: the keys in tenon.yaml)"},
    PLAIN_HTTP_OPTION,
    OPTIONS_END,
};

const struct command_option pack_install_options[] = {PLAIN_HTTP_OPTION, OPTIONS_END};

/* ---- Options: The installation ---- */

const struct command_option reference_options[] = {
    {"man", .help = "print the manual page, as troff"},
    {"completion", "SHELL", .help = "print completions for a shell", .choices = SHELLS},
    OPTIONS_END,
};
