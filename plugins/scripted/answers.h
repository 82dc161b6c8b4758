/*
 * answers.h - the open calls of one model, by their task: each is found, added and removed in constant time, however
 * many are open.
 *
 *     struct answers answers = {0};
 *     answers_add(&answers, answer);                    // answer->task is set
 *     answer = answers_lookup(&answers, task);          // NULL if the call has ended
 *     answers_remove(&answers, answer);
 *     answers_finish(&answers);                         // frees the table, not what is in it
 *
 * Only the loop's thread uses it.
 */
#ifndef TENON_PLUGINS_SCRIPTED_ANSWERS_H
#define TENON_PLUGINS_SCRIPTED_ANSWERS_H

#include <tenon/easy.h>

struct answer;

/* The member of an answer that the table uses. */
struct answer_place {
    struct answer_place *next; /* in its bucket */
    tn_task task;
};

struct answers {
    struct answer_place **buckets; /* NULL while nothing was added; a power of two */
    uint64_t bucket_count, count;
};

/* TN_NO_MEMORY: it was not added. The address of the place must not change until it is removed. */
int32_t answers_add(struct answers *answers, struct answer_place *place);
struct answer_place *answers_lookup(const struct answers *answers, tn_task task);
void answers_remove(struct answers *answers, struct answer_place *place); /* it must have been added */
void answers_finish(struct answers *answers);

#endif
