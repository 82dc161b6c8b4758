/*
 * background.h - the tools `responses.create|get|stream|cancel`: Responses that run in the background, such as deep
 * research. background.c builds requests, background_read.c reads responses and their events.
 */
#ifndef TENON_PLUGINS_OPENAI_BACKGROUND_H
#define TENON_PLUGINS_OPENAI_BACKGROUND_H

#include "openai.h"
#include <research.h>

#define BACKGROUND_MODEL    "o3-deep-research"
#define BACKGROUND_BASE_URL "https://api.openai.com/v1"

/* The `data` of a job: the item of the stream whose text has come in pieces. */
struct background {
    int64_t text_at, reasoning_at; /* output_index + 1; 0: none */
};

void background_read(struct research_job *job, tn_value response);
void background_event(struct research_job *job, tn_value event);
void background_reset(struct research_job *job);

#endif
