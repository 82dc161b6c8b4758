/*
 * config_lint_work.c - checks what `work` of tenon.yaml names: documents against the contract of strategies, runners,
 * and tools.
 *
 * The documents are read, but not built, so that no code of a plugin runs.
 */
#include "adl/document/document.h"
#include "adl/document/strategy.h"
#include "adl/value/nearest.h"
#include "adl/value/wildcard.h"
#include "host/assembly/config_lint.h"
#include "host/assembly/host.h"
#include "host/base/config/config.h"
#include "host/engine/engine.h"
#include "host/engine/graph/documents.h"
#include "host/plugin/registry/registry.h"
#include "host/work/work_type.h"
#include <string.h>

struct work_lint {
    struct host *host;
    const char *type; /* of Tasks */
    config_lint_fn *report;
    void *user;
};

static void work_report_take(const struct work_lint *lint, tn_value what) {
    tn_value text = value_format("tenon.yaml: work.%s: %s", lint->type, value_chars(what, NULL));
    lint->report(lint->user, value_chars(text, NULL));
    value_unref(text);
    value_unref(what);
}

/* ---- Strategies ---- */

static void lint_strategy(const struct work_lint *lint, const char *name) {
    struct error error = ERROR_INIT;
    struct document *document = NULL;
    int32_t status = documents_open(host_engine(lint->host), name, document_check_strategy, &document, &error);
    if (status == TN_NOT_FOUND)
        work_report_take(lint, value_format("the strategy `%s` cannot be read: %s", name, error.message));
    else if (status != TN_OK)
        work_report_take(lint, value_format("%s", error.message));
    document_unref(document);
    error_finish(&error);
}

/* ---- Names ---- */

static bool lint_offer_name(void *user, const struct component_info *component) {
    nearest_add_candidate(user, component->id, strlen(component->id));
    return true;
}

/* Reports a name, unless a plugin whose code is not loaded may have it and no known name is similar. */
static void report_unknown(const struct work_lint *lint, const char *kind, const char *what, const char *name) {
    const struct catalog *catalog = host_catalog(lint->host);
    struct nearest nearest;
    nearest_init(&nearest, name, strlen(name));
    catalog->each(catalog->self, kind, lint_offer_name, &nearest);
    if (nearest_result(&nearest) || registry_knows_all(host_registry(lint->host), kind))
        work_report_take(lint, value_format("%s `%s`%s", what, name, nearest_hint(&nearest).text));
}

static void lint_runner(const struct work_lint *lint, const char *id) {
    const struct catalog *catalog = host_catalog(lint->host);
    if (!catalog->find(catalog->self, "runner", id, strlen(id))) report_unknown(lint, "runner", "unknown runner", id);
}

struct pattern_match {
    const char *pattern;
    bool found;
};

static bool match_pattern(void *user, const struct component_info *component) {
    struct pattern_match *match = user;
    match->found = wildcard_matches_tool(match->pattern, component->id);
    return !match->found;
}

static void lint_patterns(const struct work_lint *lint, tn_value patterns) {
    const struct catalog *catalog = host_catalog(lint->host);
    for (size_t i = 0; i < value_count(patterns); i++) {
        struct pattern_match match = {value_chars(value_at(patterns, i), NULL), false};
        catalog->each(catalog->self, "tool", match_pattern, &match);
        if (!match.found) report_unknown(lint, "tool", "tools: no known tool matches", match.pattern);
    }
}

/* ---- Types ---- */

static void lint_retries(const struct work_lint *lint, tn_value retries) {
    tn_value initial = value_get(retries, "initial_ms"), max = value_get(retries, "max_ms");
    int64_t first_ms = initial ? value_to_int(initial) : WORK_RETRY_MS,
            last_ms = max ? value_to_int(max) : WORK_RETRY_MAX_MS;
    if (first_ms > last_ms)
        work_report_take(lint, value_format("retries: found `initial` of %lld ms and `max` of %lld ms, expected `max` "
                                            "to be at least `initial`",
                                            (long long)first_ms, (long long)last_ms));
}

void config_lint_work(struct host *host, config_lint_fn *report, void *user) {
    tn_value work = config_work(host_config(host));
    for (size_t i = 0; i < value_count(work); i++) {
        const struct work_lint lint = {host, value_chars(value_key_at(work, i), NULL), report, user};
        tn_value type = value_value_at(work, i), strategy = value_get(type, "strategy"),
                 runner = value_get(type, "runner");
        if (strategy) lint_strategy(&lint, value_chars(strategy, NULL));
        if (runner) lint_runner(&lint, value_chars(runner, NULL));
        if (!strategy && !runner && !work_default_strategy(lint.type))
            work_report_take(&lint, value_format("found neither `strategy` nor `runner`, expected one of them"));
        lint_retries(&lint, value_get(type, "retries"));
        lint_patterns(&lint, value_get(type, "tools"));
    }
}
