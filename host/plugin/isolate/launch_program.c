/*
 * launch_program.c - builds the environment of a program from the little that every program gets and what its request
 * names, and puts the launcher before its command if it must run in a sandbox.
 *
 * A program without a slash in its name is looked up in PATH. In a sandbox only the folders of the system can be
 * executed, so they are PATH there, and they come first in the search: a program of the same name in a folder of the
 * user, such as a version manager's, would not work.
 */
#include "host/plugin/isolate/launch_program.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/base/config/config.h"
#include "host/base/environment.h"
#include "host/base/log.h"
#include "host/base/loop.h"
#include "host/base/secrets/secrets.h"
#include "host/plugin/abi/abi_builder.h"
#include "host/plugin/isolate/launch.h"
#include "host/plugin/isolate/remote.h"
#include "host/plugin/registry/plugin.h"
#include "host/plugin/registry/registry.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Checking a request ---- */

static bool is_text_list(tn_value list) {
    if (!list) return true;
    bool good = value_is(list, TN_ARRAY) && value_count(list) <= LAUNCH_WORDS_MAX;
    for (size_t i = 0; good && i < value_count(list); i++) {
        size_t length;
        tn_value text = value_at(list, i);
        good = value_is(text, TN_STRING) && strlen(value_chars(text, &length)) == length;
    }
    return good;
}

static bool is_mapping_or_absent(tn_value value) { return !value || value_is(value, TN_OBJECT); }

static int32_t request_check(tn_value request, struct error *error) {
    tn_value command = value_get(request, "command"), sandbox = value_get(request, "sandbox");
    const char *bad = NULL;
    if (!command || !is_text_list(command) || !value_count(command)) bad = "command";
    if (!is_mapping_or_absent(value_get(request, "env"))) bad = "env";
    if (!is_text_list(value_get(request, "inherit_env"))) bad = "inherit_env";
    if (!is_mapping_or_absent(sandbox)) bad = "sandbox";
    if (!bad && (!is_text_list(value_get(sandbox, "effects")) || !is_text_list(value_get(sandbox, "files"))))
        bad = "sandbox";
    if (!bad) return TN_OK;
    return error_set(error, TN_INVALID, "INVALID_INPUT", "`%s` of a program to start has the wrong form", bad);
}

/* ---- Environment ---- */

/* Sets a variable of `environment`, an object. A text that contains a NUL, or is not UTF-8, is left out. */
static void environment_put_take(tn_value *environment, const char *name, tn_value text) {
    size_t length = 0;
    if (value_is(text, TN_STRING) && strlen(value_chars(text, &length)) == length)
        *environment = value_set_take(*environment, name, text);
    else
        value_unref(text);
}

static void put_inherited(tn_value *environment, const char *name) {
    tn_value text = environment_peek(name);
    if (text) environment_put_take(environment, name, text);
}

/*
 * A variable that the operator names can be a secret; then the program's results must not contain it. An isolated
 * plugin has not the host's variables: it could name any of them.
 */
static void put_named(const struct remote_services *host, tn_value *environment, const char *name) {
    put_inherited(environment, name);
    if (!host && !value_get(*environment, name))
        log_write(LOG_WARN, NULL,
                  "a program does not get the variable `%s`: `inherit_env` passes on nothing of the host's environment "
                  "if the plugin is isolated; set it with `env`",
                  name);
    tn_value text = host && environment_is_secret(name) ? value_get(*environment, name) : NULL;
    if (!text) return;
    tn_value reference = value_set_take(value_object_reserve(1), "secret", value_text(name));
    secrets_learn(host->secrets, reference, text);
    value_unref(reference);
}

tn_value launch_basic_environment(bool sandboxed) {
    tn_value environment = value_object();
    for (const char *const *name = environment_basic; *name; name++) put_inherited(&environment, *name);
    if (sandboxed || !value_get(environment, "PATH"))
        environment = value_set_take(environment, "PATH", value_text(LAUNCH_PATH));
    return environment;
}

static int32_t put_secret(const struct remote_services *host, const char *variable, const char *name,
                          tn_value *environment, struct error *error) {
    tn_value text = NULL;
    if (!host)
        return error_set(error, TN_NOT_FOUND, "SECRET_NOT_FOUND",
                         "the secret `%s` is not available in an isolated plugin", name);
    int32_t status = secrets_get(host->secrets, name, loop_now_ms(host->loop), &text, error);
    if (status == TN_OK) environment_put_take(environment, variable, text);
    return status;
}

