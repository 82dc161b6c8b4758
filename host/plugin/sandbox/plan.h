/*
 * plan.h - what an isolated plugin may do, derived from the effects that its manifest declares.
 *
 * The unit is the process: an effect that one component declares is granted to all components of the plugin. An effect
 * that is not declared is not granted, and a component without `effects` grants nothing. (Callers that ask what such a
 * component may do assume the worst; the sandbox grants it the least.) sdk/guide/isolation.md has the table of effects;
 * an effect that is not in the table grants nothing.
 *
 *     struct sandbox_plan plan;
 *     sandbox_plan_init(&plan, manifest, "/opt/acme/acme.so", false);
 *     if (sandbox_plan_allows(&plan, "/data/in.csv", SANDBOX_READ)) ...
 *     sandbox_plan_finish(&plan);
 */
#ifndef TENON_HOST_PLUGIN_SANDBOX_PLAN_H
#define TENON_HOST_PLUGIN_SANDBOX_PLAN_H

#include "adl/value/value.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SANDBOX_PATHS_MAX 256u /* files and folders of one plan; more are not granted, and reported as a problem */

#define SANDBOX_READ  1u
#define SANDBOX_WRITE 2u /* change, create, remove */
#define SANDBOX_RUN   4u /* execute as a program */

struct sandbox_path {
    char *path; /* absolute, without symbolic links; a folder includes everything below it */
    uint32_t access;
};

struct sandbox_plan {
    struct sandbox_path paths[SANDBOX_PATHS_MAX];
    size_t path_count;
    bool program; /* the plugin is a program: it is executed instead of loaded */
    bool spawn;   /* process.spawn is declared */
    bool network; /* net:raw is declared */
    bool writes;  /* fs.write is declared */
    /* For messages, with an effect behind it: "the manifest does not declare". */
    const char *undeclared;
    tn_value problems; /* array of texts: what was declared and could not be granted */
};

/* `path` is the plugin's file. Never fails: an effect that cannot be granted is added to `problems`. */
void sandbox_plan_init(struct sandbox_plan *plan, tn_value manifest, const char *path, bool program);
/*
 * The plan of a program that a plugin starts (tenon/launch.h). `declared` (its effects) and `files` (which it can read)
 * are arrays of strings, or NULL. Unlike a plugin, it can read only its file, not the folder of the file.
 */
void sandbox_plan_init_program(struct sandbox_plan *plan, tn_value declared, const char *path, tn_value files);
void sandbox_plan_finish(struct sandbox_plan *plan);
/* True if all bits of `access` are granted. `path` must be absolute and without symbolic links. */
bool sandbox_plan_allows(const struct sandbox_plan *plan, const char *path, uint32_t access);

#endif
