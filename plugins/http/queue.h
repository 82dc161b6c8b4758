/*
 * queue.h - who may begin: so many exchanges at once to one origin, so many in all; the rest waits its turn.
 *
 * Those of one origin begin in the order they came; where all there are is the bound, the origins take turns, so that
 * one that is asked a lot does not keep the others waiting.
 *
 *     queue_enter(&exchange->place, "https://api.example.com:443");    // false: no memory
 *     while ((place = queue_next())) begin(place);                     // each may begin now
 *     queue_leave(&exchange->place);                                   // in any state; then queue_next again
 */
#ifndef TENON_PLUGINS_HTTP_QUEUE_H
#define TENON_PLUGINS_HTTP_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

struct origin;

struct place {
    struct origin *origin; /* NULL: neither waits nor has begun */
    struct place *next, *before;
    bool begun;
};

void queue_limits(uint32_t per_origin, uint32_t in_all);
bool queue_enter(struct place *place, const char *origin);
void queue_leave(struct place *place); /* not in it: nothing */
struct place *queue_next(void);        /* NULL: nobody may begin */

#endif
