/*
 * config.h - the operator's configuration (tenon.yaml): where plugins are, how they are configured, which models the
 * roles are bound to.
 *
 *     plugins:
 *       path: [./plugins]                     # relative to the folder of this file
 *       config: {acme.search: {endpoint: "https://…", key: {secret: ACME_KEY}}}
 *       isolation: {acme.search: process}     # in a separate process; "*" means all except the bundled
 *       drafts: [acme.search]                 # plugins that may use draft interfaces
 *       admin: [acme.installer]               # plugins that may call methods that change the host
 *       processes: {acme.search: 4}           # at most so many for its blocking components; "*" means all others
 *     packs:
 *       trust: [~/keys/acme.pub]              # packs with these signatures are trusted; or a public key
 *       registries: {ghcr.io: {user: jane, password: {secret: GHCR_TOKEN}}}
 *     models: {planner: "openai:gpt-4o", default: {provider: scripted}}
 *     providers: {lab: {provider: openai, base_url: "https://lab.example/v1"}}   # names of more providers
 *     model_calls: {retry: {attempts: 2}, limits: {openai: {requests_per_minute: 500}}}
 *     secrets: {ACME_KEY: {file: ~/.acme}}    # {env: NAME}, {file: PATH}, {command: [pass, show, acme]}; and `hosts`
 *     http: {use: http}
 *     store: {use: sqlite, path: ./state/tenon.db}
 *     files: {roots: [../shared]}           # documents may also name files below these folders
 *     work: {report: {strategy: ./report.yaml, concurrency: 4}}   # how Tasks of each type are handled
 *     limits: {concurrency: 64, workers: 16}
 *     tools: {approval: {"effect:destructive": ask, shell.run: deny}, audit: ./audit.jsonl}
 *     schedules: {nightly: {cron: "0 3 * * *", timezone: Europe/Berlin, task: {type: report}}}
 *     serve: {port: 8700, graphs: {support: ./support.yaml}}      # what `tenon serve` offers over HTTP
 *     log: info
 *
 * There are two files. The project's tenon.yaml is searched from the working directory upwards, except in installed
 * packs. The user's file is $XDG_CONFIG_HOME/tenon/tenon.yaml. A key in the project's file overrides the same key in
 * the user's file. An unknown key is an error. The configuration contains only where each secret is, not its text. The
 * text is fetched when a plugin is initialised or when an HTTP request needs it, and kept by base/secrets/secrets.h.
 *
 *     struct config *config;
 *     if (config_load(NULL, &config, &error) != TN_OK) return report(&error);
 *     tn_value binding = config_model(config, "planner");
 *     config_free(config);
 */
#ifndef TENON_HOST_BASE_CONFIG_CONFIG_H
#define TENON_HOST_BASE_CONFIG_CONFIG_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config;
struct diagnostics;

/* The keys of `limits`: name, minimum, maximum, documentation. */
#define CONFIG_LIMITS(LIMIT)                                                                                           \
    LIMIT(concurrency, 1, 1000000, "Activations of one run at the same time.")                                         \
    LIMIT(workers, 1, 256, "Threads for blocking components.")                                                         \
    LIMIT(recursion_limit, 1, 10000000, "Super-steps of one run.")                                                     \
    LIMIT(thread_days, 0, 36500, "Days after which `tenon thread gc` deletes a thread that is done.")                  \
    LIMIT(interrupt_hours, 1, 876000, "Hours that a thread waits for an answer. A later answer is an error.")

