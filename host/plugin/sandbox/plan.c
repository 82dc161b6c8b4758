/*
 * plan.c - turns effects, and what every process needs, into a list of paths and a few permissions.
 *
 * Every process needs the files that the C library and the dynamic linker open, and the plugin's folder. Paths are
 * resolved once, here: a file or link that is created later is granted only if it is inside a granted folder.
 */
#include "host/plugin/sandbox/plan.h"
#include "adl/value/memory.h"
#include "host/plugin/sandbox/cgroup.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define ALL (SANDBOX_READ | SANDBOX_WRITE)

struct path_grant {
    const char *path;
    uint32_t access;
};

/* Paths that this machine does not have are skipped without a problem. */
static const struct path_grant for_all[] = {
    {"/lib", SANDBOX_READ},
    {"/lib64", SANDBOX_READ},
    {"/usr/lib", SANDBOX_READ},
    {"/usr/lib64", SANDBOX_READ},
    {"/usr/local/lib", SANDBOX_READ},
    {"/usr/share/zoneinfo", SANDBOX_READ},
    {"/usr/share/locale", SANDBOX_READ},
    {"/usr/share/i18n", SANDBOX_READ},
    {"/etc/ld.so.cache", SANDBOX_READ},
    {"/etc/localtime", SANDBOX_READ},
    {"/etc/locale.alias", SANDBOX_READ},
    {"/dev/null", ALL},
    {"/dev/full", ALL},
    {"/dev/random", SANDBOX_READ},
    {"/dev/urandom", SANDBOX_READ},
    {"/proc/self", SANDBOX_READ},
    {"/proc/cpuinfo", SANDBOX_READ},
    {"/proc/meminfo", SANDBOX_READ},
    {"/proc/sys/vm/overcommit_memory", SANDBOX_READ},
    {"/sys/devices/system/cpu", SANDBOX_READ},
    {"/sys/kernel/mm/transparent_hugepage", SANDBOX_READ},
};

/* For a program: the program, its interpreter, and the programs that they start. */
static const struct path_grant for_programs[] = {
    {"/bin", SANDBOX_READ | SANDBOX_RUN},   {"/sbin", SANDBOX_READ | SANDBOX_RUN}, {"/lib", SANDBOX_READ | SANDBOX_RUN},
    {"/lib64", SANDBOX_READ | SANDBOX_RUN}, {"/usr", SANDBOX_READ | SANDBOX_RUN},  {"/etc/alternatives", SANDBOX_READ},
    {"/etc/ld.so.preload", SANDBOX_READ},
};

/* Children started with process.spawn: a rule for our /proc/self does not cover their /proc/PID. */
static const struct path_grant for_children[] = {
    {"/proc", SANDBOX_READ},
    {"/dev/zero", ALL}, /* a shared mapping of it is memory that the limit of data does not count */
};

/* To look up host names, and to verify certificates. */
static const struct path_grant for_network[] = {
    {"/etc/resolv.conf", SANDBOX_READ},
    {"/etc/hosts", SANDBOX_READ},
    {"/etc/nsswitch.conf", SANDBOX_READ},
    {"/etc/host.conf", SANDBOX_READ},
    {"/etc/gai.conf", SANDBOX_READ},
    {"/etc/services", SANDBOX_READ},
    {"/etc/protocols", SANDBOX_READ},
    {"/etc/ssl", SANDBOX_READ},
    {"/etc/pki", SANDBOX_READ},
    {"/etc/ca-certificates", SANDBOX_READ},
    {"/usr/share/ca-certificates", SANDBOX_READ},
};

static void plan_add_problem(struct sandbox_plan *plan, tn_value text) {
    for (size_t i = 0; i < value_count(plan->problems); i++) {
        if (!value_equal(value_at(plan->problems, i), text)) continue;
        value_unref(text);
        return;
    }
    plan->problems = value_push_take(plan->problems, text);
}

/* Returns false with errno if the path cannot be resolved. */
static bool plan_grant(struct sandbox_plan *plan, const char *path, uint32_t access) {
    char resolved[PATH_MAX];
    if (!realpath(path, resolved)) return false;
    for (size_t i = 0; i < plan->path_count; i++) {
        if (strcmp(plan->paths[i].path, resolved) != 0) continue;
        plan->paths[i].access |= access;
        return true;
    }
    if (plan->path_count == SANDBOX_PATHS_MAX) {
        plan_add_problem(plan, value_format("more than %u files and folders are declared: the others are not granted",
                                            SANDBOX_PATHS_MAX));
        return true;
    }
    plan->paths[plan->path_count++] = (struct sandbox_path){mem_text(resolved), access};
    return true;
}

static void plan_grant_list(struct sandbox_plan *plan, const struct path_grant *list, size_t count) {
    for (size_t i = 0; i < count; i++) plan_grant(plan, list[i].path, list[i].access);
}

#define GRANT_ALL(plan, list) plan_grant_list(plan, list, sizeof(list) / sizeof *(list))

