/*
 * queue.c - origins by name in a hash table, as long as anybody is there; those with somebody who could begin in a
 * ring.
 */
#include "queue.h"
#include <stdlib.h>
#include <string.h>

#define BUCKETS 256u

struct origin {
    struct origin *next; /* in its bucket */
    char *name;
    struct place *first, *last; /* who waits */
    uint32_t active;
    struct origin *ring_next, *ring_before; /* NULL: not in the ring */
};

static struct {
    struct origin *buckets[BUCKETS];
    struct origin *turn; /* of the ring: whose it is */
    uint32_t per_origin, in_all, active;
} queue;

void queue_limits(uint32_t per_origin, uint32_t in_all) {
    queue.per_origin = per_origin;
    queue.in_all = in_all;
}

/* ---- The ring ---- */

static void ring_add(struct origin *origin) {
    struct origin *turn = queue.turn;
    if (origin->ring_next != NULL) return;
    if (turn == NULL) {
        queue.turn = origin->ring_next = origin->ring_before = origin;
        return;
    }
    origin->ring_next = turn; /* last */
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

static void look(struct origin *origin) {
    if (origin->first != NULL && origin->active < queue.per_origin)
        ring_add(origin);
    else
        ring_remove(origin);
}

/* ---- Origins ---- */

static struct origin **bucket_of(const char *name) {
    uint32_t hash = 2166136261u;
    for (const char *c = name; *c != '\0'; c++) hash = (hash ^ (unsigned char)*c) * 16777619u;
    return &queue.buckets[hash % BUCKETS];
}

static struct origin *find_or_make(const char *name) {
    struct origin **bucket = bucket_of(name);
    for (struct origin *origin = *bucket; origin != NULL; origin = origin->next)
        if (strcmp(origin->name, name) == 0) return origin;
    struct origin *made = calloc(1, sizeof *made);
    if (made == NULL) return NULL;
    made->name = strdup(name);
    if (made->name == NULL) {
        free(made);
        return NULL;
    }
    made->next = *bucket;
    *bucket = made;
    return made;
}

static void drop_if_empty(struct origin *origin) {
    if (origin->active > 0 || origin->first != NULL) return;
    struct origin **at = bucket_of(origin->name);
    while (*at != origin) at = &(*at)->next;
    *at = origin->next;
    free(origin->name);
    free(origin);
}

/* ---- Places ---- */

bool queue_enter(struct place *place, const char *name) {
    struct origin *origin = find_or_make(name);
    if (origin == NULL) return false;
    *place = (struct place){.origin = origin, .before = origin->last};
    if (origin->last != NULL)
        origin->last->next = place;
    else
        origin->first = place;
    origin->last = place;
    look(origin);
    return true;
}

static void unlink_place(struct place *place) {
    struct origin *origin = place->origin;
    if (place->before != NULL)
        place->before->next = place->next;
    else
        origin->first = place->next;
    if (place->next != NULL)
        place->next->before = place->before;
    else
        origin->last = place->before;
    place->next = place->before = NULL;
}

void queue_leave(struct place *place) {
    struct origin *origin = place->origin;
    if (origin == NULL) return;
    if (place->begun) {
        origin->active--;
        queue.active--;
    } else {
        unlink_place(place);
    }
    *place = (struct place){0};
    look(origin);
    drop_if_empty(origin);
}

struct place *queue_next(void) {
    struct origin *origin = queue.turn;
    if (origin == NULL || queue.active >= queue.in_all) return NULL;
    struct place *place = origin->first;
    unlink_place(place);
    place->begun = true;
    origin->active++;
    queue.active++;
    queue.turn = origin->ring_next;
    look(origin);
    return place;
}
