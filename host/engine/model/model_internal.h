/*
 * model_internal.h - what the files of this sub-room share: a model, its providers, and what all models of a host
 * share.
 */
#ifndef TENON_HOST_ENGINE_MODEL_MODEL_INTERNAL_H
#define TENON_HOST_ENGINE_MODEL_MODEL_INTERNAL_H

#include "adl/document/model_role.h"
#include "host/engine/model/model.h"
#include "host/engine/model/model_deployment.h"
#include "host/engine/model/model_gate.h"
#include "host/plugin/call/call.h"

struct cache;

struct models {
    tn_value fallbacks_logged; /* {run and model: true} */
    struct model_gate_side side;
    struct cache *answers; /* NULL before the first call of a role with `cache` */
};

/* Of all loops that share the gates. */
static inline struct model_deployments *models_deployments(struct models *models) {
    return model_gates_deployments(models->side.gates);
}

struct model_provider {
    struct callable *callable;
    struct callable *embedder; /* calls it in batches */
    char *name;                /* "openai:gpt-4o-mini"; without a model, the component's id */
    bool remote;               /* it calls a service, so that a failure may pass */
    uint32_t group;
    int64_t context_tokens;   /* 0: not known */
    struct model_retry retry; /* the one that applies */
    struct model_key key;
    struct model_deployment *deployment; /* NULL: it is not one of several */
};

struct model {
    struct callable callable; /* first */
    struct engine *engine;
    char *name;
    tn_value binding; /* keeps the values of `role` */
    tn_value config;  /* options of the caller, or NULL */
    struct model_role role;
    uint32_t count;
    struct model_provider providers[MODEL_FALLBACKS_MAX];
};

/* model_call.c */
extern const struct callable_ops model_ops;
void model_free(struct callable *callable);

/* model_cache.c: answers of roles with `cache`. */
/* The key of a request; a new reference. */
tn_value model_cache_key(const struct model *model, tn_value input);
/* The answer, marked and without usage; a new reference. NULL if there is none. */
tn_value model_cache_get(struct models *models, tn_value key, int64_t now_ms);
void model_cache_put(struct models *models, tn_value key, tn_value output, int64_t ttl_ms, int64_t now_ms);

#endif