static void plan_grant_effect(struct sandbox_plan *plan, const char *effect, const char *path, uint32_t access) {
    if (access & SANDBOX_WRITE) plan->writes = true;
    if (!plan_grant(plan, path ? path : "/", access))
        plan_add_problem(plan, value_format("`%s` is not granted: %s", effect,
                                            errno == ENOENT ? "there is no such file or folder; it must exist before "
                                                              "the plugin is started"
                                                            : strerror(errno)));
}

static void grant_fs_read(struct sandbox_plan *plan, const char *effect, const char *path) {
    plan_grant_effect(plan, effect, path, SANDBOX_READ);
}

static void grant_fs_write(struct sandbox_plan *plan, const char *effect, const char *path) {
    plan_grant_effect(plan, effect, path, SANDBOX_WRITE);
}

static void grant_process_spawn(struct sandbox_plan *plan, const char *effect, const char *argument) {
    (void)effect, (void)argument;
    plan->spawn = true;
}

static void grant_net(struct sandbox_plan *plan, const char *effect, const char *argument) {
    (void)effect;
    if (argument && strcmp(argument, "raw") == 0) plan->network = true;
}

static const struct {
    const char *name;
    void (*grant)(struct sandbox_plan *plan, const char *effect, const char *argument);
} effects[] = {{"fs.read", grant_fs_read},
               {"fs.write", grant_fs_write},
               {"process.spawn", grant_process_spawn},
               {"net", grant_net}};

static void plan_read_effect(struct sandbox_plan *plan, const char *effect) {
    size_t length = strcspn(effect, ":");
    for (size_t i = 0; i < sizeof effects / sizeof *effects; i++)
        if (strlen(effects[i].name) == length && strncmp(effects[i].name, effect, length) == 0)
            effects[i].grant(plan, effect, effect[length] ? effect + length + 1 : NULL);
}

static void plan_grant_limit(void *user, const char *path) { plan_grant(user, path, SANDBOX_READ); }

static void plan_read_effects(struct sandbox_plan *plan, tn_value list) {
    for (size_t i = 0; i < value_count(list); i++) {
        const char *effect = value_chars(value_at(list, i), NULL);
        if (effect) plan_read_effect(plan, effect);
    }
}

static void plan_begin(struct sandbox_plan *plan, bool program, const char *undeclared) {
    *plan = (struct sandbox_plan){.program = program, .undeclared = undeclared, .problems = value_array()};
    GRANT_ALL(plan, for_all);
    cgroup_limits(plan_grant_limit, plan);
}

/* What follows from the effects that were read. */
static void plan_complete(struct sandbox_plan *plan) {
    if (plan->program || plan->spawn) GRANT_ALL(plan, for_programs);
    if (plan->spawn) GRANT_ALL(plan, for_children);
    if (plan->network) GRANT_ALL(plan, for_network);
}

void sandbox_plan_init(struct sandbox_plan *plan, tn_value manifest, const char *path, bool program) {
    char folder[PATH_MAX];
    tn_value components = value_get(manifest, "components");
    plan_begin(plan, program, "the manifest does not declare");
    if (realpath(path, folder)) {
        plan_grant(plan, folder, SANDBOX_READ | (program ? SANDBOX_RUN : 0));
        char *slash = strrchr(folder, '/');
        slash[slash == folder] = 0;
        plan_grant(plan, folder, SANDBOX_READ);
    }
    plan_read_effects(plan, value_get(value_get(manifest, "plugin"), "effects"));
    for (size_t i = 0; i < value_count(components); i++)
        plan_read_effects(plan, value_get(value_at(components, i), "effects"));
    plan_complete(plan);
}

void sandbox_plan_init_program(struct sandbox_plan *plan, tn_value declared, const char *path, tn_value files) {
    plan_begin(plan, true, "the effects of the program do not contain");
    plan_grant(plan, path, SANDBOX_READ | SANDBOX_RUN);
    for (size_t i = 0; i < value_count(files); i++)
        plan_grant(plan, value_chars(value_at(files, i), NULL), SANDBOX_READ);
    plan_read_effects(plan, declared);
    plan_complete(plan);
}

void sandbox_plan_finish(struct sandbox_plan *plan) {
    for (size_t i = 0; i < plan->path_count; i++) mem_free(plan->paths[i].path);
    value_unref(plan->problems);
    *plan = (struct sandbox_plan){.problems = NULL};
}

bool sandbox_plan_allows(const struct sandbox_plan *plan, const char *path, uint32_t access) {
    for (size_t i = 0; i < plan->path_count; i++) {
        const char *granted = plan->paths[i].path;
        size_t length = strcmp(granted, "/") == 0 ? 0 : strlen(granted);
        if (strncmp(path, granted, length) != 0 || (path[length] && path[length] != '/')) continue;
        access &= ~plan->paths[i].access;
    }
    return access == 0;
}