/* The keys of `serve.limits` for the listener (tenon/http_server.h): name, minimum, maximum, default, documentation. */
#define CONFIG_LISTEN_LIMITS(LIMIT)                                                                                    \
    LIMIT(connections, 1, 1000000, 16384, "Connections at the same time.")                                             \
    LIMIT(connections_per_address, 1, 1000000, 4096,                                                                   \
          "Connections of one address at the same time; of trusted proxies, requests of one of their clients.")        \
    LIMIT(headers_bytes, 1024, 1048576, 16384, "Bytes of the request line and the headers.")                           \
    LIMIT(headers_ms, 100, 600000, 10000, "Time from the first byte of a request to the end of its headers.")          \
    LIMIT(idle_ms, 100, 86400000, 60000, "Time in which no byte of a connection moves.")                               \
    LIMIT(body_bytes, 1, 1073741824, 1048576, "Bytes of a body, unless its route has another limit.")                  \
    LIMIT(write_bytes, 1024, 1073741824, 1048576, "Bytes of a response that wait for a slow client.")                  \
    LIMIT(message_bytes, 1, 1073741824, 1048576, "Bytes of a WebSocket message.")
#define CONFIG_OPEN_REQUESTS 16384
/*
 * All with whole numbers; those of keys as host/data/access/access_keys.h has them: a key of the store can have others.
 * Default 0: no limit, except of token_schedule_days. `cost_per_day` is a number.
 */
#define CONFIG_SERVE_LIMITS(LIMIT)                                                                                     \
    CONFIG_LISTEN_LIMITS(LIMIT)                                                                                        \
    LIMIT(open_requests, 1, 1000000, CONFIG_OPEN_REQUESTS, "Requests and streams at the same time.")                   \
    LIMIT(requests_per_minute, 1, 1000000, 0, "Requests of one key in a minute.")                                      \
    LIMIT(runs, 1, 10000, 0, "Runs of one key at the same time.")                                                      \
    LIMIT(tokens_per_day, 1, 1000000000000, 0, "Tokens of models of one key in a day (UTC).")                          \
    LIMIT(token_schedule_days, 1, 3650, 0,                                                                             \
          "Days for which a schedule may start runs after a user without a key has made or changed it. By default, "   \
          "users "                                                                                                     \
          "whom a plugin of `authenticators` knows make none, because their tokens end and a schedule stays.")

/* A row of config_keys.def. */
struct config_key {
    const char *parent; /* the key that contains this one, for example "plugins"; "" if none does */
    const char *name, *form, *example, *documentation;
};
size_t config_key_count(void);
const struct config_key *config_key_at(size_t index);
/* The keys and their values as a JSON Schema, without names that only a host knows; a new reference. */
tn_value config_schema(void);

#define CONFIG_FILE_MAX           (1u << 20)  /* bytes of a tenon.yaml */
#define CONFIG_SECRET_MAX         (64u << 10) /* bytes of a secret's text */
#define CONFIG_SECRET_MS          60000       /* time limit for a command or a pipe that delivers a secret */
#define CONFIG_PATHS_MAX          100u        /* entries of plugins.path, plugins.drafts and plugins.admin */
#define CONFIG_ROOTS_MAX          100u        /* entries of files.roots */
#define CONFIG_PROCESSES_MAX      256         /* the largest number in plugins.processes */
#define CONFIG_LOOPS_MAX          64          /* the largest number in loops */
#define CONFIG_LOOPS_AUTO         0           /* as many loops as processors */
#define CONFIG_PARENTS_MAX        64u         /* folders searched upwards */
#define CONFIG_TRUST_MAX          1000u       /* entries of packs.trust */
#define CONFIG_HOSTS_MAX          100u        /* entries of `hosts` of one secret, and of packs.registries */
#define CONFIG_KEYS_MAX           1000u       /* entries of model_calls.limits */
#define CONFIG_TASK_TYPES_MAX     64u         /* entries of `work` */
#define CONFIG_TASK_TOOLS_MAX     1000u       /* entries of `tools` of one Task type */
#define CONFIG_INSTALLS_MAX       1000u       /* entries of packs.install */
#define CONFIG_PROVIDERS_MAX      200u        /* entries of providers */
#define CONFIG_SCHEDULES_MAX      1000u       /* entries of schedules */
#define CONFIG_SCHEDULE_NAME_MAX  100u        /* bytes of the name of a schedule */
#define CONFIG_EVERY_MIN_MS       1000        /* the smallest interval of a schedule */
#define CONFIG_SERVE_LIST_MAX     1000u       /* entries of each list of serve */
#define CONFIG_AUTHENTICATORS_MAX 8u          /* but of serve.authenticators */
#define CONFIG_GRAPHS_MAX         1000u       /* entries of serve.graphs */
#define CONFIG_GRAPH_NAME_MAX     64u         /* bytes of the name of a graph */
#define CONFIG_PUBLIC_KEY_TEXT    45          /* bytes of a public key as text, with the NUL */

