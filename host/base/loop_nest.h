/*
 * loop_nest.h - a loop that runs inside another one of the same thread: a second host in a program that has one.
 *
 *     struct loop_nest *nest = loop_nest_new(host_loop(main), host_loop(second));
 *     ... functions of `second` ...
 *     loop_nest_wake(nest);                          // its loop has work now
 *     loop_nest_free(nest);                          // before the inner loop is freed
 *
 * The inner loop takes its turns in turns of the outer one, whenever it is due. The nest does not keep the outer loop
 * running. All functions are [loop] of the outer loop.
 */
#ifndef TENON_HOST_BASE_LOOP_NEST_H
#define TENON_HOST_BASE_LOOP_NEST_H

struct loop;
struct loop_nest;

struct loop_nest *loop_nest_new(struct loop *outer, struct loop *inner);
void loop_nest_wake(struct loop_nest *nest);
void loop_nest_free(struct loop_nest *nest); /* NULL is allowed */

#endif
