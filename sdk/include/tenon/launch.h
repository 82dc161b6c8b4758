/*
 * tenon/launch.h - draft: what a plugin needs to start a program: its path, arguments and environment.
 *
 * A program gets HOME, PATH, LANG, TERM, USER, SHELL and TMPDIR of the host's environment, and beyond that only what
 * the request names. On request it starts in a sandbox, with the effects that the request names: the arguments are then
 * those of a launcher, which enters the sandbox and executes the program. The plugin starts the process itself, for
 * example with posix_spawn. See isolation.md for effects and the sandbox.
 */
#ifndef TENON_LAUNCH_H
#define TENON_LAUNCH_H

#include <tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In a sandbox, this descriptor of the new process receives log lines: a digit (TN_LOG_…), a text, a line feed. */
#define TN_LAUNCH_LOG 3

#define TN_LAUNCH_DRAFT "tenon.launch/1-draft.2"
/* From the host. Everything is [loop]. */
typedef struct tn_launch_draft {
    uint64_t size;
    /*
     * `request` is {command: [string], env?: {NAME: TEXT}, inherit_env?: [NAME], sandbox?: {effects?: [string],
     * files?: [path]}}. TEXT is a string or {secret: NAME}. The variables of `inherit_env` that are set are copied
     * from the host's environment. `files` can be read. Effects `secret:NAME` put the secret NAME into the
     * environment, unless tenon.yaml restricts it to hosts. The manifest of the plugin declares each secret. *result
     * is {program: path, arguments: [string], environment: ["NAME=value"], sandboxed: bool}: open TN_LAUNCH_LOG if
     * `sandboxed` is true. A plugin that is isolated already starts programs in its own sandbox: `sandboxed` is false,
     * and {secret: NAME} is not available. Errors: NOT_FOUND (no such program), SECRET_NOT_FOUND, PERMISSION_DENIED,
     * INVALID_INPUT, PLUGIN_REFUSED (no launcher). The call can block while a secret is fetched.
     */
    int32_t TN_FN(prepare)(const tn_host *host, tn_value request, tn_value *result, tn_value *error);
} tn_launch_draft;

#ifdef __cplusplus
}
#endif
#endif
