/*
 * queue.h - limits the exchanges at one time, to one origin and in all; the others wait.
 *
 * Exchanges of one origin start in the order of their arrival. If the limit of all exchanges is reached, the origins
 * take turns, so that one busy origin does not block the others.
 *
 *     queue_add(&exchange->queue_entry, "https://api.example.com:443");    // false: memory ran out
 *     while ((entry = queue_start_next())) start(entry);                   // each may start now
 *     queue_remove(&exchange->queue_entry);                                // in any state
 *
 * After queue_remove, call queue_start_next again.
 */
#ifndef TENON_PLUGINS_HTTP_QUEUE_H
#define TENON_PLUGINS_HTTP_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

struct origin;

struct queue_entry {
    struct origin *origin; /* NULL: neither waiting nor started */
    struct queue_entry *next, *before;
    bool started;
};

void queue_set_limits(uint32_t per_origin, uint32_t in_total);
bool queue_add(struct queue_entry *entry, const char *origin);
void queue_remove(struct queue_entry *entry); /* does nothing if the entry is not in the queue */
struct queue_entry *queue_start_next(void);   /* NULL: no exchange may start */

#endif
