/*
 * interactions.h - the tools `interactions.create|get|stream|cancel`: Google's agents and models that work in the
 * background. interactions.c builds requests and authenticates, interactions_read.c reads interactions and events.
 */
#ifndef TENON_PLUGINS_GEMINI_INTERACTIONS_H
#define TENON_PLUGINS_GEMINI_INTERACTIONS_H

#include "gemini.h"
#include <research.h>

#define INTERACTIONS_AGENT "deep-research-preview-04-2026"

/* The `data` of a job. */
struct interactions {
    /* interactions_read.c: the open step of the stream */
    char kind[48]; /* "": no step is open */
    int64_t index;
    tn_value start;     /* the step as it started, or NULL */
    tn_value signature; /* or NULL */
    bool received;      /* a step has started, or a delta has come */
    /* interactions.c */
    struct gemini address;
    bool has_address, retried;
    tn_value header; /* the token of the last attempt */
    struct token_wait wait;
    struct research_job *job;
};

void interactions_read(struct research_job *job, tn_value interaction);
void interactions_event(struct research_job *job, tn_value event);
void interactions_reset(struct research_job *job);

#endif
