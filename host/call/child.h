/*
 * child.h - calls that a task makes (call.h, call_child): cancelled with it, resumed with it, ended before it.
 *
 * A call's children are a list; the last one that leaves it lets the parent's end be told. For call.c alone.
 */
#ifndef TENON_HOST_CALL_CHILD_H
#define TENON_HOST_CALL_CHILD_H

struct call;

void child_cancel_all(struct call *parent);
void child_resume_all(struct call *parent); /* those that stopped giving chunks */

#endif
