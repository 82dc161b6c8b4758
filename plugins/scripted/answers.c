/*
 * answers.c - a hash table of open calls, with a list in each bucket. It grows with the number of calls; if there is no
 * memory for that, its lists become longer.
 */
#include "answers.h"

#define BUCKETS_MIN 16

/* Tasks are numbers in a sequence, with a generation in other bits: all bits must count. */
static uint64_t answers_bucket(uint64_t bucket_count, tn_task task) {
    uint64_t hash = (uint64_t)task * 0x9e3779b97f4a7c15u;
    return (hash ^ hash >> 32) & (bucket_count - 1);
}

static void answers_grow(struct answers *answers) {
    uint64_t more = answers->bucket_count != 0 ? 2 * answers->bucket_count : BUCKETS_MIN;
    struct answer_place **buckets = tn.core->alloc(tn.host, more * sizeof(struct answer_place *));
    if (buckets == NULL) return;
    for (uint64_t i = 0; i < more; i++) buckets[i] = NULL;
    for (uint64_t i = 0; i < answers->bucket_count; i++) {
        while (answers->buckets[i] != NULL) {
            struct answer_place *place = answers->buckets[i], **bucket = &buckets[answers_bucket(more, place->task)];
            answers->buckets[i] = place->next;
            place->next = *bucket;
            *bucket = place;
        }
    }
    tn.core->release(tn.host, (void *)answers->buckets);
    answers->buckets = buckets;
    answers->bucket_count = more;
}

int32_t answers_add(struct answers *answers, struct answer_place *place) {
    if (answers->count >= answers->bucket_count) answers_grow(answers);
    if (answers->buckets == NULL) return TN_NO_MEMORY;
    struct answer_place **bucket = &answers->buckets[answers_bucket(answers->bucket_count, place->task)];
    place->next = *bucket;
    *bucket = place;
    answers->count++;
    return TN_OK;
}

struct answer_place *answers_lookup(const struct answers *answers, tn_task task) {
    if (answers->buckets == NULL) return NULL;
    struct answer_place *place = answers->buckets[answers_bucket(answers->bucket_count, task)];
    while (place != NULL && place->task != task) place = place->next;
    return place;
}

void answers_remove(struct answers *answers, struct answer_place *place) {
    struct answer_place **link = &answers->buckets[answers_bucket(answers->bucket_count, place->task)];
    while (*link != place) link = &(*link)->next;
    *link = place->next;
    answers->count--;
}

void answers_finish(struct answers *answers) {
    tn.core->release(tn.host, (void *)answers->buckets);
    *answers = (struct answers){0};
}
