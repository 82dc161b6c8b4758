/*
 * command_table.c - the table of commands, in the order of the help. command_options.c has the options of each.
 *
 * The help, the reference, the manual page and the shell completions are generated from these tables. The first members
 * of a row have no names; a comment above the table names these columns. command.h describes the members.
 */
#include "host/plugin/registry/plugin.h"
#include "host/program/command.h"
#include "host/program/command_options.h"

#define NO_MAXIMUM UINT32_MAX /* of operands */

/* ---- Commands ---- */

/* name, operands, summary, details, example */
const struct command commands[] = {
    /* ---- Running ---- */
    {"run", "FILE", "run a document",
     "Builds the graph that FILE describes and runs it once, or once for each line of a batch. FILE can also be\n"
     "pack:NAME/FILE, a document of an installed pack, or tenon:NAME, one that is installed with Tenon. Prints the\n"
     "result as one JSON object on standard output. On a terminal, standard error shows the run live. Ctrl-C cancels "
     "the run.\n"
     "\n"
     "The PATH of --set is a channel, then keys of objects, separated by dots. Missing objects are created. A name\n"
     "cannot contain a dot or `=`; a list can only be set as a whole. VALUE is everything after the first `=`. If\n"
     "it is valid JSON, it is read as JSON, otherwise as text: n=3 is a number, n='\"3\"' is the text 3, name=Ada is\n"
     "the text Ada. --input is applied first, then each --set in order.\n"
     "\n"
     "With --connect, the running host gets the text of FILE and runs it; there is no live view, and no batch.\n"
     "\n"
     "A batch prints {\"output\": …} or {\"error\": …} for each line. After a run that `stop_at_nonlinear` stopped,\n"
     "`next` beside the output lists the nodes that are due. The command fails if a line failed.\n"
     "\n"
     "With --thread, a batch can be continued after it was stopped or killed. Line 3 of `--thread orders` has the "
     "thread\n"
     "orders/3; `--thread 'order-${{ input.number }}'` names the threads by an expression over the input of each "
     "line.\n"
     "--resume prints what the lines that are done have saved, and continues or starts the others: failed lines are\n"
     "tried again. The file must be the same; --accept-changes allows changes in lines that have not begun. An "
     "--answer\n"
     "is for every line that waits for it; `tenon thread answer` answers a single one.",
     "$ tenon run samples/hello/hello.yaml --set name=Ada\n{\"name\":\"Ada\",\"greeting\":\"Hello, Ada!\"}\n",
     .options = run_options, .operands_min = 1, .operands_max = 1, .run = command_run},
    {"chat", "FILE", "chat with a document",
     "Each line is a user message in the channel `messages` and starts one run. The answer is printed as it\n"
     "arrives; tool calls are shown on standard error. Approvals are requested at the terminal. Ctrl-C cancels the\n"
     "answer or discards the line; at a question of a thread it ends the chat, and the question can be answered "
     "later.\n"
     "A turn that was cancelled or has failed is not part of the conversation.\n"
     "On a terminal, `/help` lists the commands of the conversation, such as `/retry`, `/edit`, `/model` and `/save`;\n"
     "`@FILE` in a message attaches an image, a PDF or audio; reasoning and sources are folded until `/more`. Images\n"
     "and audio of answers are saved in the folder of the program's state, and images are shown if the terminal can.\n"
     "On a terminal, the chat claims the Tasks of the type `notification`, and shows their messages before the prompt\n"
     "and above the line that is being typed. A notification about a question shows the command that answers it.\n"
     "Lines from a pipe are answered in order. If one of them fails, the others are still answered, and the exit code\n"
     "is that of the first failure.",
     "$ tenon chat assistant.yaml --thread ada\n", .options = chat_options, .operands_min = 1, .operands_max = 1,
     .run = command_chat,
     .instead_of_connect = "start each turn with `tenon run FILE --thread ID --connect PATH`, with the message in the "
                           "input"},
    {"replay", "THREAD", "run a thread again from its journal, and compare",
     "Calls nothing outside the process: tools, models and other components with effects return what the journal\n"
     "contains, and so do the clock, the answers and the inputs. Nodes without effects compute their results\n"
     "again. Each step must make the same changes as before. If a step differs, it is shown, and the command\n"
     "fails. The thread itself is not changed.\n"
     "\n"
     "With --from and --fork, a new thread continues from a checkpoint and calls the outside world.",
     "$ tenon replay support-42\n", .options = replay_options, .operands_min = 1, .operands_max = 1,
     .run = command_replay},
    {"test", "FILE…", "run exported threads as tests",
     "Each FILE is the output of `tenon thread export`: the name of a document, the inputs, the recorded results of\n"
     "components with effects, and the outcome. The thread is replayed with the current document, which is looked up\n"
     "in the current folder and beside FILE. The test fails if the outcome differs.",
     "$ tenon test tests/support-42.json\n", .options = test_options, .operands_min = 1, .operands_max = NO_MAXIMUM,
     .run = command_test},
    {"evaluate", "SUITE", "run cases with models and versions of a document, and compare",
     "SUITE is a file in YAML or JSON with a document, cases (an input and what is expected of its answer) and the\n"
     "models to compare; `tenon schema suite` prints its schema. An answer is compared by equality, by texts that it\n"
     "contains, by a JSON Schema, by an expression, or by a rubric that a model grades. Prints the pass rate, the "
     "cost\n"
     "and the times of each pair of document and model, and the cases in which they differ. The exit code is 1 if a\n"
     "pair is below the thresholds of the suite.",
     "$ tenon evaluate answers.suite.yaml --out results.jsonl\n", .options = evaluate_options, .operands_min = 1,
     .operands_max = 1, .run = command_evaluate},

    /* ---- Threads ---- */
    {"thread list", "", "list threads", "The most recently changed thread is first.",
     "$ tenon thread list --status interrupted\n", .options = thread_list_options, .run = command_thread_list},
    {"thread show", "THREAD", "show a thread's status and its open questions", "", "$ tenon thread show support-42\n",
     .options = connect_json_options, .operands_min = 1, .operands_max = 1, .run = command_thread_show},
    {"thread history", "THREAD", "list a thread's checkpoints",
     "The newest is first. Shows the number and step of each, the nodes that ran, and the nodes that are next.",
     "$ tenon thread history support-42\n", .options = thread_history_options, .operands_min = 1, .operands_max = 1,
     .run = command_thread_history},
    {"thread state", "THREAD", "print a thread's state, now or at a checkpoint", "",
     "$ tenon thread state support-42 --at 3\n", .options = thread_at_options, .operands_min = 1, .operands_max = 1,
     .run = command_thread_state},
    {"thread fork", "THREAD NEW", "start a new thread from a checkpoint of another thread",
     "A fork of the newest checkpoint keeps the results of the nodes that have ended in the unfinished step. Continue\n"
     "the new thread with `tenon run --thread NEW --resume`.",
     "$ tenon thread fork support-42 what-if --at 3\n", .options = thread_at_options, .operands_min = 2,
     .operands_max = 2, .run = command_thread_fork},
    {"thread answer", "THREAD ID=VALUE…", "answer a thread's interrupts without running it",
     "The answers are saved until `tenon run --thread THREAD --resume`. Each is checked against the question's schema.",
     "$ tenon thread answer support-42 a9e95ec1da120bfe=yes\n", .options = connect_options, .operands_min = 2,
     .operands_max = NO_MAXIMUM, .run = command_thread_answer},
    {"thread update", "THREAD FILE", "write channels of a thread's state",
     "Writes the values like an input, with the merge rules of the document FILE. With --as, the nodes after NODE are\n"
     "next; without it, the next nodes do not change. Results of nodes in the unfinished step are discarded.",
     "$ tenon thread update support-42 support.yaml --set approved=true --as review\n",
     .options = thread_update_options, .operands_min = 2, .operands_max = 2, .run = command_thread_update},
    {"thread delete", "THREAD…", "delete threads", "", "$ tenon thread delete support-42\n",
     .options = thread_delete_options, .operands_min = 1, .operands_max = NO_MAXIMUM, .run = command_thread_delete},
    {"thread export", "THREAD", "print a whole thread as one JSON object",
     "Includes its checkpoints and its journal. `tenon test` runs it as a test; `tenon thread import` copies it into\n"
     "another store.",
     "$ tenon thread export support-42 > support-42.json\n", .options = connect_options, .operands_min = 1,
     .operands_max = 1, .run = command_thread_export},
    {"thread import", "FILE [THREAD]", "create a thread from an exported one", "`-` reads standard input.",
     "$ tenon thread import support-42.json again\n", .options = thread_import_options, .operands_min = 1,
     .operands_max = 2, .run = command_thread_import},
    {"thread gc", "", "delete old threads, and records that nothing refers to",
     "Deletes threads that are done, or that have the given --status, if both --older-than and --keep allow it. Also\n"
     "deletes threads that have waited for an answer longer than `limits.interrupt_hours` of tenon.yaml. A thread "
     "that\n"
     "a process runs is kept.",
     "$ tenon thread gc --older-than 30\n", .options = thread_gc_options, .run = command_thread_gc},

    /* ---- Stores ---- */
    {"store copy", "FROM TO", "copy a store into another one, also of another kind",
     "FROM and TO are each the path of a SQLite file, the URL of a PostgreSQL database (postgresql://…), a tenon.yaml, "
     "a\n"
     "folder, which stands for the store of hosts in it, or options as JSON ({\"use\": …}). A password belongs into a\n"
     "tenon.yaml as a secret, not into the command. Copies all records with their versions, then reads both stores "
     "and\n"
     "compares them. TO must be empty. No host may use FROM or TO. Until the end no host uses TO; if the copy is\n"
     "interrupted, the same command continues it.",
     "$ tenon store copy .tenon/tenon.db postgresql:///agents\n"
     "copied 48211 records of 9 collections to postgresql:///agents; both have the SHA-256 5c0f…\n",
     .options = store_copy_options, .operands_min = 2, .operands_max = 2, .run = command_store_copy},
    {"store migrate", "[STORE]", "move a store to the format of this release",
     "STORE is as for `tenon store copy`; without it, the store of tenon.yaml. Every host does this when it opens a\n"
     "store; older releases refuse the store afterwards. Reports the format.",
     "$ tenon store migrate\ncurrent: the format is 1\n", .operands_max = 1, .run = command_store_migrate},

    /* ---- Documents ---- */
    {"check", "FILE…", "find mistakes in documents without running them",
     "Reports every mistake with its position, what was expected, and what to do. Of a folder, all documents below it "
     "are\n"
     "checked, in the order of their names: files named *.yaml, *.yml and *.json that have `nodes`, or `version` and\n"
     "`agent`. Hidden files and symbolic links are skipped; at most 10,000 documents are checked. The exit code is 0 "
     "if\n"
     "there are no errors, 3 if there are, and 2 if something cannot be read. With --connect, the running host checks\n"
     "the texts, and its tenon.yaml is not checked.",
     "$ tenon check triage.yaml\nno problems found\n", .options = check_options, .operands_min = 1,
     .operands_max = NO_MAXIMUM, .run = command_check},
    {"graph", "FILE", "draw a document",
     "As text for a terminal, as a picture (`svg`), as a page with this picture that can be moved, enlarged and "
     "searched\n"
     "(`html`; no network is needed), as Mermaid, Graphviz dot, or JSON. In the picture, a bar joins lines that are "
     "all\n"
     "waited for, a blue line with two heads leads to a node that runs for each item of a list, a dashed red line is "
     "taken\n"
     "after an error, and a dotted one if the node chooses it.",
     "$ tenon graph triage.yaml --format svg > triage.svg\n$ tenon graph triage.yaml --inside --format html > "
     "triage.html\n",
     .options = graph_options, .operands_min = 1, .operands_max = 1, .run = command_graph},
    {"fmt", "FILE…", "format documents in place",
     "Keeps comments and blank lines. Formatting a formatted file changes nothing. `-` formats standard input.",
     "$ tenon fmt triage.yaml\n", .options = fmt_options, .operands_min = 1, .operands_max = NO_MAXIMUM,
     .run = command_fmt},
    {"schema", "[SCHEMA]",
     "print a JSON Schema: of documents, tenon.yaml, manifests, payloads, or methods; or types for clients",
     "Without SCHEMA, or with `adl`, it is the schema of ADL, including the installed plugins: YAML editors use it to\n"
     "complete and document fields. `config` is that of tenon.yaml, for the same purpose. `list` lists the others: "
     "the\n"
     "manifest, and what nodes, models, tools, runners and reducers receive, return and emit, messages, the context "
     "of\n"
     "a task, errors, and the events of a run. `methods` has the parameters and results of the methods that clients\n"
     "call; `openrpc` describes the methods as OpenRPC; `typescript` and `python` are types for programs that call\n"
     "them.",
     "$ tenon schema > adl.schema.json\n$ tenon schema config > config.schema.json\n$ tenon schema model > "
     "model.schema.json\n"
     "$ tenon schema typescript > methods.ts\n",
     .operands_max = 1, .run = command_schema},
    {"eval", "[EXPR]", "evaluate an expression",
     "The language is CEL. `state` and `input` are the value of --input. With --lines, the operand is a file of\n"
     "requests.",
     "$ tenon eval 'state.score > 80' --input '{\"score\": 93}'\ntrue\n", .options = eval_options, .operands_max = 1,
     .run = command_eval},

    /* ---- Tasks ---- */
    {"task create", "TYPE", "add a Task to the queue",
     "The next claimant of this TYPE receives it. A `notification` has the payload {message, severity?,\n"
     "related_task_id?, interrupt_id?, artifact_refs?}. Prints the new Task's id.",
     "$ tenon task create work --payload '{\"goal\": \"Summarise the report\"}'\n"
     "019b2d05-6f10-7c3a-9e50-3d2f8a1b4c6d\n",
     .options = task_create_options, .operands_min = 1, .operands_max = 1, .run = command_task_create},
    {"task list", "", "list Tasks", "The oldest is first.", "$ tenon task list --state queued --type work\n",
     .options = task_list_options, .run = command_task_list},
    {"task show", "ID", "show a Task", "", "$ tenon task show 019b2d05-6f10-7c3a-9e50-3d2f8a1b4c6d\n",
     .options = connect_json_options, .operands_min = 1, .operands_max = 1, .run = command_task_show},
    {"task watch", "[ID…]", "print what happens to Tasks",
     "Prints a line when a Task was created, claimed or woken, waits, is tried again, is done or has failed,\n"
     "whichever process does it. With IDs it begins with their last change, and ends when all of them have ended; the\n"
     "exit code is 1 if one has failed. Without IDs it prints what happens from now on, until Ctrl-C or --until-done.\n"
     "The store is asked four times a second; of changes of one Task in between, only the last one is printed.",
     "$ tenon task watch --type work\n", .options = task_watch_options, .operands_max = 100, .run = command_task_watch},
    {"task update", "ID PATCH", "change a Task",
     "PATCH is a JSON Merge Patch of `payload`, `artifact_refs` and `state`: JSON, @FILE or -. A failed Task can\n"
     "be set to the state `queued`, and so can a claimed one with its --token.",
     "$ tenon task update 019b2d05-6f10-7c3a-9e50-3d2f8a1b4c6d '{\"state\": \"queued\"}'\n",
     .options = task_update_options, .operands_min = 2, .operands_max = 2, .run = command_task_update},
    {"task claim", "", "claim a Task",
     "Claims a queued Task, or one whose claim has expired. Other claimants do not receive it until the claim\n"
     "expires. Prints the Task with its `claim_token`, which renew, complete, fail and\n"
     "release require. Fails if there is no\n"
     "such Task.",
     "$ tenon task claim --type work --as worker-1 --ttl 60 --json\n", .options = task_claim_options,
     .run = command_task_claim},
    {"task renew", "ID CLAIM_TOKEN", "extend the claim of a Task", "Fails if the claim has expired.",
     "$ tenon task renew 019b2d05-6f10-7c3a-9e50-3d2f8a1b4c6d $token --ttl 60\n", .options = task_renew_options,
     .operands_min = 2, .operands_max = 2, .run = command_task_renew},
    {"task complete", "ID CLAIM_TOKEN", "mark a claimed Task as done",
     "Fails if the claim has expired or another claimant has the Task.",
     "$ tenon task complete 019b2d05-6f10-7c3a-9e50-3d2f8a1b4c6d $token\n", .options = task_complete_options,
     .operands_min = 2, .operands_max = 2, .run = command_task_complete},
    {"task fail", "ID CLAIM_TOKEN MESSAGE", "mark a claimed Task as failed", "The Task keeps the error.",
     "$ tenon task fail 019b2d05-6f10-7c3a-9e50-3d2f8a1b4c6d $token 'no steps are left' --code BUDGET_EXCEEDED\n",
     .options = task_fail_options, .operands_min = 3, .operands_max = 3, .run = command_task_fail},
    {"task release", "ID CLAIM_TOKEN", "return a claimed Task to the queue",
     "`retry` counts as an attempt, and the Task keeps the error. `drain` does not count. `wait` does not count, and\n"
     "the Task can be claimed only at --not-before, or, without it, after `tenon task wake` or `tenon thread answer`.",
     "$ tenon task release 019b2d05-6f10-7c3a-9e50-3d2f8a1b4c6d $token --reason retry --error 'no answer'\n",
     .options = task_release_options, .operands_min = 2, .operands_max = 2, .run = command_task_release},
    {"task wake", "ID", "make a Task that waits claimable",
     "Ends the waiting of a queued Task: for an answer, or for the time before which it cannot be claimed. Any other\n"
     "Task does not change.",
     "$ tenon task wake 019b2d05-6f10-7c3a-9e50-3d2f8a1b4c6d\n", .options = connect_json_options, .operands_min = 1,
     .operands_max = 1, .run = command_task_wake},

    /* ---- Workers ---- */
    {"work", "", "claim Tasks, and handle them",
     "Claims Tasks of the store and runs, for each, the strategy or the runner that `work` of tenon.yaml sets for its\n"
     "type. Any number of workers can use one store. A Task is a thread with the same id: if a worker dies,\n"
     "another one continues where it was. A Task that asks a question waits without a worker; after\n"
     "`tenon thread answer ID INTERRUPT=VALUE` it is claimed again. Without --types, notifications are claimed only\n"
     "if `work` of tenon.yaml names them: `tenon chat` shows them to a person. Without --once and --drain, the worker\n"
     "also creates the Tasks of `schedules`.\n"
     "\n"
     "On a terminal, the view shows for each type how many Tasks were claimed, run, are done, have failed, wait for\n"
     "an answer, and were tried again. Otherwise one line is printed for each Task that has ended.\n"
     "\n"
     "SIGTERM and Ctrl-C end the worker: runs stop after their super-step, their Tasks return to the queue, and the\n"
     "exit code is 0. A second signal cancels the runs. With --once or --drain, the exit code is 1 if a Task has\n"
     "failed; one that is tried again later, or waits, has not failed.\n"
     "\n"
     "With --connect, the worker is in the running host. It ends with this command, but not if the command is killed.",
     "$ tenon work --types work --drain\n", .options = work_options, .run = command_work},

    /* ---- Schedules ---- */
    {"schedule list", "", "list the schedules of tenon.yaml, with their next due times",
     "Shows the expression and the time zone, the type of the Task that is created, the policy for missed due times,\n"
     "and the last due time for which a Task was created. All times are in UTC. Tasks are created by workers and\n"
     "servers, not by this command.",
     "$ tenon schedule list --next 1\nnightly  0 3 * * *  Europe/Berlin\n  creates report, misfire once, last "
     "2026-11-26T02:00:00Z\n  next 2026-11-27T02:00:00Z\n",
     .options = schedule_list_options, .run = command_schedule_list},
    {"schedule run", "NAME", "create the Task of a schedule now",
     "The due times of the schedule stay as they are. Prints the new Task's id.",
     "$ tenon schedule run nightly\n019b2d05-6f10-7c3a-9e50-3d2f8a1b4c6d\n", .options = schedule_run_options,
     .operands_min = 1, .operands_max = 1, .run = command_schedule_run},

    {"ask", "[TEXT]", "ask a question, and wait for the answer",
     "Creates a Task of the type `user_request` with the payload {text: TEXT}, handles it at once with the strategy\n"
     "of its type, and prints its output. `-` reads TEXT from standard input. A question of the Task is asked at the\n"
     "terminal; without one, the exit code is 5, and the message says how to answer. If the Task fails, the error is\n"
     "printed, and the exit code is 1. Ctrl-C returns the Task to the queue.",
     "$ tenon ask 'Which of these reports mentions Apollo?'\n", .options = ask_options, .operands_max = 1,
     .run = command_ask},

    /* ---- Artifacts ---- */
    {"artifact write", "FILE", "store a file as an Artifact",
     "The file can have any size; `-` reads standard input. Prints the new Artifact's id.",
     "$ tenon artifact write report.md --metadata '{\"project\": \"apollo\"}'\n"
     "019b2d05-7a22-7f01-8c4e-51b2c7d9e0fa\n",
     .options = artifact_write_options, .operands_min = 1, .operands_max = 1, .run = command_artifact_write},
    {"artifact read", "ID", "print an Artifact's body", "Prints all bytes unchanged, or a range of them.",
     "$ tenon artifact read 019b2d05-7a22-7f01-8c4e-51b2c7d9e0fa --output report.md\n",
     .options = artifact_read_options, .operands_min = 1, .operands_max = 1, .run = command_artifact_read},
    {"artifact list", "", "list Artifacts", "The newest is first.",
     "$ tenon artifact list --filter '{\"metadata.project\": \"apollo\"}'\n", .options = artifact_list_options,
     .run = command_artifact_list},
    {"artifact search", "WORDS", "search Artifacts",
     "Lists the Artifacts that contain all words in body or metadata, best match first.",
     "$ tenon artifact search 'quarterly report'\n", .options = artifact_list_options, .operands_min = 1,
     .operands_max = 1, .run = command_artifact_search},

    /* ---- Memory ---- */
    {"memory put", "NAMESPACE KEY VALUE", "store a memory",
     "NAMESPACE is one or more names separated by slashes. VALUE is JSON if it is valid JSON, otherwise text; or\n"
     "@FILE, or -.",
     "$ tenon memory put users/ada food '{\"likes\": \"pizza\"}'\n", .options = memory_put_options, .operands_min = 3,
     .operands_max = 3, .run = command_memory_put},
    {"memory get", "NAMESPACE KEY", "print a memory", "Prints its value; with --json, also its times.",
     "$ tenon memory get users/ada food\n{\"likes\":\"pizza\"}\n", .options = connect_json_options, .operands_min = 2,
     .operands_max = 2, .run = command_memory_get},
    {"memory search", "[NAMESPACE]", "search memories",
     "Searches a namespace and all namespaces below it, or all namespaces.",
     "$ tenon memory search users --query pizza\n", .options = memory_search_options, .operands_max = 1,
     .run = command_memory_search},
    {"memory delete", "NAMESPACE KEY", "delete a memory", "Succeeds if the memory does not exist.",
     "$ tenon memory delete users/ada food\n", .options = connect_options, .operands_min = 2, .operands_max = 2,
     .run = command_memory_delete},

    /* ---- Models ---- */
    {"model list", "", "list model providers, and the roles that are bound to them",
     "A role is bound by tenon.yaml or --model; if neither binds it, the document's own binding is used.",
     "$ tenon model list\n", .options = connect_json_options, .run = command_model_list},
    {"model embed", "MODEL [TEXT...]", "turn texts into vectors with a model for embeddings",
     "MODEL is a role of tenon.yaml or PROVIDER:NAME. Without TEXT, each line of standard input is a text. Prints one\n"
     "JSON array of numbers per text, in the order of the texts, and then the usage to standard error. The texts are\n"
     "sent in batches, four at once; if one fails, nothing is printed.",
     "$ tenon model embed openai:text-embedding-3-small 'a text'\n", .options = model_embed_options, .operands_min = 1,
     .operands_max = NO_MAXIMUM, .run = command_model_embed},
    {"model test", "[MODEL]", "send a prompt to a model, to see if it answers",
     "MODEL is a role of tenon.yaml (default: `default`), PROVIDER:NAME, or a JSON binding, as for --model. Prints\n"
     "the answer as it arrives, then the time it took and its usage. Images and audio are saved as in `tenon chat`.\n"
     "The answer has at most 1,024 tokens, if the binding has no `max_tokens`. A transient failure is retried as in a\n"
     "run. With --connect, MODEL cannot be JSON, and the answer is printed as a whole.",
     "$ tenon model test openai:gpt-4o-mini\n"
     "$ tenon model test '{\"provider\": \"openai\", \"model\": \"gpt-audio\", \"speech\": {\"voice\": \"marin\"}}'\n",
     .options = model_test_options, .operands_max = 1, .run = command_model_test},

    /* ---- Node types ---- */
    {"node list", "", "list the node types that documents can use",
     "Shows the plugin and the effects of each. Reads only manifests: no plugin code runs.", "$ tenon node list\n",
     .options = connect_json_options, .run = command_node_list},
    {"node show", "NAME", "show a node type's configuration, effects and examples",
     "With --json, prints what its manifest declares. `tenon reference NAME` prints the same as Markdown.",
     "$ tenon node show llm\n", .options = connect_json_options, .operands_min = 1, .operands_max = 1,
     .run = command_node_show},

    /* ---- Tools ---- */
    {"tool list", "[PATTERN]", "list the tools that models and documents can use",
     "Shows the policy of each tool when a model calls it: run at once (`auto`), ask for approval (`ask`) or never\n"
     "run (`deny`). The policy follows from tenon.yaml and from the tool's declared effects. A document can be\n"
     "stricter. With PATTERN, in which `*` stands for any characters, only the tools whose names match it; servers\n"
     "of other tools are not started.",
     "$ tenon tool list 'artifact.*'\n", .options = connect_json_options, .operands_max = 1, .run = command_tool_list},
    {"tool show", "NAME", "show a tool's arguments, result and effects",
     "With --json, prints its definition as models receive it.", "$ tenon tool show artifact.search\n",
     .options = connect_json_options, .operands_min = 1, .operands_max = 1, .run = command_tool_show},
    {"tool search", "WORDS", "search tools",
     "Lists the tools that contain all words in name, title or documentation, best match first.",
     "$ tenon tool search 'remember something'\n", .options = connect_json_options, .operands_min = 1,
     .operands_max = 1, .run = command_tool_search},
    {"tool call", "NAME [JSON]", "call a tool",
     "JSON is the tool's arguments, an object: JSON, @FILE, or - for standard input. The call is validated,\n"
     "checked against tenon.yaml and logged exactly as a call from a model. Approvals and the tool's own questions\n"
     "are asked at the terminal; without a terminal, the command ends with the exit code for waiting. Prints the\n"
     "result; text is printed without quotes. With --connect, the tool cannot ask questions of its own, and its "
     "progress\n"
     "is not shown.",
     "$ tenon tool call task.list --set limit=3\n", .options = tool_call_options, .operands_min = 1, .operands_max = 2,
     .run = command_tool_call},

    /* ---- Plugins ---- */
    {"plugin list", "", "list plugins and the components they register",
     "Reads only manifests: no plugin code runs. Shows the file that each component comes from.",
     "$ tenon plugin list\n", .options = connect_json_options, .run = command_plugin_list},
    {"plugin show", "FILE", "show a plugin's manifest without running any of its code",
     "FILE is a shared object, or the id of an installed plugin.", "$ tenon plugin show ./acme.so\n",
     .options = plugin_show_options, .operands_min = 1, .operands_max = 1, .run = command_plugin_show},
    {"plugin new", "NAME", "create a project for a new plugin",
     "Creates a folder with a small plugin, its build and its tests, for the installed SDK. In C and C++ it builds "
     "with\n"
     "CMake, in Rust with cargo; in Python the plugin is a program.",
     "$ tenon plugin new acme-text --kind tool --language python\n", .options = plugin_new_options, .operands_min = 1,
     .operands_max = 1, .run = command_plugin_new},
    {"plugin check", "FILE", "check a plugin: its entry, symbols, manifest and behaviour",
     "FILE is a shared object, or a program with its manifest beside it. It runs in separate processes, used as a\n"
     "host would: with configurations generated from its schemas, cancelled runs and failing allocations. A plugin\n"
     "that provides a store also runs the conformance suite of share/tenon/store/conformance, is killed while it\n"
     "writes, and is used by two processes at once. `tenon reference findings` explains what is found. The exit\n"
     "code is 0 if there are no errors, 4 if there are, and 2 if FILE cannot be opened. tenon.yaml and\n"
     "--allow-drafts decide whether the plugin may use draft interfaces. A store that is not in a folder needs\n"
     "--store: for PostgreSQL {\"url\": …, \"schema\": \"check\", \"clock\": \"host\"}, with a schema for the check.",
     "$ tenon plugin check ./acme.so\n", .options = plugin_check_options, .operands_min = 1, .operands_max = 1,
     .run = command_plugin_check},
    {"plugin install", "FILE|FOLDER", "install a plugin in your folder for plugins",
     "Checks the plugin, or every plugin in FOLDER, and copies it to $XDG_DATA_HOME/tenon/plugins, with its manifest "
     "file\n"
     "if it has one. Either all are installed or none. An installed plugin of the same id is replaced only with "
     "--force.",
     "$ tenon plugin install build/acme-text.so\n", .options = plugin_install_options, .operands_min = 1,
     .operands_max = 1, .run = command_plugin_install},
    {"plugin remove", "ID", "remove a plugin from your folder for plugins",
     "Removes only what `tenon plugin install` can install. `tenon pack remove` removes packs.",
     "$ tenon plugin remove acme.text\n", .operands_min = 1, .operands_max = 1, .run = command_plugin_remove},
    {"plugin upgrade", "FILE", "replace an installed plugin with a new build",
     "FILE is checked first and must have the id of an installed plugin. The file is replaced atomically: running\n"
     "work continues with the old build, new work uses the new one. With --connect, the plugin is replaced in the "
     "host\n"
     "that runs, and no file is.",
     "$ tenon plugin upgrade build/acme-text.so\n", .options = connect_options, .operands_min = 1, .operands_max = 1,
     .run = command_plugin_upgrade},
    {"plugin load", "FILE", "add a plugin to a host that runs",
     "Loads its code in the host that listens on the socket of --connect. Documents can use its components at once. "
     "The\n"
     "host forgets it when it ends; `tenon plugin install` is for all hosts.",
     "$ tenon plugin load build/acme-text.so --connect tenon.sock\nacme.text: 1.0.0, loaded\n",
     .options = connect_options, .operands_min = 1, .operands_max = 1, .run = command_plugin_load},
    {"plugin unload", "ID", "remove a plugin from a host that runs",
     "Fails with PLUGIN_BUSY while a run needs the plugin, and changes nothing. With --quiesce, the plugin accepts no "
     "new\n"
     "work from now on, and is unloaded when its last run has ended; until then `plugin load` makes it usable again.",
     "$ tenon plugin unload acme.text --connect tenon.sock\nacme.text: unloaded\n", .options = plugin_unload_options,
     .operands_min = 1, .operands_max = 1, .run = command_plugin_unload},
    {"plugin reset", "ID", "start a plugin whose process keeps ending again at once",
     "A host starts the process of an isolated plugin again after a pause, which grows with each time that it ends. "
     "This\n"
     "command clears the pause in all running hosts of this user, and the count that `plugin list` and `doctor` show.\n"
     "A host that starts later does not wait in any case: a pause belongs to the host whose process has ended.",
     "$ tenon plugin reset acme.text\nacme.text: cleared 6 deaths; a running host starts it again at once\n",
     .operands_min = 1, .operands_max = 1, .run = command_plugin_reset},
    {"plugin serve", "FILE [EFFECT…]", "run a plugin in this process for a host (used internally)",
     "A host starts this command for each plugin that it isolates. They exchange messages on file descriptor 3. The\n"
     "sandbox allows the effects that the manifest declares, and each EFFECT.",
     "", .options = plugin_serve_options, .operands_min = 1, .operands_max = 1 + PLUGIN_GRANTS_MAX,
     .run = command_plugin_serve, .hidden = true},
    {"plugin launch", "PROGRAM WORD…", "run a program in the sandbox (used internally)",
     "A host starts this command for each program that a plugin starts in the sandbox. WORD… are the program's "
     "arguments,\n"
     "the first one its name. The sandbox allows the effects; files can be read. Descriptor 3 receives log lines.",
     "", .options = plugin_launch_options, .operands_min = 2, .operands_max = NO_MAXIMUM, .run = command_plugin_launch,
     .hidden = true},

    /* ---- Packs ---- */
    {"pack build", "DIR", "build a pack from a folder",
     "DIR/pack.json contains its name, version and title, and lists its plugins and documents. The pack is one file\n"
     "with a hash of every file in the folder; the same folder always produces the same bytes. Prints the path of the\n"
     "pack. An existing file is replaced only with --force.",
     "$ tenon pack build acme-text\nacme-text-1.0.0.tenonpack\n", .options = pack_build_options, .operands_min = 1,
     .operands_max = 1, .run = command_pack_build},
    {"pack keygen", "NAME", "generate a pair of keys for signing packs",
     "NAME.key is secret; keep it where packs are built. Give NAME.pub to the users who trust your packs. Prints the\n"
     "line for their tenon.yaml.",
     "$ tenon pack keygen acme\npacks: {trust: [\"…\"]}\n", .operands_min = 1, .operands_max = 1,
     .run = command_pack_keygen},
    {"pack sign", "FILE", "sign a pack", "Writes a signature into FILE. An existing signature is replaced.",
     "$ tenon pack sign acme-text-1.0.0.tenonpack --key acme.key\n", .options = pack_sign_options, .operands_min = 1,
     .operands_max = 1, .run = command_pack_sign},
    {"pack verify", "FILE|oci://HOST[:PORT]/NAME[:TAG|@DIGEST]",
     "check that a pack is complete and signed by a trusted key",
     "Fails if a byte differs, if the pack is unsigned, or if another key signed it.",
     "$ tenon pack verify acme-text-1.0.0.tenonpack --key acme.pub\n", .options = pack_verify_options,
     .operands_min = 1, .operands_max = 1, .run = command_pack_verify},
    {"pack push", "FILE oci://HOST[:PORT]/NAME[:TAG]", "upload a pack to an OCI registry",
     "Checks the pack, uploads it, and prints its reference with the digest. The default tag is the version of the "
     "pack.\n"
     "`packs.registries` in tenon.yaml names the user and the secret with the password; without it, the password that\n"
     "`docker login` has saved is used. Requests are encrypted, except to this machine.",
     "$ tenon pack push acme-text-1.0.0.tenonpack oci://ghcr.io/acme/text\noci://ghcr.io/acme/text@sha256:…\n",
     .options = pack_push_options, .operands_min = 2, .operands_max = 2, .run = command_pack_push},
    {"pack pull", "oci://HOST[:PORT]/NAME[:TAG|@DIGEST]", "download a pack from an OCI registry",
     "Downloads the pack to a file, and prints its reference with the digest. With a digest, exactly this pack is\n"
     "downloaded; a tag may be moved to another one. Every byte is checked, and a wrong signature is refused.",
     "$ tenon pack pull oci://ghcr.io/acme/text:1.0.0\noci://ghcr.io/acme/text@sha256:…\n",
     .options = pack_pull_options, .operands_min = 1, .operands_max = 1, .run = command_pack_pull},
    {"pack install", "[FILE|oci://HOST[:PORT]/NAME[:TAG|@DIGEST]]", "install a pack for this user",
     "Installs the whole pack or nothing. If no key in `packs.trust` has signed the pack, its plugins run in separate\n"
     "processes. If several versions are installed, the newest trusted one is used, or the newest if none is trusted.\n"
     "A pack in an OCI registry is downloaded first, and its reference with the digest is printed. Without an "
     "operand,\n"
     "installs the packs that `packs.install` in tenon.yaml lists.",
     "$ tenon pack install acme-text-1.0.0.tenonpack\n", .options = pack_install_options, .operands_max = 1,
     .run = command_pack_install},
    {"pack list", "", "list installed packs",
     "Shows their folders and signers, and which of their plugins, documents and other files can be used, or why not.",
     "$ tenon pack list\n", .options = connect_json_options, .run = command_pack_list},
    {"pack remove", "NAME [VERSION]", "remove a pack", "Removes all versions, or only VERSION.",
     "$ tenon pack remove acme-text\n", .operands_min = 1, .operands_max = 2, .run = command_pack_remove},

    /* ---- Methods ---- */
    {"call", "METHOD [JSON]", "call a method of the host",
     "Editors, programs and plugins use the same methods. JSON is the parameters, an object: JSON, @FILE, or - for\n"
     "standard input. Prints the result. If the method starts a run, waits for its end, which decides the exit\n"
     "code, as of `tenon run`. If it subscribes to events, prints each as a line of JSON, until there are no more.\n"
     "Ctrl-C cancels the run.",
     "$ tenon call run/start '{\"document\": \"samples/hello/hello.yaml\", \"subscribe\": {}}'\n"
     "{\"run_id\":\"019b2d05-7a22-7f01-8c4e-51b2c7d9e0fa\",\"subscription\":1}\n",
     .options = connect_options, .operands_min = 1, .operands_max = 2, .run = command_call},

    {"key create", "NAME", "create a key for clients of `tenon serve` over HTTP",
     "Prints the key, which is not shown again: the store has only its hash. Clients send it as\n"
     "`Authorization: Bearer KEY`. NAME and OWNER have 1 to 32 characters: a-z, 0-9, `_`, `.` and `-`. Ids of what\n"
     "clients with the key create begin with `@OWNER:`, and they reach only these. Several keys may have one owner, "
     "so\n"
     "a key is replaced by creating another one with the same owner, and revoking the first. A limit that is not\n"
     "given is that of `serve.limits` in tenon.yaml.",
     "$ tenon key create alice --expires 90\ntn_EXAMPLE\n", .options = key_create_options, .operands_min = 1,
     .operands_max = 1, .run = command_key_create},
    {"key list", "", "list the keys of clients over HTTP, without their texts",
     "Shows the name, scope, owner and state of each key, when it was created, and when it expires. Keys that are\n"
     "revoked or expired are listed for 90 days.",
     "$ tenon key list\nalice  run  @alice  active  created 2026-11-26T10:00:00Z  expires 2027-02-24T10:00:00Z\n",
     .options = connect_json_options, .run = command_key_list},
    {"key revoke", "NAME", "revoke a key",
     "Hosts that use the store refuse the key within a second, without a restart.",
     "$ tenon key revoke alice\nalice  run  @alice  revoked  created 2026-11-26T10:00:00Z  revoked "
     "2026-11-26T11:00:00Z\n",
     .options = connect_json_options, .operands_min = 1, .operands_max = 1, .run = command_key_revoke},

    {"serve", "[FILE…]", "offer documents to clients over HTTP, or a host to those of a socket",
     "HTTP: each FILE, and each document in `serve.graphs` of tenon.yaml, is a graph that clients run, by the "
     "protocols\n"
     "of the bundled plugins or of `serve.protocols`. Its name is `agent.name`, or that of the file. Clients send a "
     "key\n"
     "(`tenon key create`); without any key in the store, one is generated and printed. Clients that other machines\n"
     "run need `serve.address`, a key, and `serve.tls` (or `tls: false` behind a proxy).\n"
     "\n"
     "Socket: with --socket, clients call the methods (`tenon reference methods`) and receive events, as JSON-RPC "
     "2.0:\n"
     "one message in each line, or with `Content-Length` headers, as the client begins. The socket serves editors, "
     "too\n"
     "(`tenon lsp`). Plugins can be loaded, upgraded and unloaded meanwhile.\n"
     "\n"
     "The host creates the Tasks of `schedules` in tenon.yaml; a worker handles them. SIGTERM and Ctrl-C end the "
     "host:\n"
     "requests and runs end, the latter after their super-step; those with a thread can be resumed later. SIGHUP "
     "opens\n"
     "the access log again. A service manager is informed by NOTIFY_SOCKET. The exit code is " COMMAND_TEXT_OF(
         COMMAND_INVALID) " if a document\n"
                          "has errors.",
     "$ tenon serve hello.yaml\n"
     "tenon: key tn_EXAMPLE (until this host ends; `tenon key create` makes lasting ones)\n"
     "tenon: http://127.0.0.1:8700 serves hello by openai_server, rest_server\n",
     .options = serve_options, .operands_max = UINT32_MAX, .run = command_serve},
    {"lsp", "", "serve an editor over standard input and output",
     "Speaks the Language Server Protocol 3.18; the methods of the host are requests with `tenon/` before their "
     "names.\n"
     "Ends with the client: after `exit`, at the end of the input, or when the process of the client has ended.\n"
     "Checking a document starts no program, so tools of MCP servers are known only with --tools.\n"
     "\n"
     "With --connect, the editor uses a host that runs, and sees at once what `tenon plugin load`, `upgrade` and "
     "`unload`\n"
     "change in it: the command only copies bytes between the editor and the socket. It ends when one of them ends.",
     "$ tenon lsp\n", .options = lsp_options, .run = command_lsp},
    {"acp", "FILE", "serve a document as an agent inside an editor",
     "Speaks the Agent Client Protocol, version 1, over standard input and output; an editor starts this command. "
     "Each\n"
     "session is a thread of the store, so it can be listed and continued later, also if the process was killed.\n"
     "Approvals and questions of the graph are asked in the editor. The editor's MCP servers are started for its "
     "session;\n"
     "the graph gets their tools, whose names begin with `acp.`, if its agents allow them. The editor has the rights "
     "of\n"
     "the user who starts the command. `tenon doctor` prints the folder with settings for editors.\n"
     "A document with errors ends the command at once, as `tenon run` does.",
     "$ tenon acp assistant.yaml\n", .options = acp_options, .operands_min = 1, .operands_max = 1, .run = command_acp},

    /* ---- The installation ---- */
    {"doctor", "", "show this installation, and report its problems",
     "Shows versions, search paths, the configuration, and plugins that cannot be used and why. Validates the\n"
     "sections of plugins and the models of tenon.yaml against their schemas, looks for the files and programs that\n"
     "it names, and fetches its secrets. Starts no server. The exit code is " COMMAND_TEXT_OF(
         COMMAND_PLUGIN_PROBLEM) " if there is a problem.",
     "$ tenon doctor\n", .options = json_options, .run = command_doctor},
    {"reference", "[TOPIC|NAME]", "print the reference, as Markdown",
     "Topics: commands, diagnostics, adl, expressions, nodes, tools, models, reducers, plugins, events, methods,\n"
     "annotations, errors, findings, config. Or the name of one entry: a node type, tool, provider, reducer, plugin,\n"
     "event, method, annotation, function, key, command or code. If several entries have the name, they are listed;\n"
     "KIND:NAME selects one of them. The reference is generated from the tables that the program uses\n"
     "and the manifests of the plugins that are found.",
     "$ tenon reference llm\n$ tenon reference ADL-E021\n", .options = reference_options, .operands_max = 1,
     .run = command_reference,
     .instead_of_connect =
         "`tenon node show NAME --connect PATH`, `tenon tool show` and `tenon plugin show` describe what "
         "a host that runs has"},
};
const size_t command_count = sizeof commands / sizeof *commands;

