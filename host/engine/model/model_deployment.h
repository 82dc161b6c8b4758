/*
 * model_deployment.h - what is known about each of several deployments of a model: when it has failed, how often it was
 * called, and how many calls it has now.
 *
 * The table is shared by all loops of a process, so that one loop avoids what has failed on another. A deployment lives
 * as long as the table. Times are those of loop_now_ms, which all loops read from the same clock.
 *
 *     struct model_deployment *deployment = model_deployments_find(&deployments, binding);
 *     atomic_fetch_add(&deployment->inside, 1);
 *
 * Thread: any, except init and finish.
 */
#ifndef TENON_HOST_ENGINE_MODEL_MODEL_DEPLOYMENT_H
#define TENON_HOST_ENGINE_MODEL_MODEL_DEPLOYMENT_H

#include "adl/value/value.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <tenon/util/sha256.h>

#define MODEL_DEPLOYMENTS_MAX 4096u

struct model_deployment {
    struct model_deployment *next;
    char binding[TN_SHA256_TEXT];  /* its hash */
    _Atomic int64_t cool_until_ms; /* before it, others are preferred */
    _Atomic uint64_t used;         /* number of its last call, counted over all deployments */
    _Atomic uint32_t inside;       /* calls now */
};

struct model_deployments {
    pthread_mutex_t lock; /* of the list */
    struct model_deployment *first;
    uint32_t count;
    _Atomic uint64_t uses;
};

void model_deployments_init(struct model_deployments *deployments);
void model_deployments_finish(struct model_deployments *deployments);
/* Returns the deployment with this binding. NULL if there are too many: then it never cools down. */
struct model_deployment *model_deployments_find(struct model_deployments *deployments, tn_value binding);
/* A call of the deployment starts: it is the last one in turn. */
void model_deployment_use(struct model_deployments *deployments, struct model_deployment *deployment);

#endif
