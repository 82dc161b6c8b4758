/*
 * methods.h - the methods of both eras: one table.
 */
#ifndef MCPS_METHODS_H
#define MCPS_METHODS_H

#include "exchange.h"

struct method {
    const char *name;
    bool legacy, modern; /* the eras that have it */
    bool cached;         /* 2026-07-28: its result has ttlMs and cacheScope */
    int32_t ttl_ms;
    void (*run)(struct exchange *exchange);
};

/* NULL: the era has no such method. */
const struct method *method_find(const struct plugin *plugin, const char *name, bool modern);

/* ---- lists.c ---- */
void method_list_tools(struct exchange *exchange);
void method_list_prompts(struct exchange *exchange);
void method_list_resources(struct exchange *exchange);
void method_list_templates(struct exchange *exchange);
void method_complete(struct exchange *exchange);
/* Reads the catalogue of the user, and then calls `then`, or fails the exchange. */
void exchange_with_catalogue(struct exchange *exchange, void (*then)(struct exchange *exchange));
/* Fails the exchange with the ERROR of a method of the host. */
void exchange_fail_with(struct exchange *exchange, tn_value error);

/* ---- tasks_methods.c, tasks_result.c ---- */
void method_task_get(struct exchange *exchange);
void method_task_list(struct exchange *exchange);
void method_task_update(struct exchange *exchange);
void method_task_cancel(struct exchange *exchange);
void method_task_result(struct exchange *exchange);
/* tasks.c: the exchange ends. */
void task_release(struct exchange *exchange);

/* ---- call.c ---- */
void method_call(struct exchange *exchange); /* tools/call, prompts/get, resources/read */
void call_tool(struct exchange *exchange, bool approved);
#define CALL_APPROVAL "approval" /* the id of the question whether a tool of the host may run */
/* ---- answer.c: questions ---- */
/* The run waits for an answer. */
void call_ask(struct exchange *exchange, tn_value report);
/* 2026-07-28: continues the run that a requestState names. False if the request has none. */
bool call_resume(struct exchange *exchange);
/* Ends a run that waits for an answer which will not come. */
void call_abandon(const struct exchange *exchange);
/* The host has not accepted the answers: the client is asked again, or gets the error. False for other reports. */
bool call_answer_was_wrong(struct exchange *exchange, tn_value report);
/* Continues a run; `method` is run/start, run/resume or run/answer. */
void call_run(struct exchange *exchange, const char *method, tn_value params);
/* The run has ended, or waits. */
void call_end(struct exchange *exchange, tn_value report);
/* A response of the client to a request of the server. */
void call_on_response(struct exchange *exchange, tn_value key, tn_value response);

#endif
