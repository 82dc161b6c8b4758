/*
 * queue.c - a hash table of the origins that have exchanges. Origins with an exchange that could start are in a ring.
 */
#include "queue.h"
#include <stdlib.h>
#include <string.h>

#define BUCKETS 256u

struct origin {
    struct origin *next; /* in the same bucket */
    char *name;
    struct queue_entry *first, *last; /* waiting */
    uint32_t active;
    struct origin *ring_next, *ring_before; /* NULL: not in the ring */
};

static struct {
    struct origin *buckets[BUCKETS];
    struct origin *turn; /* the origin whose turn it is */
    uint32_t per_origin, in_total, active;
} queue;

void queue_set_limits(uint32_t per_origin, uint32_t in_total) {
    queue.per_origin = per_origin;
    queue.in_total = in_total;
}

/* ---- The ring ---- */

static void ring_add(struct origin *origin) {
    struct origin *turn = queue.turn;
    if (origin->ring_next != NULL) return;
    if (turn == NULL) {
        queue.turn = origin->ring_next = origin->ring_before = origin;
        return;
    }
    origin->ring_next = turn; /* as the last */
    origin->ring_before = turn->ring_before;
    turn->ring_before->ring_next = origin;
    turn->ring_before = origin;
}

static void ring_remove(struct origin *origin) {
    if (origin->ring_next == NULL) return;
    if (queue.turn == origin) queue.turn = origin->ring_next != origin ? origin->ring_next : NULL;
    origin->ring_next->ring_before = origin->ring_before;
    origin->ring_before->ring_next = origin->ring_next;
    origin->ring_next = origin->ring_before = NULL;
}

static void update_ring(struct origin *origin) {
    if (origin->first != NULL && origin->active < queue.per_origin)
        ring_add(origin);
    else
        ring_remove(origin);
}

/* ---- Origins ---- */

static struct origin **origin_get_bucket(const char *name) {
    uint32_t hash = 2166136261u;
    for (const char *c = name; *c != '\0'; c++) hash = (hash ^ (unsigned char)*c) * 16777619u;
    return &queue.buckets[hash % BUCKETS];
}

static struct origin *origin_lookup_or_add(const char *name) {
    struct origin **bucket = origin_get_bucket(name);
    for (struct origin *origin = *bucket; origin != NULL; origin = origin->next)
        if (strcmp(origin->name, name) == 0) return origin;
    struct origin *origin = calloc(1, sizeof *origin);
    if (origin == NULL) return NULL;
    origin->name = strdup(name);
    if (origin->name == NULL) {
        free(origin);
        return NULL;
    }
    origin->next = *bucket;
    *bucket = origin;
    return origin;
}

static void origin_free_if_unused(struct origin *origin) {
    if (origin->active > 0 || origin->first != NULL) return;
    struct origin **at = origin_get_bucket(origin->name);
    while (*at != origin) at = &(*at)->next;
    *at = origin->next;
    free(origin->name);
    free(origin);
}

/* ---- Entries ---- */

bool queue_add(struct queue_entry *entry, const char *name) {
    struct origin *origin = origin_lookup_or_add(name);
    if (origin == NULL) return false;
    *entry = (struct queue_entry){.origin = origin, .before = origin->last};
    if (origin->last != NULL)
        origin->last->next = entry;
    else
        origin->first = entry;
    origin->last = entry;
    update_ring(origin);
    return true;
}

static void queue_unlink(struct queue_entry *entry) {
    struct origin *origin = entry->origin;
    if (entry->before != NULL)
        entry->before->next = entry->next;
    else
        origin->first = entry->next;
    if (entry->next != NULL)
        entry->next->before = entry->before;
    else
        origin->last = entry->before;
    entry->next = entry->before = NULL;
}

void queue_remove(struct queue_entry *entry) {
    struct origin *origin = entry->origin;
    if (origin == NULL) return;
    if (entry->started) {
        origin->active--;
        queue.active--;
    } else {
        queue_unlink(entry);
    }
    *entry = (struct queue_entry){0};
    update_ring(origin);
    origin_free_if_unused(origin);
}

struct queue_entry *queue_start_next(void) {
    struct origin *origin = queue.turn;
    if (origin == NULL || queue.active >= queue.in_total) return NULL;
    struct queue_entry *entry = origin->first;
    queue_unlink(entry);
    entry->started = true;
    origin->active++;
    queue.active++;
    queue.turn = origin->ring_next;
    update_ring(origin);
    return entry;
}