struct config *config_empty(void);
/*
 * Reads `file` and the user's file. If `file` is NULL, searches the project's file from `directory` upwards; if that is
 * NULL, too, from the working directory. The search ignores files of installed packs. Without any file the
 * configuration is empty. Fails with TN_NOT_FOUND if `file` cannot be read, and with TN_INVALID (INVALID_CONFIG) if a
 * file has errors: the message contains the first of them with its position, and their number.
 */
int32_t config_load(const char *file, struct config **out, struct error *error);
int32_t config_load_from(const char *file, const char *directory, struct config **out, struct error *error);
/*
 * Finds the project's file as config_load does, from `directory` upwards: *file is its path, to be freed with mem_free,
 * or NULL if there is none. PERMISSION_DENIED if it belongs to another user.
 */
int32_t config_find_project(const char *directory, char **file, struct error *error);
/* The path of the user's file, to be freed with mem_free; NULL if neither XDG_CONFIG_HOME nor HOME is set. */
char *config_user_file(void);
/* The folder of installed packs, to be freed with mem_free; NULL if neither XDG_DATA_HOME nor HOME is set. */
char *config_packs_folder(void);
/*
 * Reads `text` as a file called `name`, in whose folder its relative paths start; they become absolute. Adds a
 * diagnostic for each wrong key, and keeps all others. Thread: any.
 */
struct config *config_read(const char *name, const char *text, size_t length, struct diagnostics *diagnostics);
/* A copy that another thread can own: its values are shared. Not NULL. */
struct config *config_copy(const struct config *config);
void config_free(struct config *config); /* NULL is allowed */

/*
 * All results below are borrowed from the configuration. A NULL config is an empty one. Thread: any, because a
 * configuration does not change after the host is open.
 */
const char *config_file(const struct config *config);         /* the project's file, or NULL */
size_t config_plugin_path_count(const struct config *config); /* entries of the search path */
/* A folder or file; relative if the name of the tenon.yaml was. */
const char *config_plugin_path(const struct config *config, size_t index);
tn_value
config_file_roots(const struct config *config); /* files.roots: an array of folders, resolved in the same way */
/* The plugin's section of plugins.config, with {secret: NAME}; or NULL. */
tn_value config_plugin_section(const struct config *config, const char *plugin_id);
tn_value config_plugin_sections(const struct config *config); /* {id: section}; may be NULL */
/* The folder of the tenon.yaml that contains this section, or NULL. */
const char *config_plugin_folder(const struct config *config, const char *plugin_id);
tn_value config_isolation(const struct config *config); /* {id or "*": "process" | "none"}; may be NULL */
/* True if the plugin must run in a separate process. "*" means all plugins that are not bundled. */
bool config_isolated(const struct config *config, const char *plugin_id, bool bundled);
/*
 * True if plugins.isolation is `none` for this id itself, not for "*". Only then can a plugin of an untrusted pack run
 * in the process of the host.
 */
