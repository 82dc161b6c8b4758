/*
 * push.h - push notifications: what changes in a task is sent to addresses that its user has named.
 *
 *     push.c          the addresses of a task, and the requests to them
 *     push_config.c   configurations as clients write and read them; how they are saved
 *     push_methods.c  the four methods
 */
#ifndef PUSH_H
#define PUSH_H

#include "a2a_server.h"

/* Limits; README.md has the table. */
#define PUSH_CONFIGS_MAX 10u /* of a task */
#define PUSH_URL_MAX     SERVING_URL_MAX
#define PUSH_TOKEN_MAX   1024u
#define PUSH_SECRET_MAX  4096u        /* bytes of the credentials */
#define PUSH_QUEUE_MAX   32u          /* notifications that wait, of one configuration */
#define PUSH_BODY_MAX    (1u << 20)   /* bytes of a notification */
#define PUSH_QUEUED_MAX  (64u << 20)  /* bytes of all that wait */
#define PUSH_OWNER_MAX   8u           /* of them for one user */
#define PUSH_FAILURES    3u           /* notifications one after the other; then the configuration is deleted */
#define PUSH_SAVED_S     (30 * 86400) /* a configuration that was saved is kept so long */

/* A configuration of a task, and what waits to be sent to its address. */
struct push {
    struct push *next;
    struct task *task;
    tn_value config;   /* TaskPushNotificationConfig of 1.0, without taskId */
    bool old;          /* notifications of 0.3: the task */
    tn_value queue;    /* array of bodies */
    uint64_t queued;   /* bytes of it */
    uint64_t exchange; /* open */
    uint32_t failures;
};

/* Adds a configuration, or replaces the one with the same id. False if there are too many, or memory runs out. */
bool push_add(struct task *task, tn_value config, bool old);
struct push *push_find(const struct task *task, const char *id);
void push_remove(struct push *push);
void push_remove_all(struct task *task);
bool push_is_busy(const struct task *task); /* something waits, or is being sent */

/* Checks `given`, the configuration of a client in the shape of 1.0: new, with an id; NULL with the problem. */
tn_value push_config_read(const struct a2a *a2a, tn_value given, const char *default_id, struct a2a_problem *problem);
/* As a client may read it, in its version: without credentials. New. */
tn_value push_config_value(const struct push *push, bool old);
/* What is saved: new; NULL if there is nothing. And back. */
tn_value push_saved(const struct task *task);
void push_restore(struct task *task, tn_value saved);
/* Parameters of memory/get, memory/put and memory/delete. New. */
tn_value push_memory_key(const char *task_id);
/* Saves the configurations of the task for the user: memory/put or memory/delete, as serving_call_take. `handler` may
 * be NULL: without an answer. */
void push_save(const struct task *task, uint64_t caller, tn_host_handler handler, void *user, uint64_t *call);

#endif
