/*
 * table.c - every command, in the order of the help: a row each.
 */
#include "host/command/command.h"
#include "host/plugin/plugin.h"

const struct option global_options[] = {
    {"plugins", 'P', "PATH", "look for plugins here first (a folder, or one .so); may be repeated", NULL},
    {"config", 'c', "FILE", "the configuration, instead of the tenon.yaml found upwards from here", NULL},
    {"no-config", 0, NULL, "read no configuration", NULL},
    {"allow-drafts", 0, NULL, "let plugins that are not bundled use draft interfaces", NULL},
    {"isolate", 0, "ID", "run this plugin in a process of its own; may be repeated", NULL},
    {"model", 'M', "[ROLE=]MODEL",
     "bind a role (`default` where none is named) to provider:name, or JSON; may be repeated", NULL},
    {"record", 0, "DIR", "write every exchange over HTTP into this folder, without secrets", NULL},
    {"replay", 0, "DIR", "answer requests over HTTP from this folder, without network", NULL},
    {"check-plugins", 0, NULL, "watch plugins for what the contract forbids; fail where something is found", NULL},
    {"color", 0, "WHEN", "whether to use colours", "auto|always|never"},
    {"help", 'h', NULL, "explain, with an example", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option run_options_table[] = {
    {"input", 'i', "JSON", "the run's input: JSON, @FILE, or - for standard input", NULL},
    {"set", 's', "PATH=VALUE", "set a part of the input, as in user.name=Ada or tags=[1,2]; may be repeated", NULL},
    {"run-config", 0, "JSON", "tags, metadata, configurable, recursion_limit, run_id, … as JSON or @FILE", NULL},
    {"stream", 0, "MODES", "events to show, of each mode named",
     "values,updates,messages,custom,tasks,checkpoints,debug,all"},
    {"json", 0, NULL,
     "print events as JSON lines; the last is {\"type\":\"result\", …}, and of a batch each, with its line", NULL},
    {"batch", 'b', "FILE",
     "one run for each line of FILE that is not blank, a JSON input each; results in the same order", NULL},
    {"concurrency", 'j', "N", "runs of a batch at once; 16", NULL},
    {"thread", 't', "ID", "keep the run in this thread: with new input on its state, or with --resume", NULL},
    {"resume", 'r', NULL, "go on with the thread where it stands", NULL},
    {"answer", 0, "ID=VALUE", "with --resume: the answer to what the thread waits for; may be repeated", NULL},
    {"replace", 0, NULL, "give up what the thread was at, and begin anew on its state", NULL},
    {"accept-changes", 0, NULL, "go on although the document has changed since the thread began", NULL},
    {"durability", 0, "WHEN", "what is written: every step before the next (sync), or the end alone", "sync|exit"},
    {"quiet", 'q', NULL, "no live view, no warnings", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option chat_options[] = {
    {"thread", 't', "ID", "keep the conversation in this thread, or go on with it", NULL},
    {"channel", 0, "NAME", "where what is said goes, and the answer is found; messages", NULL},
    {"input", 'i', "JSON", "other channels, before the first turn: JSON or @FILE", NULL},
    {"set", 's', "PATH=VALUE", "a part of that, as for `tenon run`; may be repeated", NULL},
    {"json", 0, NULL, "print events as JSON lines, and {\"type\":\"turn\", …} after each turn", NULL},
    {"quiet", 'q', NULL, "no warnings", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option replay_options[] = {
    {"document", 'd', "FILE", "the document to run, instead of the one that the thread was begun with", NULL},
    {"from", 0, "N", "with --fork: run live from this checkpoint on", NULL},
    {"fork", 0, "NEW", "with --from: the thread that this becomes", NULL},
    {"json", 0, NULL, "print JSON on standard output", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option test_options[] = {
    {"document", 'd', "FILE", "the document to run, instead of the one that each thread was begun with", NULL},
    {"json", 0, NULL, "print a line of JSON for each", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option thread_json_options[] = {
    {"json", 0, NULL, "print JSON on standard output", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option thread_list_options[] = {
    {"status", 0, "STATUS", "those alone", "running|interrupted|stopped|failed|cancelled|done"},
    {"agent", 0, "NAME", "those of a document with this name", NULL},
    {"limit", 0, "N", "at most so many; 50", NULL},
    {"after", 0, "THREAD", "those that come after this one", NULL},
    {"older-than", 0, "DAYS", "those that have not changed for so many days", NULL},
    {"newer-than", 0, "DAYS", "those that have", NULL},
    {"json", 0, NULL, "print each as a line of JSON", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option thread_history_options[] = {
    {"limit", 0, "N", "at most so many; 20", NULL},
    {"json", 0, NULL, "print each as a line of JSON", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option thread_at_options[] = {
    {"at", 0, "N", "the checkpoint, as `thread history` numbers them; the newest", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option thread_update_options[] = {
    {"input", 'i', "JSON", "channels and their values: JSON, @FILE, or - for standard input", NULL},
    {"set", 's', "PATH=VALUE", "a channel, as for `tenon run`; may be repeated", NULL},
    {"as", 0, "NODE", "what comes next is what would after this node", NULL},
    {"accept-changes", 0, NULL, "although the document has changed since the thread began", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option thread_import_options[] = {
    {"replace", 0, NULL, "replace the thread, where there is one of that id", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option thread_gc_options[] = {
    {"older-than", 0, "DAYS", "days since the last change, instead of limits.thread_days", NULL},
    {"keep", 0, "N", "the newest N of each agent stay", NULL},
    {"status", 0, "STATUS", "which threads; done", "running|interrupted|stopped|failed|cancelled|done"},
    {"dry-run", 0, NULL, "only say how many there are", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option model_test_options[] = {
    {"prompt", 'p', "TEXT", "what to ask, instead of for the word OK", NULL},
    {"json", 0, NULL, "print the message, its usage and the times as JSON", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option tool_call_options[] = {
    {"set", 's', "PATH=VALUE", "an argument, as for `tenon run`; may be repeated", NULL},
    {"yes", 'y', NULL, "agree beforehand, where somebody must; what is denied stays denied", NULL},
    {"json", 0, NULL, "print a result that is text as JSON, too", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option check_options[] = {
    {"json", 0, NULL, "print {\"diagnostics\": […]} on standard output, positions as in LSP", NULL},
    {"strict", 0, NULL, "warnings fail as well", NULL},
    {"quiet", 'q', NULL, "no summary", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option graph_options[] = {
    {"format", 'f', "FORMAT", "how to draw it (text by default)", "mermaid|dot|json|text"},
    {"inside", 'i', NULL, "what its nodes run as well: subgraphs, agents; needs their plugins", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option fmt_options[] = {
    {"check", 0, NULL, "change nothing; fail where a file is not formatted", NULL},
    {"stdout", 0, NULL, "print the formatted text and leave the file alone", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option eval_options[] = {
    {"input", 'i', "JSON", "what `state` and `input` are, and where other names are looked up: JSON, @FILE or -", NULL},
    {"raw", 'r', NULL, "print a string as it is, not as JSON", NULL},
    {"lines", 0, NULL, "read lines {\"expr\": …, \"bindings\": {…}}, and answer each with {\"value\"} or {\"error\"}",
     NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option json_option[] = {
    {"json", 0, NULL, "print JSON on standard output", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option plugin_show_options[] = {
    {"json", 0, NULL, "print the whole manifest as JSON", NULL},
    {"validate", 0, NULL, "say nothing, and fail where the manifest has mistakes: for build systems", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option plugin_check_options[] = {
    {"json", 0, NULL, "print JSON on standard output", NULL},
    {"seed", 0, "N", "what was random is made again from this, as an earlier check printed it", NULL},
    {"timeout", 0, "SECONDS", "for running it; half is shared out among its components (20)", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option plugin_new_options[] = {
    {"directory", 'd', "DIR", "where to make it, instead of a folder of the plugin's name", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option pack_build_options[] = {
    {"output", 'o', "FILE", "what to write, instead of NAME-VERSION.tenonpack", NULL},
    {"force", 'f', NULL, "replace the file, which may be signed, where it is there", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option pack_sign_options[] = {
    {"key", 'k', "FILE", "the secret key: NAME.key of `pack keygen`", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option pack_verify_options[] = {
    {"key", 'k', "KEY", "the public key that must have signed it, or its file, instead of those of tenon.yaml", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option reference_options[] = {
    {"man", 0, NULL, "the manual page, as troff", NULL},
    {"completion", 0, "SHELL", "completions for a shell", "bash|zsh|fish"},
    {NULL, 0, NULL, NULL, NULL},
};

#define FILTER_OPTION                                                                                                  \
    { "filter", 'f', "JSON", "members, as payload.size, to what they must be: {\"payload.size\": {\"gt\": 9}}", NULL }
#define PAGE_OPTIONS                                                                                                   \
    {"limit", 'n', "N", "how many at most; 100", NULL}, { "after", 0, "ID", "go on behind this one", NULL }
#define JSON_OPTION                                                                                                    \
    { "json", 0, NULL, "print JSON on standard output", NULL }
#define ARTIFACT_OPTION                                                                                                \
    { "artifact", 'a', "ID", "an Artifact that belongs to it; may be repeated", NULL }

static const struct option task_create_options[] = {
    {"payload", 'p', "JSON", "what it is about: an object, @FILE, or - for standard input", NULL},
    ARTIFACT_OPTION,
    {"key", 'k', "TEXT", "make it once: a second Task with this key is the first one", NULL},
    JSON_OPTION,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option task_list_options[] = {
    {"type", 't', "TYPE", "only of this type; may be repeated", NULL},
    {"state", 's', "STATE", "only in this state; may be repeated", "queued|running|done|failed"},
    FILTER_OPTION,
    {"order", 'o', "MEMBER", "by this member, as updated_at, instead of oldest first; may be repeated", NULL},
    {"reverse", 'r', NULL, "turn the order around", NULL},
    PAGE_OPTIONS,
    JSON_OPTION,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option task_update_options[] = {
    {"token", 0, "TOKEN", "change it only if this claim lasts", NULL},
    JSON_OPTION,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option task_claim_options[] = {
    {"type", 't', "TYPE", "only of this type; of several, the first that has one", NULL},
    FILTER_OPTION,
    {"as", 0, "NAME", "who claims it, instead of this machine and shell", NULL},
    {"ttl", 0, "SECONDS", "how long the claim lasts; 300", NULL},
    JSON_OPTION,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option task_renew_options[] = {
    {"ttl", 0, "SECONDS", "how long the claim lasts from now on; 300", NULL},
    JSON_OPTION,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option task_complete_options[] = {ARTIFACT_OPTION, JSON_OPTION, {NULL, 0, NULL, NULL, NULL}};

static const struct option task_fail_options[] = {
    {"code", 0, "CODE", "the error's code; FAILED", NULL},
    ARTIFACT_OPTION,
    JSON_OPTION,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option artifact_write_options[] = {
    {"type", 't', "TYPE", "its media type, instead of what the file's name says", NULL},
    {"metadata", 'm', "JSON", "what it can be found by: an object, @FILE or -", NULL},
    {"key", 'k', "TEXT", "write it once: a second Artifact with this key is the first one", NULL},
    JSON_OPTION,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option artifact_read_options[] = {
    {"output", 'o', "FILE", "where the body goes, instead of standard output", NULL},
    {"offset", 0, "N", "the first byte", NULL},
    {"length", 0, "N", "how many bytes", NULL},
    {"json", 0, NULL, "print the Artifact, with its body, as JSON", NULL},
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option artifact_list_options[] = {
    FILTER_OPTION, PAGE_OPTIONS, JSON_OPTION, {NULL, 0, NULL, NULL, NULL}};

static const struct option memory_put_options[] = {
    {"ttl", 0, "SECONDS", "forget it after that long", NULL},
    {"text", 0, "TEXT", "what it is found by, instead of every string in the value", NULL},
    JSON_OPTION,
    {NULL, 0, NULL, NULL, NULL},
};

static const struct option memory_search_options[] = {
    {"query", 0, "WORDS", "those that have every one of these words, best first", NULL},
    {"filter", 'f', "JSON", "members of the value to what they must be: {\"likes\": \"pizza\"}", NULL},
    {"limit", 'n', "N", "how many at most; 100", NULL},
    JSON_OPTION,
    {NULL, 0, NULL, NULL, NULL},
};

#define ANY UINT32_MAX

const struct command commands[] = {
    {"run", "FILE", "run a document",
     "Builds the graph that FILE describes and runs it once, or once for each line of a batch. The result is one JSON\n"
     "object on standard output. On a terminal the run is shown live, on standard error. Ctrl-C cancels.\n"
     "\n"
     "The PATH of --set is names with dots between them: a channel, then keys of objects, made where they are not\n"
     "there. A name has neither a dot nor `=` in it; lists are set whole. VALUE, all that follows the first `=`, is\n"
     "JSON where it reads as JSON, else a text: n=3 is a number, n='\"3\"' the text 3, name=Ada the text Ada. --input\n"
     "comes first, then each --set in turn.\n"
     "\n"
     "A batch prints {\"output\": …} or {\"error\": …} for each line, and fails where one did.",
     "$ tenon run samples/hello/hello.yaml --set name=Ada\n{\"name\":\"Ada\",\"greeting\":\"Hello, Ada!\"}\n",
     run_options_table, 1, 1, command_run, false},
    {"chat", "FILE", "talk to a document",
     "Each line is a user's message in the channel `messages`, and a run; the answer is printed as it comes, and the\n"
     "tools that were called on standard error. What must be approved is asked. Ctrl-C gives an answer up. Lines from "
     "a\n"
     "pipe are answered one after the other.",
     "$ tenon chat assistant.yaml --thread ada\n", chat_options, 1, 1, command_chat, false},
    {"replay", "THREAD", "run a thread once more from its journal, and compare",
     "Nothing outside is called: what tools, models and other components with effects gave is what they gave then, and "
     "so\n"
     "are the time, the answers and the inputs. Nodes without effects compute again. Each step must change what it\n"
     "changed; the first that does not is shown, and the command fails. The thread itself is not touched.\n"
     "\n"
     "With --from and --fork it is run live from a checkpoint on, as a new thread.",
     "$ tenon replay support-42\n", replay_options, 1, 1, command_replay, false},
    {"test", "FILE…", "run exported threads as tests",
     "Each FILE is what `tenon thread export` printed: a document's name, inputs, what came from outside, and what "
     "came\n"
     "of it. It is replayed with the document as it is now, found from here or beside FILE; a difference fails.",
     "$ tenon test tests/support-42.json\n", test_options, 1, ANY, command_test, false},
    {"thread list", "", "list threads", "Those that changed last come first.",
     "$ tenon thread list --status interrupted\n", thread_list_options, 0, 0, command_thread_list, false},
    {"thread show", "THREAD", "show a thread: where it stands, and what it waits for", "",
     "$ tenon thread show support-42\n", thread_json_options, 1, 1, command_thread_show, false},
    {"thread history", "THREAD", "list a thread's checkpoints",
     "The newest comes first: its number, the step after which it stands, which nodes ran, and what comes next.",
     "$ tenon thread history support-42\n", thread_history_options, 1, 1, command_thread_history, false},
    {"thread state", "THREAD", "print a thread's state, now or at a checkpoint", "",
     "$ tenon thread state support-42 --at 3\n", thread_at_options, 1, 1, command_thread_state, false},
    {"thread fork", "THREAD NEW", "begin a new thread where another one stood",
     "At its newest checkpoint, what the tasks of the step under way have done comes along. `tenon run --thread NEW\n"
     "--resume` goes on with it.",
     "$ tenon thread fork support-42 what-if --at 3\n", thread_at_options, 2, 2, command_thread_fork, false},
    {"thread answer", "THREAD ID=VALUE…", "answer what a thread waits for, without running it",
     "The answers are kept until `tenon run --thread THREAD --resume`. Each is checked against what was asked.",
     "$ tenon thread answer support-42 a9e95ec1da120bfe=yes\n", NULL, 2, ANY, command_thread_answer, false},
    {"thread update", "THREAD FILE", "write channels of a thread's state",
     "As an input would, by the rules of the document FILE. With --as, what comes next is what would after that node;\n"
     "else what was next stays. What tasks of a step under way have done is given up.",
     "$ tenon thread update support-42 support.yaml --set approved=true --as review\n", thread_update_options, 2, 2,
     command_thread_update, false},
    {"thread delete", "THREAD…", "remove threads", "", "$ tenon thread delete support-42\n", NULL, 1, ANY,
     command_thread_delete, false},
    {"thread export", "THREAD", "print a thread, whole, as one JSON object",
     "With its checkpoints and its journal: `tenon test` runs it as a test, `tenon thread import` brings it to "
     "another\n"
     "store.",
     "$ tenon thread export support-42 > support-42.json\n", NULL, 1, 1, command_thread_export, false},
    {"thread import", "FILE [THREAD]", "make a thread of an exported one", "`-` reads standard input.",
     "$ tenon thread import support-42.json again\n", thread_import_options, 1, 2, command_thread_import, false},
    {"thread gc", "", "remove threads that are old, and what nothing refers to",
     "Threads that are done, or have another --status, as far as both --older-than and --keep let them go; and those\n"
     "that have waited for an answer for longer than `limits.interrupt_hours` of tenon.yaml.",
     "$ tenon thread gc --older-than 30\n", thread_gc_options, 0, 0, command_thread_gc, false},
    {"check", "FILE…", "find mistakes in documents without running them",
     "Reports everything that is wrong, each with its position, what was expected and what to do.",
     "$ tenon check triage.yaml\n", check_options, 1, ANY, command_check, false},
    {"graph", "FILE", "draw a document", "As text for a terminal, Mermaid, Graphviz dot, or JSON.",
     "$ tenon graph triage.yaml --format mermaid\n", graph_options, 1, 1, command_graph, false},
    {"fmt", "FILE…", "format documents in place",
     "Keeps comments and blank lines; formatting twice changes nothing. `-` formats standard input.",
     "$ tenon fmt triage.yaml\n", fmt_options, 1, ANY, command_fmt, false},
    {"schema", "", "print a JSON Schema of ADL with the plugins that are installed",
     "Any YAML editor completes documents by it, with documentation.", "$ tenon schema > adl.schema.json\n", NULL, 0, 0,
     command_schema, false},
    {"eval", "[EXPR]", "evaluate an expression",
     "The language is CEL; `state` and `input` are the value of --input. With --lines the operand is a file of "
     "requests.",
     "$ tenon eval 'state.score > 80' --input '{\"score\": 93}'\ntrue\n", eval_options, 0, 1, command_eval, false},
    {"task create", "TYPE", "put a Task into the queue",
     "A runner that claims TYPE gets it. A `notification` has {message, severity?, related_task_id?, artifact_refs?}.\n"
     "Prints its id.",
     "$ tenon task create work --payload '{\"goal\": \"Summarise the report\"}'\n"
     "019b2d05-6f10-7c3a-9e50-3d2f8a1b4c6d\n",
     task_create_options, 1, 1, command_task_create, false},
    {"task list", "", "list Tasks", "Oldest first.", "$ tenon task list --state queued --type work\n",
     task_list_options, 0, 0, command_task_list, false},
    {"task show", "ID", "show a Task", "", "$ tenon task show 019b2d05-6f10-7c3a-9e50-3d2f8a1b4c6d\n", json_option, 1,
     1, command_task_show, false},
    {"task update", "ID PATCH", "change a Task",
     "PATCH is a JSON Merge Patch of `payload`, `artifact_refs` and `state`: JSON, @FILE or -. `state` can become\n"
     "`queued`, of a failed Task, or of a claimed one with its --token.",
     "$ tenon task update 019b2d05-6f10-7c3a-9e50-3d2f8a1b4c6d '{\"state\": \"queued\"}'\n", task_update_options, 2, 2,
     command_task_update, false},
    {"task claim", "", "claim a Task",
     "Takes one that waits, or whose claim has expired; nobody else gets it until the claim's time is up. Prints it "
     "with\n"
     "its `claim_token`, which renew, complete and fail ask for. Fails where there is none.",
     "$ tenon task claim --type work --as worker-1 --ttl 60 --json\n", task_claim_options, 0, 0, command_task_claim,
     false},
    {"task renew", "ID TOKEN", "keep a claimed Task for longer", "Fails where the claim has expired.",
     "$ tenon task renew 019b2d05-6f10-7c3a-9e50-3d2f8a1b4c6d $token --ttl 60\n", task_renew_options, 2, 2,
     command_task_renew, false},
    {"task complete", "ID TOKEN", "say that a claimed Task is done",
     "Fails where the claim has expired, or is somebody else's by now.",
     "$ tenon task complete 019b2d05-6f10-7c3a-9e50-3d2f8a1b4c6d $token\n", task_complete_options, 2, 2,
     command_task_complete, false},
    {"task fail", "ID TOKEN MESSAGE", "say that a claimed Task has failed", "The Task keeps the error.",
     "$ tenon task fail 019b2d05-6f10-7c3a-9e50-3d2f8a1b4c6d $token 'no steps are left' --code BUDGET_EXCEEDED\n",
     task_fail_options, 3, 3, command_task_fail, false},
    {"artifact write", "FILE", "keep a file as an Artifact",
     "However large it is; `-` is standard input. Prints its id.",
     "$ tenon artifact write report.md --metadata '{\"project\": \"apollo\"}'\n"
     "019b2d05-7a22-7f01-8c4e-51b2c7d9e0fa\n",
     artifact_write_options, 1, 1, command_artifact_write, false},
    {"artifact read", "ID", "print an Artifact's body", "Its bytes as they are, or some of them.",
     "$ tenon artifact read 019b2d05-7a22-7f01-8c4e-51b2c7d9e0fa --output report.md\n", artifact_read_options, 1, 1,
     command_artifact_read, false},
    {"artifact list", "", "list Artifacts", "Newest first.",
     "$ tenon artifact list --filter '{\"metadata.project\": \"apollo\"}'\n", artifact_list_options, 0, 0,
     command_artifact_list, false},
    {"artifact search", "WORDS", "search Artifacts", "Those that have every word, in body or metadata; best first.",
     "$ tenon artifact search 'quarterly report'\n", artifact_list_options, 1, 1, command_artifact_search, false},
    {"memory put", "NAMESPACE KEY VALUE", "remember something",
     "NAMESPACE is names with slashes between them. VALUE is JSON where it reads as JSON, else a text; or @FILE, or -.",
     "$ tenon memory put users/ada food '{\"likes\": \"pizza\"}'\n", memory_put_options, 3, 3, command_memory_put,
     false},
    {"memory get", "NAMESPACE KEY", "print what is remembered", "Its value; with --json, the times as well.",
     "$ tenon memory get users/ada food\n{\"likes\":\"pizza\"}\n", json_option, 2, 2, command_memory_get, false},
    {"memory search", "[NAMESPACE]", "search what is remembered", "In a namespace and all below it, or everywhere.",
     "$ tenon memory search users --query pizza\n", memory_search_options, 0, 1, command_memory_search, false},
    {"memory delete", "NAMESPACE KEY", "forget something", "It need not be there.",
     "$ tenon memory delete users/ada food\n", NULL, 2, 2, command_memory_delete, false},
    {"model list", "", "list the providers of models, and what roles are bound to",
     "A role of a document leads to what tenon.yaml or --model say, else to what the document says.",
     "$ tenon model list\n", json_option, 0, 0, command_model_list, false},
    {"model test", "[MODEL]", "ask a model something, to see whether it answers",
     "MODEL is a role of tenon.yaml (`default` where none is named), provider:name, or JSON, as for --model. Its "
     "answer\n"
     "is printed as it comes, and then how long it took and what it used. Nothing is tried again.",
     "$ tenon model test openai:gpt-4o-mini\n", model_test_options, 0, 1, command_model_test, false},
    {"tool list", "", "list the tools that models and documents may use",
     "With each: whether it is used at once (`auto`), after somebody has agreed (`ask`) or never (`deny`) where a "
     "model\n"
     "chooses it, by tenon.yaml and by what it declares that it does. A document may be stricter.",
     "$ tenon tool list\n", json_option, 0, 0, command_tool_list, false},
    {"tool show", "NAME", "show what a tool takes, gives and does", "With --json, its definition as models get it.",
     "$ tenon tool show artifact.search\n", json_option, 1, 1, command_tool_show, false},
    {"tool search", "WORDS", "search tools", "Those that have every word, in name, title or documentation; best first.",
     "$ tenon tool search 'remember something'\n", json_option, 1, 1, command_tool_search, false},
    {"tool call", "NAME [JSON]", "use a tool by hand",
     "JSON is its arguments, an object: JSON, @FILE, or - for standard input. They are checked, tenon.yaml is heeded,\n"
     "and the use is noted, as it is when a model uses it. Where somebody must agree, or the tool itself asks "
     "something,\n"
     "that is asked on a terminal; without one it ends with the code for waiting. Prints the result; a text as it is.",
     "$ tenon tool call task.list --set limit=3\n", tool_call_options, 1, 2, command_tool_call, false},
    {"plugin list", "", "list plugins and the components they register",
     "Reads manifests only: no code of a plugin runs. Says which file each component comes from.",
     "$ tenon plugin list\n", json_option, 0, 0, command_plugin_list, false},
    {"plugin show", "FILE", "show a plugin's manifest, without running any of its code",
     "FILE is a shared object, or the id of an installed plugin.", "$ tenon plugin show ./acme.so\n",
     plugin_show_options, 1, 1, command_plugin_show, false},
    {"plugin new", "NAME", "make a project for a new plugin",
     "A folder outside this tree that builds with CMake against the installed SDK, with a test.",
     "$ tenon plugin new acme-text\n", plugin_new_options, 1, 1, command_plugin_new, false},
    {"plugin check", "FILE", "check a plugin: its entry, symbols and manifest",
     "Loads it in a child process, and puts it through what a host may do to it: configurations made from its "
     "schemas,\n"
     "runs that are cancelled, allocations that fail. Fails where a defect is found.",
     "$ tenon plugin check ./acme.so\n", plugin_check_options, 1, 1, command_plugin_check, false},
    {"plugin upgrade", "FILE", "put a new build in the place of an installed plugin",
     "FILE is checked first, and must have the id of a plugin that is installed. The file is replaced whole: what "
     "runs\n"
     "goes on with the old one, what starts anew gets the new one.",
     "$ tenon plugin upgrade build/acme-text.so\n", NULL, 1, 1, command_plugin_upgrade, false},
    {"plugin serve", "FILE [EFFECT...]", "run a plugin for a host, over the component protocol",
     "A host starts this for plugins that it isolates. The protocol is on descriptor 3. It may do what its manifest\n"
     "declares, and each EFFECT.",
     "", NULL, 1, 1 + PLUGIN_GRANTS_MAX, command_plugin_serve, true},
    {"pack build", "DIR", "make a pack of a folder",
     "DIR/pack.json says its name, version and title, and what in it is a plugin or a document. The pack is one file\n"
     "with a hash of every file in the folder; the same folder gives the same bytes. Prints where it is.\n"
     "A file that is there already is not replaced without --force.",
     "$ tenon pack build acme-text\nacme-text-1.0.0.tenonpack\n", pack_build_options, 1, 1, command_pack_build, false},
    {"pack keygen", "NAME", "make a pair of keys for signing packs",
     "NAME.key is secret and stays with whoever makes packs. NAME.pub is for whoever trusts them: prints the line of\n"
     "tenon.yaml that does.",
     "$ tenon pack keygen acme\npacks: {trust: [\"…\"]}\n", NULL, 1, 1, command_pack_keygen, false},
    {"pack sign", "FILE", "sign a pack", "Puts a signature into FILE, in the place of one that it may have.",
     "$ tenon pack sign acme-text-1.0.0.tenonpack --key acme.key\n", pack_sign_options, 1, 1, command_pack_sign, false},
    {"pack verify", "FILE", "check that a pack is whole, and signed by a key that is trusted",
     "Fails where a byte differs, where nobody has signed it, and where another key has.",
     "$ tenon pack verify acme-text-1.0.0.tenonpack --key acme.pub\n", pack_verify_options, 1, 1, command_pack_verify,
     false},
    {"pack install", "FILE", "install a pack for this user",
     "Whole, or not at all. Plugins of a pack that no key of `packs.trust` has signed run in processes of their own.\n"
     "Of several versions, the newest trusted one is used, or where none is trusted, the newest.",
     "$ tenon pack install acme-text-1.0.0.tenonpack\n", NULL, 1, 1, command_pack_install, false},
    {"pack list", "", "list the packs that are installed",
     "Where they are, whose they are, what is in them; and which files have been altered since.", "$ tenon pack list\n",
     json_option, 0, 0, command_pack_list, false},
    {"pack remove", "NAME [VERSION]", "remove a pack", "All its versions, or one.", "$ tenon pack remove acme-text\n",
     NULL, 1, 2, command_pack_remove, false},
    {"doctor", "", "say what this installation has, and what is wrong with it",
     "Versions, search paths, configuration, plugins that cannot be used and why. What tenon.yaml says of plugins and\n"
     "models is held against their schemas; files and programs that it names are looked for, secrets fetched. No\n"
     "server is started. The exit code is 4 where there is a problem.",
     "$ tenon doctor\n", json_option, 0, 0, command_doctor, false},
    {"reference", "[TOPIC]", "print the reference, as Markdown",
     "Topics: commands, diagnostics, adl, expressions, errors, config; or a code, as ADL-E021. It is made from the\n"
     "tables the program itself uses.",
     "$ tenon reference diagnostics\n", reference_options, 0, 1, command_reference, false},
};
const size_t command_count = sizeof commands / sizeof *commands;

const struct exit_code exit_codes[] = {
    {COMMAND_OK, "done", "Done; of `check`, no errors were found."},
    {COMMAND_RUN_FAILED, "run failed", "The run or the evaluation failed; of `fmt --check`, a file is not formatted."},
    {COMMAND_USAGE, "usage", "The command line is wrong, or a file that it names cannot be read."},
    {COMMAND_INVALID, "document invalid", "A document has errors."},
    {COMMAND_PLUGIN_PROBLEM, "plugin problem", "A plugin or the configuration cannot be used."},
    {COMMAND_WAITING, "waiting for an answer", "The run was interrupted and waits for an answer."},
    {COMMAND_CANCELLED, "cancelled by Ctrl-C", "The run was cancelled, by Ctrl-C or SIGTERM."},
};
const size_t exit_code_count = sizeof exit_codes / sizeof *exit_codes;

const struct variable environment[] = {
    {"TENON_PLUGIN_PATH", "Folders, separated by colons, in which plugins are looked for."},
    {"TENON_HTTP_RECORD", "A folder, as for `--record`, where neither that nor `--replay` is given."},
    {"TENON_HTTP_REPLAY", "A folder, as for `--replay`, where neither that nor `--record` is given."},
    {"TENON_PROGRAM", "The program that runs isolated plugins, instead of this one."},
    {"XDG_CONFIG_HOME", "Where `tenon/tenon.yaml`, the user's configuration, is; `~/.config`."},
    {"XDG_DATA_HOME", "Where `tenon/plugins` and `tenon/packs`, the user's, are; `~/.local/share`."},
    {"HOME", "What `~/` stands for in tenon.yaml."},
    {"PATH", "Where programs are looked for that tenon.yaml names without a folder, as an MCP server's."},
    {"TZDIR", "Where the time zones of expressions are; `/usr/share/zoneinfo`."},
    {"NO_COLOR", "Set to anything: no colours, unless `--color always` asks for them."},
    {"TERM", "`dumb`, or not set: no colours."},
};
const size_t environment_count = sizeof environment / sizeof *environment;