/* code, name, meaning */
const struct exit_code exit_codes[] = {
    {COMMAND_OK, "done", "Success. For `check`: no errors were found."},
    {COMMAND_RUN_FAILED, "run failed", "The run or the evaluation failed. For `fmt --check`: a file is not formatted."},
    {COMMAND_USAGE, "usage", "The command line is wrong, or a file that it names cannot be read."},
    {COMMAND_INVALID, "document invalid", "A document has errors."},
    {COMMAND_PLUGIN_PROBLEM, "plugin problem", "A plugin, the configuration or the store cannot be used."},
    {COMMAND_WAITING, "waiting for an answer", "The run was interrupted and waits for an answer."},
    {COMMAND_CANCELLED, "cancelled by Ctrl-C", "The run was cancelled, by Ctrl-C or SIGTERM."},
};
const size_t exit_code_count = sizeof exit_codes / sizeof *exit_codes;

/* name, meaning */
const struct environment_variable environment_variables[] = {
    {"TENON_PLUGIN_PATH", "Folders to search for plugins, separated by colons."},
    {"TENON_HTTP_RECORD", "The folder for `--record`, if neither `--record` nor `--replay` is given."},
    {"TENON_HTTP_REPLAY", "The folder for `--replay`, if neither `--record` nor `--replay` is given."},
    {"TENON_PROGRAM", "The program that runs isolated plugins (default: this one)."},
    {"TENON_DUMPABLE",
     "If `1`: a debugger can attach to the process, and it can leave a core file, although it holds secrets."},
    {"TENON_MANIFEST_CACHE", "If `off`: the manifest of each plugin is read at each start, and not saved."},
    {"XDG_CACHE_HOME",
     "The folder that contains `tenon/manifests`: what the manifests of plugin files said when they were read last "
     "(default: `~/.cache`)."},
    {"XDG_CONFIG_HOME",
     "The folder that contains `tenon/tenon.yaml`, the user's configuration (default: `~/.config`)."},
    {"XDG_DATA_HOME",
     "The folder that contains the user's `tenon/plugins` and `tenon/packs` (default: `~/.local/share`)."},
    {"XDG_STATE_HOME",
     "The folder that contains `tenon/deaths`: how often the processes of isolated plugins have ended, and "
     "`tenon/chat_history`: the lines typed in `tenon chat`; `tenon/chat`: the images and audio of answers in it and "
     "in `tenon model test` (default: `~/.local/state`)."},
    {"DOCKER_CONFIG",
     "The folder of the `config.json` in which `docker login` saves passwords for registries (default: `~/.docker`)."},
    {"NOTIFY_SOCKET", "Where `tenon serve` reports to systemd that it is ready, and that it ends."},
    {"HOME", "The folder that `~/` in tenon.yaml stands for."},
    {"PATH", "Where to look up programs that tenon.yaml names without a folder, for example an MCP server."},
    {"TMPDIR", "Where `tenon plugin check` creates the stores that it tests, and `/edit` in `tenon chat` its file "
               "(default: `/tmp`)."},
    {"TZDIR", "The folder of the time zones for expressions (default: `/usr/share/zoneinfo`)."},
    {"NO_COLOR", "If set to any value: no colours, unless `--color always` is given."},
    {"TERM", "If `dumb` or not set: no colours. It also tells how `tenon chat --images auto` shows images."},
    {"TERM_PROGRAM", "As `TERM` for images; so does `KITTY_WINDOW_ID`."},
    {"KITTY_WINDOW_ID", "If set, `tenon chat --images auto` shows images by the protocol of kitty."},
    {"TMUX", "If set, or `STY`: the terminal is inside tmux or screen, which do not pass on images."},
    {"STY", "As `TMUX`, of screen."},
    {"VISUAL", "The editor that `/edit` in `tenon chat` starts."},
    {"EDITOR", "The same, if `VISUAL` is not set."},
};
const size_t environment_variable_count = sizeof environment_variables / sizeof *environment_variables;
