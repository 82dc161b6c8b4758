/* model_deployment.c - see model_deployment.h. */
#include "host/engine/model/model_deployment.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include <string.h>

void model_deployments_init(struct model_deployments *deployments) {
    deployments->first = NULL;
    deployments->count = 0;
    atomic_init(&deployments->uses, 0);
    pthread_mutex_init(&deployments->lock, NULL);
}

void model_deployments_finish(struct model_deployments *deployments) {
    struct model_deployment *deployment;
    while ((deployment = deployments->first) != NULL) {
        deployments->first = deployment->next;
        mem_free(deployment);
    }
    pthread_mutex_destroy(&deployments->lock);
}

static struct model_deployment *deployment_add(struct model_deployments *deployments, const char *binding) {
    if (deployments->count == MODEL_DEPLOYMENTS_MAX) return NULL;
    struct model_deployment *added = mem_zalloc(sizeof *added);
    memcpy(added->binding, binding, sizeof added->binding);
    added->next = deployments->first;
    deployments->first = added;
    deployments->count++;
    return added;
}

struct model_deployment *model_deployments_find(struct model_deployments *deployments, tn_value binding) {
    char hash[TN_SHA256_TEXT];
    json_hash(binding, JSON_SORTED, hash);
    pthread_mutex_lock(&deployments->lock);
    struct model_deployment *at = deployments->first;
    while (at && strcmp(at->binding, hash) != 0) at = at->next;
    if (!at) at = deployment_add(deployments, hash);
    pthread_mutex_unlock(&deployments->lock);
    return at;
}

void model_deployment_use(struct model_deployments *deployments, struct model_deployment *deployment) {
    atomic_store(&deployment->used, atomic_fetch_add(&deployments->uses, 1) + 1);
}