/* Adds the secrets that effects name. One that tenon.yaml restricts to hosts is sent only by the host. */
static int32_t put_effects(const struct remote_services *host, tn_value effects, tn_value *environment,
                           struct error *error) {
    int32_t status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < value_count(effects); i++) {
        const char *effect = value_chars(value_at(effects, i), NULL);
        if (strncmp(effect, "secret:", 7) != 0) continue;
        if (!host)
            put_inherited(environment, effect + 7); /* if the plugin has the secret, so has its program */
        else if (!config_secret_hosts(host->config, effect + 7))
            status = put_secret(host, effect + 7, effect + 7, environment, error);
    }
    return status;
}

static int32_t put_configured(const struct remote_services *host, tn_value env, tn_value *environment,
                              struct error *error) {
    int32_t status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < value_count(env); i++) {
        const char *variable = value_chars(value_key_at(env, i), NULL);
        tn_value text = value_value_at(env, i), name = value_get(text, "secret");
        if (value_is(text, TN_STRING))
            environment_put_take(environment, variable, value_ref(text));
        else if (value_is(name, TN_STRING))
            status = put_secret(host, variable, value_chars(name, NULL), environment, error);
        else
            status = error_set(error, TN_INVALID, "INVALID_INPUT", "`env.%s`: expected a string or {secret: NAME}",
                               variable);
    }
    return status;
}

static int32_t request_environment(const struct remote_services *host, tn_value request, bool sandboxed, tn_value *out,
                                   struct error *error) {
    tn_value environment = launch_basic_environment(sandboxed), inherited = value_get(request, "inherit_env");
    int32_t status = put_effects(host, value_get(value_get(request, "sandbox"), "effects"), &environment, error);
    for (size_t i = 0; i < value_count(inherited); i++)
        put_named(host, &environment, value_chars(value_at(inherited, i), NULL));
    if (status == TN_OK) status = put_configured(host, value_get(request, "env"), &environment, error);
    tn_value list = value_array();
    for (size_t i = 0; i < value_count(environment); i++)
        list = value_push_take(list, value_format("%s=%s", value_chars(value_key_at(environment, i), NULL),
                                                  value_chars(value_value_at(environment, i), NULL)));
    value_unref(environment);
    if (status == TN_OK)
        *out = list;
    else
        value_unref(list);
    return status;
}

/* ---- Program ---- */