bool config_allows_in_process(const struct config *config, const char *plugin_id);
tn_value config_processes(const struct config *config); /* {id or "*": number}; may be NULL */
/* The most processes for blocking components of an isolated plugin; 0 if not configured. */
uint32_t config_plugin_processes(const struct config *config, const char *plugin_id);
tn_value config_drafts(const struct config *config); /* {id: true}; may be NULL */
/* True if plugins.drafts has this id: the plugin may use draft interfaces. */
bool config_allows_drafts(const struct config *config, const char *plugin_id);
tn_value config_admins(const struct config *config); /* {id: true}; may be NULL */
/* True if plugins.admin has this id: the plugin may call methods that change the host. */
bool config_allows_admin(const struct config *config, const char *plugin_id);
/* {use, path, …}, the path relative only if the name of the tenon.yaml was; or NULL. */
tn_value config_store(const struct config *config);
/*
 * How many checkpoints of a thread are kept at least (store.history), or one of these. 0 keeps those from the newest
 * snapshot on.
 */
#define CONFIG_HISTORY_ALL       (-1)
#define CONFIG_HISTORY_SNAPSHOTS 0
int64_t config_history(const struct config *config);
tn_value config_http(const struct config *config); /* {use}; or NULL */
/* {embed?, dimensions?, bytes?}: how memories are found by meaning; may be NULL. */
#define CONFIG_MEMORY_BYTES     8000
#define CONFIG_MEMORY_BYTES_MIN 16
#define CONFIG_MEMORY_BYTES_MAX 524288 /* as MEMORY_TEXT_MAX of the kernel */
tn_value config_memory(const struct config *config);
tn_value config_model(const struct config *config, const char *role); /* a role's binding, or NULL */
tn_value config_models(const struct config *config);                  /* {role: binding}; may be NULL */
tn_value config_providers(const struct config *config);               /* {name: {provider, …}}; may be NULL */
/* Binds a role, overriding the files (option --model). May be called only while the host is being opened. */
void config_bind_model_take(struct config *config, const char *role, tn_value binding);
void config_set_models_take(struct config *config, tn_value models); /* replaces all bindings */
/* {name: {cron | every | at, timezone?, task: {type, payload?}, misfire?, enabled?}}; may be NULL. work/schedule.h
 * reads them. */
tn_value config_schedules(const struct config *config);
/* model_calls.retry: the retry of roles that set none; false, true or a mapping. NULL if not configured. */
tn_value config_model_retry(const struct config *config);
/* model_calls.limits: {name of a secret, or of a provider: limits}; NULL if not configured. */
tn_value config_model_limits(const struct config *config);
/* Prices per million tokens, {pattern: {input, output, cached?, cache_write?}}; may be NULL. */
tn_value config_prices(const struct config *config);
/* The policies for tools, {pattern or "effect:PATTERN": "auto" | "ask" | "deny"}; NULL if not configured. */
tn_value config_tool_policies(const struct config *config);
const char *config_tool_audit(const struct config *config);          /* the file of the audit log, or NULL */
bool config_tool_flag(const struct config *config, const char *key); /* "audit_arguments", "audit_required" */
/*
 * How Tasks are handled: {type: {strategy | runner, tools?, ttl_ms?, priority?, concurrency?, retries?: {max_attempts?,
 * initial_ms?, factor?, max_ms?}, options?}}, all numbers integers except `factor`; NULL if not configured. A strategy
 * that is a path starts at `/`, or as the name of the tenon.yaml.
 */
tn_value config_work(const struct config *config);
/*
 * `serve`: {use?, address?, port?, tls?: {certificate, key} or false, hosts?: [], origins?: [], protocols?: [],
 * graphs?: {name: file}, tools?: [], limits?: {}, log?: path, "-" or false, drain_seconds?}; NULL without the section.
 * Paths are resolved as that of `store`.
 */
