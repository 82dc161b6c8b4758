/*
 * web_limit_internal.h - the records of web_limit.c, for web_limit_saved.c.
 */
#ifndef TENON_HOST_SERVER_WEB_WEB_LIMIT_INTERNAL_H
#define TENON_HOST_SERVER_WEB_WEB_LIMIT_INTERNAL_H

#include "host/server/web/web_limit.h"

#define LIMIT_BUCKETS 1024u

struct key_use {
    struct key_use *next; /* in its bucket */
    struct web_limits *limits;
    char *key;
    uint32_t open, runs; /* open requests; active runs, with those that are being started */
    double permits;      /* of requests_per_minute: what is left */
    int64_t permits_ms;  /* when `permits` was true */
    int64_t day;         /* of the numbers below */
    int64_t tokens;
    double cost;
    struct {
        int64_t tokens;
        double cost;
    } unsaved, saving; /* parts of these numbers that the store does not have; that are being written */
    bool has_budget;   /* the key has a limit of them */
    int64_t bodies;    /* bytes of bodies that are being received */
    int64_t waiting;   /* bytes of responses that clients have not read */
    uint64_t requests; /* since the start of the host */
    int64_t retry_ms;  /* of the last refusal */
};

/* What was counted of a thread, or of a run without a thread. */
struct counted {
    struct counted *next, *older, *newer;
    char *id;
    int64_t tokens;
    double cost;
    bool unsaved, saving; /* the store does not have it; it is being written */
};

/* An active run of a key. */
struct key_run {
    struct key_run *next, **link;
    struct key_use *use;
    struct call *call; /* run/wait */
    tn_value params;
};

struct web_limits {
    struct server *server;
    struct client *client; /* calls run/wait */
    struct key_use *uses[LIMIT_BUCKETS];
    size_t use_count;
    struct counted *counted[LIMIT_BUCKETS], *newest, *oldest;
    size_t counted_count;
    struct key_run *runs;
};

/* A new day begins with no tokens and no cost. */
void key_use_begin_day(struct key_use *use);
/* What was counted of this thread; it becomes the newest. Never NULL. */
struct counted *web_limits_counted(struct web_limits *limits, const char *id);

#endif
