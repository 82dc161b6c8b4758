/*
 * config.h - tenon.yaml: what the operator decides: where plugins are, what each is told, which models roles mean.
 *
 *     plugins:
 *       path: [./plugins]                     # from the file's own folder
 *       config: {acme.search: {endpoint: "https://…", key: {secret: ACME_KEY}}}
 *       isolation: {acme.search: process}     # in a process of its own; "*" is all but the bundled ones
 *     packs:
 *       trust: [~/keys/acme.pub]              # whose signature makes a pack trusted; or the key itself, in base64
 *     models: {planner: "openai:gpt-4o", default: {provider: scripted}}
 *     secrets: {ACME_KEY: {file: ~/.acme}}    # {env: NAME}, {file: PATH}, {command: [pass, show, acme]}; and `hosts`
 *     http: {use: http}
 *     store: {use: sqlite, path: ./state/tenon.db}
 *     limits: {concurrency: 64, workers: 16}
 *     tools: {approval: {"effect:destructive": ask, shell.run: deny}, audit: ./audit.jsonl}
 *     log: info
 *
 * The project's file is searched upwards from the working directory; the user's ($XDG_CONFIG_HOME/tenon/tenon.yaml) is
 * read as well, and the project's keys win, each by itself. Unknown keys are errors at their position. A secret is only
 * ever a reference in here: its text is fetched when a plugin is initialised, or a request over HTTP needs it, and not
 * kept here (http/secrets.h does).
 *
 *     struct config *config;
 *     if (config_load(NULL, &config, &error) != TN_OK) return report(&error);
 *     tn_value binding = config_model(config, "planner");
 *     config_free(config);
 */
#ifndef TENON_HOST_CONFIG_H
#define TENON_HOST_CONFIG_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config;
struct diagnostics;

/* The keys of `limits`: name, least, most, documentation. */
#define CONFIG_LIMITS(LIMIT)                                                                                           \
    LIMIT(concurrency, 1, 1000000, "Tasks of one run at once.")                                                        \
    LIMIT(workers, 1, 256, "Threads for components that block.")                                                       \
    LIMIT(recursion_limit, 1, 10000000, "Super-steps of one run.")                                                     \
    LIMIT(thread_days, 0, 36500, "Days that a thread which is done stays: what `tenon thread gc` goes by.")            \
    LIMIT(interrupt_hours, 1, 876000, "Hours that a thread waits for an answer; a later one is refused.")

/* A row of keys.def. */
struct config_key {
    const char *section; /* what it is a key of: "plugins"; "" of the file itself */
    const char *name, *form, *example, *documentation;
};
size_t config_key_count(void);
const struct config_key *config_key_at(size_t index);

#define CONFIG_FILE_MAX    (1u << 20)  /* bytes of a tenon.yaml */
#define CONFIG_SECRET_MAX  (64u << 10) /* bytes of a secret's text */
#define CONFIG_SECRET_MS   60000       /* for a command that prints one, or a pipe, to come to an end */
#define CONFIG_PATHS_MAX   100u        /* entries of plugins.path */
#define CONFIG_PARENTS_MAX 64u         /* folders searched upwards */
#define CONFIG_TRUST_MAX   1000u       /* entries of packs.trust */
#define CONFIG_HOSTS_MAX   100u        /* hosts of a secret */
#define CONFIG_KEY_TEXT    45          /* bytes of a public key's text, with the NUL */

struct config *config_empty(void);
/*
 * Reads `file` (NULL: the project's, searched from `directory`, NULL being the working directory) and the user's. No
 * file at all is an empty configuration; `file` that cannot be read is TN_NOT_FOUND. Faults in a file: TN_INVALID, code
 * INVALID_CONFIG, with the first one's file, line and column, and how many there are.
 */
int32_t config_load(const char *file, struct config **out, struct error *error);
int32_t config_load_from(const char *file, const char *directory, struct config **out, struct error *error);
/* One text as a file called `name` would be; faults go to `found`, the rest is kept. [any thread] */
struct config *config_read(const char *name, const char *text, size_t length, struct diagnostics *found);
void config_free(struct config *config); /* NULL is allowed */

