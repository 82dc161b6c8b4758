/*
 * plan.h - what a plugin in a process of its own may do, made from the effects that its manifest declares.
 *
 * A process is one: what any of its components declares, all of them can use. What is not declared is not granted; a
 * component that declares no effects at all grants nothing (to whoever asks what it may do the worst is assumed of it,
 * and so it is given the least). sdk/isolation.md has the table of effects; an effect that is not in it opens nothing.
 *
 *     struct sandbox_plan plan;
 *     sandbox_plan_init(&plan, manifest, "/opt/acme/acme.so", false);
 *     if (sandbox_plan_allows(&plan, "/data/in.csv", SANDBOX_READ)) ...
 *     sandbox_plan_finish(&plan);
 */
#ifndef TENON_HOST_SANDBOX_PLAN_H
#define TENON_HOST_SANDBOX_PLAN_H

#include "adl/value/value.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SANDBOX_PATHS_MAX 256u /* files and folders of one plan; what comes after them is not granted, and told */

#define SANDBOX_READ  1u
#define SANDBOX_WRITE 2u /* change, make, remove */
#define SANDBOX_RUN   4u /* as a program */

struct sandbox_path {
    char *path; /* absolute, without links; a folder is all that is in it */
    uint32_t access;
};

struct sandbox_plan {
    struct sandbox_path paths[SANDBOX_PATHS_MAX];
    size_t path_count;
    bool program;      /* the plugin is a program by itself: it is executed */
    bool spawn;        /* process.spawn */
    bool network;      /* net:raw */
    bool writes;       /* there is a fs.write */
    tn_value problems; /* texts: what was declared and could not be granted */
};

/* `path` is the plugin's file. Never fails: what cannot be granted is among the problems. */
void sandbox_plan_init(struct sandbox_plan *plan, tn_value manifest, const char *path, bool program);
void sandbox_plan_finish(struct sandbox_plan *plan);
/* Whether all of `access` is granted to a path that is absolute and without links. */
bool sandbox_plan_allows(const struct sandbox_plan *plan, const char *path, uint32_t access);

#endif
