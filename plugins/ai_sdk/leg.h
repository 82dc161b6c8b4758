/*
 * leg.h - a run whose answer is sent to clients, as many as ask for it.
 *
 *     leg_start ─▶ on_started: reader_add ─▶ events ─▶ log ─▶ readers: each at its own position
 *                    │ GET …/stream                               │ the slowest one is LEG_BEHIND_MAX behind:
 *                    └─▶ reader_add at the start of the log       └─▶ the run waits
 *
 * The leg keeps what it has sent until the run ends, so that a client that has lost its connection reads the answer
 * from its start: the host keeps only the last events of a run. A run continues when all of its clients have gone.
 * [loop]
 */
#ifndef AI_SDK_LEG_H
#define AI_SDK_LEG_H

#include "chunks.h"

#define LEG_LOG_MAX    (8u << 20)   /* bytes that one leg keeps; a longer answer cannot be read from its start */
#define LEGS_LOG_MAX   (256u << 20) /* of all legs together */
#define LEG_BEHIND_MAX (1u << 20)   /* bytes that a reader may be behind */
#define LEGS_MAX       10000        /* legs at the same time */

struct legs; /* all of a plugin */
struct leg;

struct legs *legs_new(const struct serving *serving);
void legs_free(struct legs *legs); /* forgets the runs, which continue. NULL is allowed */

struct leg_options {
    uint64_t caller;
    const struct serving_graph *graph;
    const char *message_id;      /* NULL: made of the id of the run */
    bool resets;                 /* the client is of version 7 */
    tn_value known, parts, used; /* as in chunks.h */
    /* Of `parts`, those of the last step; what else the client has in it comes again. NULL: nothing does. */
    tn_value last_step;
    /* Once: the run has started, or `error` says why not; the leg is freed then. */
    void (*on_started)(void *user, struct leg *leg, tn_value error);
    void *user;
};

/* Takes `params`. NULL with nothing reported: too many legs, or memory has run out. */
struct leg *leg_start(struct legs *legs, const char *method, tn_value params, const struct leg_options *options);
/* A run that something else has started. */
struct leg *leg_follow(struct legs *legs, const char *run_id, const struct leg_options *options);
/* True if it has ended while a leg followed it, and not many others since. */
bool legs_has_followed(const struct legs *legs, const char *run_id);
/* Nothing is reported to `user` any more. */
void leg_forget(struct leg *leg);
/* The leg of a run; NULL: there is none, or it has ended. */
struct leg *legs_lookup(struct legs *legs, const char *run_id);

/* "@ada:0193…" is "0193…": the client needs no name of its owner. */
const char *id_without_owner(const char *id);

/* True if a reader can still begin at the start of the answer. */
bool leg_is_whole(const struct leg *leg);
/* True if only clients of version 7 can read it. */
bool leg_resets(const struct leg *leg);
/*
 * Answers the request with the stream: from the start, or as one that continues what the client has. False if the
 * request has ended.
 */
bool leg_add_reader(struct leg *leg, uint64_t request, bool from_start);
/* Events of the server for a request that was added; others are ignored. */
void legs_on_room(struct legs *legs, uint64_t request);
void legs_on_closed(struct legs *legs, uint64_t request);

#endif