/* Everything below is borrowed from the configuration; a NULL config is an empty one. */
const char *config_file(const struct config *config);    /* the project's file; NULL where none */
size_t config_plugin_paths(const struct config *config); /* absolute, or as the folder was given */
const char *config_plugin_path(const struct config *config, size_t index);
tn_value config_plugin(const struct config *config,
                       const char *plugin_id); /* its section, secrets unresolved; or NULL */
/* The folder of the file that has the section; NULL where none. */
const char *config_plugin_folder(const struct config *config, const char *plugin_id);
/* Whether it is to run in a process of its own; "*" means all that did not come with the host. */
bool config_isolated(const struct config *config, const char *plugin_id, bool bundled);
/* Whether it is named, by its very id, as one to run in this process: what an untrusted pack's needs. */
bool config_unisolated(const struct config *config, const char *plugin_id);
tn_value config_isolation(const struct config *config); /* {id or "*": "process" | "none"}; borrowed, may be NULL */
tn_value config_plugin_sections(const struct config *config);         /* {id: section}; borrowed, may be NULL */
tn_value config_store(const struct config *config);                   /* {use, path, …}, the path absolute; or NULL */
tn_value config_http(const struct config *config);                    /* {use}; or NULL */
tn_value config_model(const struct config *config, const char *role); /* a role's binding, or NULL */
tn_value config_models(const struct config *config);                  /* {role: binding}; borrowed, may be NULL */
/* --model: a role's binding from now on, whatever a file says. */
void config_bind_model_take(struct config *config, const char *role, tn_value binding);
/* What models cost per million tokens, {pattern: {input, output, cached?, cache_write?}}; borrowed, may be NULL. */
tn_value config_prices(const struct config *config);
/* Whether tools may be used, {pattern or "effect:PATTERN": "auto" | "ask" | "deny"}; borrowed, NULL: nothing is said.
 */
tn_value config_tool_approval(const struct config *config);
const char *config_tool_audit(const struct config *config); /* the file that uses of tools are noted in; NULL: none */
bool config_tool_flag(const struct config *config, const char *key); /* "audit_arguments", "audit_required" */
int64_t config_limit(const struct config *config, const char *name, int64_t otherwise);
int32_t config_log_level(const struct config *config); /* TN_LOG_…; TN_LOG_WARN where nothing is said */

/* Whether `text` is a public key as we write it: 32 bytes in base64. */
bool config_is_key(const char *text);
/* The key in a .pub file, which is one line. NOT_FOUND (IO), or INVALID_CONFIG where it has anything else. */
int32_t config_read_key(const char *path, char key[CONFIG_KEY_TEXT], struct error *error);
/*
 * Whether packs that this key has signed are trusted. A file of `packs.trust` that cannot be used trusts nobody; the
 * first one is *error, and the return value is of the others.
 */
bool config_trusts(const struct config *config, const char *key, struct error *error);

/*
 * A secret's text, a new reference: by its row under `secrets`, else the environment variable of that name. Fails with
 * SECRET_NOT_FOUND; no message ever has the text. A command is waited for, and what is no
 * regular file: CONFIG_SECRET_MS at most, and until `stop`, a descriptor, can be read; -1: none. [any]
 */
int32_t config_secret(const struct config *config, const char *name, int stop, tn_value *out, struct error *error);
bool config_secret_waits(const struct config *config, const char *name); /* it may take its time */
/* Nothing says where it is but an environment variable, and there is none: whoever can do without it does. */
bool config_secret_absent(const struct config *config, const char *name);
/* Where it may be sent to: an array of "host", "host:port" and "*.domain"; NULL where nothing is said. Borrowed. */
tn_value config_secret_hosts(const struct config *config, const char *name);
/*
 * `value` with every {secret: NAME} in it replaced by its text; a new reference. Where one cannot be had the others are
 * looked for all the same: the status is not TN_OK, *error is of the first, and *out has those that are missing as they
 * were.
 */
int32_t config_reveal(const struct config *config, tn_value value, tn_value *out, struct error *error);

#endif
