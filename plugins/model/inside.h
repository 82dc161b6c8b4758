/*
 * inside.h - what the files of this library have of each other; nothing for providers.
 */
#ifndef TENON_PLUGINS_MODEL_INSIDE_H
#define TENON_PLUGINS_MODEL_INSIDE_H

#include "model.h"

void *inside_alloc(uint64_t size); /* zeroed; NULL where there is no memory */
void inside_free(void *memory);
/* Room for one more item of `item` bytes: *items grows, and *room with it. False without memory. */
bool inside_room(void **items, uint64_t count, uint64_t *room, uint64_t item);
/* Not into the middle of a character: the longest length up to `most`. */
uint64_t inside_cut(const char *text, uint64_t length, uint64_t most);
tn_value inside_object(void); /* {} */
/* holder.extra.PROVIDER.key = value, in a copy; takes `holder`, which may be NULL, and gives the extra alone. */
tn_value inside_extra_take(tn_value extra, const char *provider, const char *key, tn_value value);

/* Between the two a call is not freed, whatever ends it. */
void inside_enter(struct model_call *call);
void inside_leave(struct model_call *call);
/* Its task has ended: lets go of the exchange. The call is freed when the last that is busy with it leaves. */
void inside_over(struct model_call *call);

/* answer.c */
bool inside_answer_init(struct model_call *call);
void inside_answer_free(struct model_answer *answer);
/* Emits what waits; true where nothing does any more. */
bool inside_answer_flush(struct model_call *call);
/* The stream has ended well: emits `done`, and completes now or when all of it is emitted. */
void inside_answer_end(struct model_call *call);
bool inside_answer_ended(const struct model_call *call);

/* names.c */
bool inside_names_init(struct model_call *call);
void inside_names_free(struct model_names *names);

/* failure.c */
void inside_fail_status(struct model_call *call, tn_value end);
void inside_fail_http(struct model_call *call, tn_value error);

#endif
