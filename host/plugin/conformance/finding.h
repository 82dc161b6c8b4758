/*
 * finding.h - the findings of `tenon plugin check`: code, severity, and what to do. `tenon reference findings` prints
 * the table. For each row, tests/e2e/exercise.sh needs a plugin with that defect.
 *
 * The severity is that of most findings of the code: ERROR means that a host refuses the plugin or that it breaks the
 * contract; WARNING, that users will notice; NOTE, that nothing is wrong. A code never changes its meaning.
 */
#ifndef TENON_HOST_PLUGIN_CONFORMANCE_FINDING_H
#define TENON_HOST_PLUGIN_CONFORMANCE_FINDING_H

#include <stddef.h>

enum conformance_severity { CONFORMANCE_NOTE, CONFORMANCE_WARNING, CONFORMANCE_ERROR };

/* FINDING(code, severity, what it means and what to do) */
#define FINDINGS(FINDING)                                                                                              \
    /* The file */                                                                                                     \
    FINDING(ELF, ERROR,                                                                                                \
            "The file is neither a shared object that can be read nor a program with a manifest beside it. Build a "   \
            "shared object, or put the manifest of the program `acme` into `acme.tenon.json`.")                        \
    FINDING(EXTRA_SYMBOL, ERROR,                                                                                       \
            "The shared object exports a symbol besides `tn_plugin_entry_1`, which can collide with a symbol of "      \
            "another plugin. Link it with `tenon_add_plugin()` or with `tenon-plugin.map`.")                           \
    FINDING(ENTRY_MISSING, ERROR,                                                                                      \
            "The shared object does not export `tn_plugin_entry_1`, so it cannot be loaded. Declare the function "     \
            "with `TN_EXPORT`, or use `TN_PLUGIN` of `<tenon/easy.h>`.")                                               \
    FINDING(UNIQUE_SYMBOL, ERROR,                                                                                      \
            "A symbol is unique in the process (STB_GNU_UNIQUE), so two versions of the plugin would share it. Build " \
            "with `-fno-gnu-unique`.")                                                                                 \
    FINDING(HOST_SYMBOL, ERROR,                                                                                        \
            "The shared object imports a symbol of the host, which later hosts may not have. Get an interface from "   \
            "`tn_host.get` instead.")                                                                                  \
    FINDING(HOST_LIBRARY, ERROR,                                                                                       \
            "The shared object is linked with a library of Tenon. A plugin needs only the headers: remove the "        \
            "library from the link command.")                                                                          \
    /* The manifest */                                                                                                 \
    FINDING(MANIFEST_MISSING, ERROR,                                                                                   \
            "The file has no notes of owner Tenon, and there is no manifest beside it, so hosts do not see a plugin. " \
            "Declare it with `TN_PLUGIN` and `TN_NOTE`.")                                                              \
    FINDING(MANIFEST_INVALID, ERROR,                                                                                   \
            "A member of the manifest is wrong, or an example does not match its schema. The message names the "       \
            "component and the member. `tenon schema manifest` prints the schema.")                                    \
    FINDING(NAME_RESERVED, ERROR,                                                                                      \
            "The plugin uses a name that only bundled plugins may have: an id `tenon.*`, or a component without a "    \
            "dot. Choose a name such as `acme.text`.")                                                                 \
    FINDING(DOCUMENTATION_MISSING, WARNING,                                                                            \
            "A component has no `documentation`. Editors and `tenon reference` show it to authors of documents, and "  \
            "models read that of tools.")                                                                              \
    FINDING(FIELD_UNDOCUMENTED, WARNING,                                                                               \
            "A field of a configuration or of a tool's arguments has no `description`. Add one.")                      \
    FINDING(EFFECTS_MISSING, WARNING,                                                                                  \
            "A component declares no effects, so the host assumes all of them, and never caches or retries it. "       \
            "Declare `effects`, which is `[]` for a pure component.")                                                  \
    FINDING(EFFECT_UNKNOWN, WARNING,                                                                                   \
            "An effect is similar to one that hosts know, and probably misspelled. Use the known name.")               \
    FINDING(                                                                                                           \
        NOTHING_OFFERED, WARNING,                                                                                      \
        "The plugin has no components and no routes, provides no interface and is not dynamic, so nothing can use "    \
        "it. Declare what it offers.")                                                                                 \
    FINDING(LICENCE_MISSING, NOTE, "The manifest has no `licence`. Users need one to be allowed to use the plugin.")   \
    FINDING(DRAFT, WARNING,                                                                                            \
            "The plugin uses a draft interface that is not allowed here, so it gets NULL at run time. Allow it with "  \
            "`plugins: {drafts: [PLUGIN_ID]}` in tenon.yaml, tell users to do so, or use a released interface. A "     \
            "note with this code names a draft that is allowed here, but not necessarily by other users. As an "       \
            "error: the plugin provides the draft, so hosts refuse it until it is allowed.")                           \
    FINDING(                                                                                                           \
        INTERFACE_UNDECLARED, WARNING,                                                                                 \
        "The plugin requests an interface that is neither in `requires` nor in `optional` of its manifest. A host "    \
        "without it then loads the plugin instead of refusing it. Add it to `requires`, or to `optional` if the "      \
        "plugin works without it.")                                                                                    \
    /* Loading */                                                                                                      \
    FINDING(LOAD_REFUSED, ERROR,                                                                                       \
            "The host refuses to load the plugin or a component, or the plugin refused. The message has the reason. "  \
            "As a note: the plugin refused because an optional interface was hidden, which it may.")                   \
    FINDING(COMPONENT_MISSING, ERROR,                                                                                  \
            "The manifest declares a component that the code does not have. Declare only what the code has, with the " \
            "same id: `TN_COMPONENT` of `<tenon/easy.h>` needs a `TN_NOTE` of the same id.")                           \
    FINDING(OFFERS_ANYTHING, ERROR,                                                                                    \
            "`get` of the plugin returns an interface for an id that does not exist. Return NULL for every id that "   \
            "it does not know.")                                                                                       \
    FINDING(UNLOAD_REFUSED, ERROR,                                                                                     \
            "The plugin cannot be unloaded, because something that it started when it was loaded has not ended. End "  \
            "it in `quiesce` or `deinit`.")                                                                            \
    FINDING(CHECK, ERROR,                                                                                              \
            "The check itself could not run, for example because this system starts no more processes. The plugin "    \
            "may be correct.")                                                                                         \
    /* Use */                                                                                                          \
    FINDING(CRASHED, ERROR,                                                                                            \
            "The process ended while the plugin did what the message names last. Run the same check under a "          \
            "debugger; the seed repeats it.")                                                                          \
    FINDING(HUNG, ERROR,                                                                                               \
            "A function of the plugin did not return in time. `create`, `start` of an async component, `init` and "    \
            "`deinit` must return at once; a component that waits has the style `blocking`.")                          \
    FINDING(STDOUT, WARNING,                                                                                           \
            "The plugin wrote to standard output, which is for the results of a command. Use `tn_core_1.log`, or "     \
            "standard error.")                                                                                         \
    FINDING(CONFIG_REFUSED, WARNING,                                                                                   \
            "`create` refuses everything that the schema of `config` allows, or nothing fits the schema; so the "      \
            "component was not used. Make the schema as strict as `create`, or add an example to the manifest.")       \
    FINDING(EXAMPLE_REFUSED, ERROR,                                                                                    \
            "`create` refuses the configuration of an example of the manifest. Correct the one or the other.")         \
    FINDING(EXAMPLE_FAILED, ERROR,                                                                                     \
            "The output of an example of the manifest is not the documented one. Correct the one or the other.")       \
    FINDING(CONTRACT, ERROR,                                                                                           \
            "The plugin broke a rule of the contract, for example it ended a task twice, or `start`, `cancel` or "     \
            "`ready` of an async component used more than 5 ms of CPU time repeatedly, or 50 ms once, or waited for "  \
            "more than 200 ms. The message names the call and the rule; `tenon.h` has the rules.")                     \
    FINDING(SHAPE, ERROR,                                                                                              \
            "An output, a chunk or an error of a component does not have the shape of its kind, or the manifest's "    \
            "`output` does not allow the output. `tenon schema node` (or the other kind) prints the shape.")           \
    FINDING(LEAK, ERROR,                                                                                               \
            "Memory or values remain after each instance, each task, each cancelled task or each failed allocation, "  \
            "or after `deinit`. Release in `destroy` what `create` took, before the end of a task what `start` took, " \
            "and in `deinit` what `init` took.")                                                                       \
    FINDING(GROWS, WARNING,                                                                                            \
            "The memory of a program grows with each instance or task. It was measured from outside, so it may be a "  \
            "garbage collector that has not run yet.")                                                                 \
    FINDING(DEAF, WARNING,                                                                                             \
            "A task, or the call of `start` that ran it, continues for seconds after it was cancelled or has ended. "  \
            "Call `tn_task_1.cancelled` regularly, or end the task in `cancel`.")                                      \
    FINDING(                                                                                                           \
        IMPURE, ERROR,                                                                                                 \
        "A component declares no effects, so that it may be cached and replayed, but returns two outputs for one "     \
        "input. Declare the effect, for example `random` or `clock`, or make the output depend on the input only.")    \
    FINDING(NOT_THREAD_SAFE, ERROR,                                                                                    \
            "The outcome of a task changes when other tasks run at the same time. Keep the state of a task in the "    \
            "instance or on the stack, not in variables of the file.")                                                 \
    FINDING(DIFFERS, ERROR,                                                                                            \
            "The outcome of a task changes when the plugin is isolated in a process. It uses something that the "      \
            "contract does not offer, such as the host's environment or files. Declare the effect, or do without.")    \
    FINDING(NOT_COMPARED, NOTE, "The plugin cannot be isolated, so its outcomes were not compared with that.")         \
    FINDING(NOT_TRIED, NOTE,                                                                                           \
            "The time was up before everything was tried. Use a longer `--timeout`, or make the component faster.")    \
    FINDING(STORE, ERROR,                                                                                              \
            "A store answers a case of `share/tenon/store/conformance` wrongly, loses records when its process is "    \
            "killed, "                                                                                                 \
            "or does not see the commits of another process. The message has the case. `<tenon/store/backend.h>` has " \
            "tested parts for stores.")                                                                                \
    FINDING(STORE_LENIENT, WARNING,                                                                                    \
            "A store accepts a request of `share/tenon/store/conformance/wrong.txt`, or refuses it with another code " \
            "or detail. Tenon sends no such requests, but a mistake in a later one would not be noticed.")             \
    FINDING(STORE_WITHOUT_FILES, NOTE,                                                                                 \
            "A store keeps nothing at its path, so it was not killed while it writes, and not used by two processes.") \
    FINDING(PROGRAM, NOTE, "The plugin is a program. The message lists what could not be checked from outside.")

#define FINDING_CODE(code, severity, meaning) FINDING_##code,
enum finding { FINDINGS(FINDING_CODE) FINDING_COUNT };
#undef FINDING_CODE

struct finding_info {
    const char *code; /* "EXTRA_SYMBOL" */
    enum conformance_severity severity;
    const char *meaning;
};

const struct finding_info *finding_info(enum finding finding);
const struct finding_info *finding_find(const char *code);                 /* NULL if there is no such code */
const char *conformance_severity_name(enum conformance_severity severity); /* "note", "warning", "error" */

#endif