#define CONFIG_SERVE_ADDRESS "127.0.0.1"
#define CONFIG_SERVE_PORT    8700
tn_value config_serve(const struct config *config);
tn_value config_graphs(const struct config *config); /* serve.graphs: {name: file}; may be NULL */
/* Adds a graph that the command line names. May be called only while the host is being opened. */
void config_add_graph(struct config *config, const char *name, const char *file);
/* 1 to CONFIG_GRAPH_NAME_MAX letters, digits, `.`, `_` and `-`; the first one is a letter or a digit. */
bool config_is_graph_name(const char *name, size_t length);
bool config_is_address(const char *text);  /* an IP address */
bool config_is_loopback(const char *text); /* one that only this machine can reach */
int64_t config_limit(const struct config *config, const char *name, int64_t default_value);
/* `loops`: 1 to CONFIG_LOOPS_MAX, or CONFIG_LOOPS_AUTO; 1 if not configured. */
int32_t config_loops(const struct config *config);
int32_t config_log_level(const struct config *config); /* TN_LOG_…; TN_LOG_WARN if not configured */

/* True if `text` is a public key: 32 bytes in base64. */
bool config_is_public_key(const char *text);
/* Reads the public key in a .pub file, which has one line. Fails with IO, or INVALID_CONFIG if it is malformed. */
int32_t config_read_public_key(const char *path, char key[CONFIG_PUBLIC_KEY_TEXT], struct error *error);
/*
 * True if packs that are signed with this key are trusted. A file in `packs.trust` that cannot be used is skipped;
 * *error describes the first such file.
 */
bool config_trusts(const struct config *config, const char *key, struct error *error);
tn_value config_pack_installs(const struct config *config); /* packs.install: an array of pinned references */
/* How an OCI registry is used: {user?, password? ({secret: NAME}), plain_http?}; NULL if not configured. `host` has the
 * port if tenon.yaml has it. */
tn_value config_registry(const struct config *config, const char *host);

/*
 * Sets *out to the text of a secret, a new reference. Fetches it as `secrets` in tenon.yaml says; a name that is not
 * listed there is an environment variable. Fails with SECRET_NOT_FOUND; no message contains the text. A command, or a
 * file that is not a regular file, can block. The function then waits for at most CONFIG_SECRET_MS, or until the
 * descriptor `stop` becomes readable (-1 for no descriptor). Thread: any.
 */
int32_t config_secret(const struct config *config, const char *name, int stop, tn_value *out, struct error *error);
bool config_secret_waits(const struct config *config, const char *name); /* true if fetching can block */
/* True if the secret is not listed in tenon.yaml and no environment variable has its name. For optional secrets. */
bool config_secret_absent(const struct config *config, const char *name);
/*
 * Fetches the secrets that `secrets`, `models` and `packs.registries` name, and reports each one that is not available.
 * Those that a section of a plugin also names are left out: plugin_check_section reports them.
 */
void config_check_secrets(const struct config *config, void (*report)(void *user, const char *message), void *user);
/* The environment variable that the secret is read from; borrowed; NULL if it comes from a file or a command. */
const char *config_secret_variable(const struct config *config, const char *name);
/* Where the secret comes from, for messages: "the environment variable NAME", "the file PATH", "the command NAME". A
 * new reference. */
tn_value config_secret_where(const struct config *config, const char *name);
/* Calls `each` for the variable of each secret that the configuration lists or uses. A variable can occur again. */
void config_each_secret_variable(const struct config *config, void (*each)(const char *variable));
/* Calls `each` for the variable of each {secret: NAME} in `value`. `config` may be NULL. */
void config_each_reference(const struct config *config, tn_value value, void (*each)(const char *variable));
/* The hosts that it may be sent to: an array of "host", "host:port" and "*.domain"; NULL if not restricted. */
tn_value config_secret_hosts(const struct config *config, const char *name);
/*
 * Sets *out to a copy of `value`, a new reference, in which each {secret: NAME} is replaced by the text of that secret.
 * A secret that cannot be fetched is not replaced. The result is then TN_NOT_FOUND, *error describes the first such
 * secret, and the others are still replaced.
 */
int32_t config_reveal(const struct config *config, tn_value value, tn_value *out, struct error *error);

#endif