static bool is_executable(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* Looks up `name` in the folders of `list`. An empty folder is the current one. */
static bool find_in_path(const char *name, const char *list, char path[PATH_MAX]) {
    while (list) {
        size_t length = strcspn(list, ":");
        int written = snprintf(path, PATH_MAX, "%.*s%s%s", (int)length, list, length ? "/" : "./", name);
        if (written > 0 && written < PATH_MAX && is_executable(path)) return true;
        list = list[length] ? list + length + 1 : NULL;
    }
    return false;
}

static int32_t find_program(const char *name, bool sandboxed, char path[PATH_MAX], struct error *error) {
    const char *list = getenv("PATH");
    if (strchr(name, '/')) {
        snprintf(path, PATH_MAX, "%s", name);
        if (access(path, F_OK) == 0) return TN_OK; /* executing it reports what is wrong with it */
    } else if (*name) {
        if (sandboxed && find_in_path(name, LAUNCH_PATH, path)) return TN_OK;
        if (find_in_path(name, list && *list ? list : LAUNCH_PATH, path)) return TN_OK;
    }
    return error_set(error, TN_NOT_FOUND, "NOT_FOUND", "the program `%s` does not exist%s", name,
                     strchr(name, '/') ? "" : " in PATH");
}

static void push_text(tn_value *list, const char *text) { *list = value_push_take(*list, value_text(text)); }

static void push_options(tn_value *list, const char *option, tn_value values) {
    for (size_t i = 0; i < value_count(values); i++) {
        push_text(list, option);
        *list = value_push_take(*list, value_ref(value_at(values, i)));
    }
}

/* The launcher's command: `tenon plugin launch [--effect E]… [--file F]… -- PROGRAM WORD…`. */
static int32_t launcher_arguments(tn_value request, const char *path, tn_value *program, tn_value *arguments,
                                  struct error *error) {
    tn_value command = value_get(request, "command"), sandbox = value_get(request, "sandbox"), list = value_array();
    char *launcher = launch_find_program(error);
    if (!launcher) {
        value_unref(list);
        return TN_NOT_FOUND;
    }
    push_text(&list, "tenon");
    push_text(&list, "plugin");
    push_text(&list, "launch");
    push_options(&list, "--effect", value_get(sandbox, "effects"));
    push_options(&list, "--file", value_get(sandbox, "files"));
    push_text(&list, "--");
    list = value_push_take(list, value_string_lossy(path, strlen(path)));
    for (size_t i = 0; i < value_count(command); i++) list = value_push_take(list, value_ref(value_at(command, i)));
    *program = value_string_lossy(launcher, strlen(launcher));
    *arguments = list;
    mem_free(launcher);
    return TN_OK;
}

int32_t launch_program(const struct remote_services *host, tn_value request, tn_value *result, struct error *error) {
    char path[PATH_MAX];
    int32_t status = request_check(request, error);
    if (status != TN_OK) return status;
    bool sandboxed = host && value_get(request, "sandbox");
    tn_value command = value_get(request, "command"), program = NULL, arguments = NULL, environment = NULL;
    status = find_program(value_chars(value_at(command, 0), NULL), sandboxed || !host, path, error);
    if (status == TN_OK) status = request_environment(host, request, sandboxed || !host, &environment, error);
    if (status == TN_OK && sandboxed) {
        status = launcher_arguments(request, path, &program, &arguments, error);
    } else if (status == TN_OK) {
        program = value_string_lossy(path, strlen(path));
        arguments = value_ref(command);
    }
    if (status != TN_OK) {
        value_unref(environment);
        return status;
    }
    *result = value_set_take(value_object_reserve(4), "program", program);
    *result = value_set_take(*result, "arguments", arguments);
    *result = value_set_take(*result, "environment", environment);
    *result = value_set_take(*result, "sandboxed", value_bool(sandboxed));
    return TN_OK;
}

/* A plugin passes on only secrets that it may use itself. */
static int32_t check_secret(const struct plugin *plugin, const char *name, struct error *error) {
    if (plugin_may_use_secret(plugin, name)) return TN_OK;
    return error_set(error, TN_INVALID, "PERMISSION_DENIED",
                     "plugin `%s` passes the secret `%s` to a program, which its manifest does not declare; add "
                     "\"secret:%s\" to the `effects` of the component that needs it",
                     plugin_id(plugin), name, name);
}

static int32_t check_secrets(const struct plugin *plugin, tn_value request, struct error *error) {
    tn_value env = value_get(request, "env"), effects = value_get(value_get(request, "sandbox"), "effects");
    int32_t status = request_check(request, error);
    for (size_t i = 0; status == TN_OK && i < value_count(env); i++) {
        tn_value name = value_get(value_value_at(env, i), "secret");
        if (value_is(name, TN_STRING)) status = check_secret(plugin, value_chars(name, NULL), error);
    }
    for (size_t i = 0; status == TN_OK && i < value_count(effects); i++) {
        const char *effect = value_chars(value_at(effects, i), NULL);
        if (strncmp(effect, "secret:", 7) == 0) status = check_secret(plugin, effect + 7, error);
    }
    return status;
}

static int32_t launch_prepare(const tn_host *self, tn_value request, tn_value *result, tn_value *why) {
    struct plugin *plugin = plugin_of(self);
    struct registry *registry = plugin ? plugin_registry(plugin) : NULL;
    struct loop *loop = registry ? registry_loop(registry) : NULL;
    if (!loop || !request || !result) return TN_INVALID;
    if (!loop_here(loop)) return TN_WRONG_THREAD;
    struct error error = ERROR_INIT;
    int32_t status = check_secrets(plugin, request, &error);
    if (status == TN_OK) status = launch_program(registry_owner(registry, TN_LAUNCH_DRAFT), request, result, &error);
    if (status != TN_OK) status = abi_give_error(&error, why);
    error_finish(&error);
    return status;
}

const tn_launch_draft interface_launch = {.size = sizeof(tn_launch_draft), .prepare = launch_prepare};
