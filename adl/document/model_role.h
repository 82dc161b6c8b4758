/*
 * model_role.h - what a role of `models` says besides its models: retries, fallbacks, shared load, cache.
 *
 * A role is bound to "provider:model", to {provider, …options}, to a list of these that are tried in order, or to
 * {models: [those, …], fallback?, balance?, cooldown?, retry?, cache?}. `retry`, `cache` and `context_tokens` are also
 * members of {provider, …}: the host reads them, and the provider does not receive them. An item of `models` that is a
 * list itself contains deployments of one model, which share the load.
 *
 *     struct model_role role = MODEL_ROLE_INIT;
 *     if (model_role_read(binding, &role, &error) != TN_OK) return report(&error);
 *     for (uint32_t i = 0; i < role.count; i++) use(role.models[i].binding, role.models[i].group);
 *
 * All values are borrowed from the binding. Thread: any.
 */
#ifndef TENON_ADL_DOCUMENT_MODEL_ROLE_H
#define TENON_ADL_DOCUMENT_MODEL_ROLE_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include <stdbool.h>
#include <stdint.h>

#define MODEL_ROLE_MODELS_MAX   16u /* models of one role */
#define MODEL_ROLE_ATTEMPTS_MAX 10  /* retries of one call */

#define MODEL_RETRY_ATTEMPTS  2       /* defaults of `retry` */
#define MODEL_RETRY_INITIAL   500     /* ms */
#define MODEL_RETRY_MAX       8000    /* ms */
#define MODEL_RETRY_AFTER_MAX 60000   /* ms */
#define MODEL_COOLDOWN_MS     30000   /* default of `cooldown` */
#define MODEL_CACHE_TTL_MS    3600000 /* default of `cache.ttl` */

struct model_retry {
    bool set;             /* the binding has it: otherwise the outer one applies */
    int64_t attempts;     /* retries after the first attempt; 0: none */
    int64_t initial_ms;   /* the pause before the first retry; it doubles with each one */
    int64_t max_ms;       /* the longest such pause */
    int64_t after_max_ms; /* the longest pause that the service may ask for */
};
/* clang-format off */
#define MODEL_RETRY_INIT {false, MODEL_RETRY_ATTEMPTS, MODEL_RETRY_INITIAL, MODEL_RETRY_MAX, MODEL_RETRY_AFTER_MAX}
/* clang-format on */

#define MODEL_QUEUE 1000 /* default of `queue` */

/* Limits of the calls with one key; 0: unlimited. */
struct model_limits {
    int64_t requests, tokens; /* in any 60 s */
    int64_t concurrent;
    int64_t queue; /* calls that wait; a further one fails */
};

struct model_role_model {
    tn_value binding;         /* "provider:model" or {provider, …} */
    uint32_t group;           /* models with the same number share the load; numbers rise with the position */
    int64_t context_tokens;   /* 0: not known */
    struct model_retry retry; /* .set: of this model only */
};

enum model_balance { MODEL_BALANCE_ROUND_ROBIN, MODEL_BALANCE_LEAST_BUSY };

struct model_role {
    uint32_t count;
    struct model_role_model models[MODEL_ROLE_MODELS_MAX];
    struct model_retry retry;
    tn_value fallback_on; /* an array of codes; NULL: the default */
    bool no_fallback;
    enum model_balance balance;
    int64_t cooldown_ms;
    int64_t cache_ttl_ms; /* 0: no cache */
};
/* clang-format off */
#define MODEL_ROLE_INIT \
    {0, {{NULL, 0, 0, MODEL_RETRY_INIT}}, MODEL_RETRY_INIT, NULL, false, MODEL_BALANCE_ROUND_ROBIN, MODEL_COOLDOWN_MS, 0}
/* clang-format on */

/* INVALID_CONFIG with a message that begins with the member; LIMIT if there are too many models. `*role` is
 * MODEL_ROLE_INIT before. */
int32_t model_role_read(tn_value binding, struct model_role *role, struct error *error);
/* Reads a value of `retry`: false, true or a mapping. `where` is its place for messages. */
int32_t model_retry_read(tn_value value, const char *where, struct model_retry *out, struct error *error);
/* Reads {requests_per_minute?, tokens_per_minute?, concurrent?, queue?}; `key` is for messages. */
int32_t model_limits_read(tn_value value, const char *key, struct model_limits *out, struct error *error);
/* True if the role with this fallback continues with its next model after an error with this code. */
bool model_role_falls_back(const struct model_role *role, const char *code, bool retryable);
/* True for the mapping that has `models` instead of `provider`. */
bool model_role_is_mapping(tn_value binding);
/* The first model of a binding: "provider:model" or {provider, …}; borrowed. NULL if there is none. */
tn_value model_role_first(tn_value binding);
/* The members of a binding that the host reads itself; NULL ends them. */
extern const char *const model_role_members[];
/* The codes of failures after which the next model is called by default, besides retryable ones; NULL ends them. */
extern const char *const model_role_fallback_codes[];

#endif
