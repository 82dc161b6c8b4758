/*
 * observe.h - counts the events of the host in series. Thread: [loop].
 */
#ifndef METRICS_OBSERVE_H
#define METRICS_OBSERVE_H

#include "series.h"
#include <tenon/easy.h>

/* An event span/ended. */
void observe_span(struct series_set *set, tn_value span);
/* An event task/ended. */
void observe_task(struct series_set *set, tn_value task);
/* The code of the error: "" without one. Any other text than upper case, digits and `_`, at most 64, is "OTHER". */
const char *observe_code(tn_value span);
/*
 * The name of a model's provider as the GenAI conventions have it, from "openai:gpt-4o": `out` has room for
 * PROVIDER_MAX bytes. *model is what follows the colon, or the whole name.
 */
#define PROVIDER_MAX 64
void observe_provider(const char *name, char out[PROVIDER_MAX], const char **model);

#endif
