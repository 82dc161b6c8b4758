/*
 * config_lint.h - reports names in tenon.yaml that do not exist (plugins, model providers, tools, effects, folders),
 * and schedules that cannot be used.
 *
 * Several projects can share the file, so an unknown name is only a warning; it is reported because a mistyped name has
 * no effect. A role of --model is meant for one run, so there an unknown name is an error. Only `tenon check` and
 * `tenon doctor` report providers, because a role that no document uses does no harm.
 *
 *     config_lint_plugins(host, NULL, report, user);   // "plugins.isolation: unknown plugin `acme.txt`; did you mean
 * …?" config_lint_providers(host, report, user); // "models.planner: no plugin provides the model provider `lokal`; …"
 *     status = config_lint_role(host, document, "--model", &error);
 *     // "--model defualt=…: neither …; did you mean `default`?"
 *
 * Thread: the loop's.
 */
#ifndef TENON_HOST_ASSEMBLY_CONFIG_LINT_H
#define TENON_HOST_ASSEMBLY_CONFIG_LINT_H

#include "adl/value/error.h"

struct diagnostics;
struct document;
struct host;

typedef void config_lint_fn(void *user, const char *message);

/* Reports unknown ids in `plugins.isolation`, `plugins.processes`, `plugins.drafts` and `plugins.config`. */
void config_lint_plugins(struct host *host, const char *known, config_lint_fn *report, void *user);
/*
 * Reports unknown providers in `models`, and bindings that do not match the schema of their provider. Loads plugins
 * that add providers at run time, if that is safe for a command that only checks.
 */
void config_lint_providers(struct host *host, config_lint_fn *report, void *user);
/* Reports roles whose provider is a preset with a key that is not available. For `tenon doctor`. */
void config_lint_keys(struct host *host, config_lint_fn *report, void *user);
/*
 * Returns NOT_FOUND if --model, or what `given` names instead, binds a role that is neither in tenon.yaml nor in a
 * document that the host has read. The role `default` is always known. The roles of `document` (may be NULL) are used
 * for suggestions.
 */
int32_t config_lint_role(const struct host *host, const struct document *document, const char *given,
                         struct error *error);
/*
 * Reports rules of `tools.approval` that match no known tool or effect. Loads no plugin. While unloaded plugins could
 * still add tools, it reports only the rules that are nearly a known name.
 */
void config_lint_tools(struct host *host, config_lint_fn *report, void *user);
/* Reports a document whose `budget.cost` has no effect, because `prices` is missing. */
void config_lint_budget(const struct host *host, const struct document *document, config_lint_fn *report, void *user);
/*
 * Reports strategies in `work` that cannot be read, have errors, or do not keep the contract of strategies; runners
 * that do not exist; and entries of `tools` that match no known tool. Loads no plugin.
 */
void config_lint_work(struct host *host, config_lint_fn *report, void *user);
/* Reports schedules with a wrong cron expression, or with a time zone that this machine does not know. */
void config_lint_schedules(struct host *host, config_lint_fn *report, void *user);
/* Names in `serve`, its documents, and the files of TLS. */
void config_lint_serve(struct host *host, config_lint_fn *report, void *user);
/* Reports entries of `files.roots` that are not folders, and the root folder, below which is every file. */
void config_lint_files(struct host *host, config_lint_fn *report, void *user);

#endif
