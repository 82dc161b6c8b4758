/*
 * saved.h - workloads of tenon-bench that are about saved threads (saved.c).
 */
#ifndef TENON_BENCH_SAVED_H
#define TENON_BENCH_SAVED_H

#include "adl/value/value.h"
#include <stdint.h>

void turn(int64_t n);
void turn_child(void); /* a process of `turn --fresh=yes` */
void summary(int64_t n);
void edit(int64_t n);
void merge(int64_t n);

/* One user message of 200 bytes as the input of a run. A new reference. */
tn_value user_message(int64_t number);
/* An agent that requests `calls` calls of a tool, one after the other, and answers. `output`: the key of a document. */
struct graph *growth_graph(int64_t calls, const char *output);

#endif
