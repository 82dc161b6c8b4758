/*
 * plan.c - effects, and what every process needs to run at all, as a list of paths and a few permissions.
 *
 * What every process needs is what the C library and the dynamic linker open by themselves, and the plugin's own
 * folder. Paths are resolved here, once: what is made or linked later under another name is not granted.
 */
#include "host/sandbox/plan.h"
#include "adl/value/memory.h"
#include "host/sandbox/cgroup.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define ALL (SANDBOX_READ | SANDBOX_WRITE)

struct given {
    const char *path;
    uint32_t access;
};

/* Those that this machine does not have are left out in silence. */
static const struct given for_all[] = {
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
    {"/dev/zero", ALL},
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

/* A program, its interpreter, and what these start. */
static const struct given for_programs[] = {
    {"/bin", SANDBOX_READ | SANDBOX_RUN},   {"/sbin", SANDBOX_READ | SANDBOX_RUN}, {"/lib", SANDBOX_READ | SANDBOX_RUN},
    {"/lib64", SANDBOX_READ | SANDBOX_RUN}, {"/usr", SANDBOX_READ | SANDBOX_RUN},  {"/etc/alternatives", SANDBOX_READ},
    {"/etc/ld.so.preload", SANDBOX_READ},
};

/* Those of process.spawn have other numbers than ours, which "/proc/self" is not for them. */
static const struct given for_children[] = {{"/proc", SANDBOX_READ}};

/* Names of hosts, and the certificates to know them by. */
static const struct given for_network[] = {
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

static void problem(struct sandbox_plan *plan, tn_value text) {
    for (size_t i = 0; i < value_count(plan->problems); i++) {
        if (!value_equal(value_at(plan->problems, i), text)) continue;
        value_unref(text);
        return;
    }
    plan->problems = value_push_take(plan->problems, text);
}

/* False: there is no such file, and errno says why. */
static bool grant(struct sandbox_plan *plan, const char *path, uint32_t access) {
    char resolved[PATH_MAX];
    if (!realpath(path, resolved)) return false;
    for (size_t i = 0; i < plan->path_count; i++) {
        if (strcmp(plan->paths[i].path, resolved) != 0) continue;
        plan->paths[i].access |= access;
        return true;
    }
    if (plan->path_count == SANDBOX_PATHS_MAX) {
        problem(plan, value_format("more than %u files and folders: the others are not granted", SANDBOX_PATHS_MAX));
        return true;
    }
    plan->paths[plan->path_count++] = (struct sandbox_path){mem_text(resolved), access};
    return true;
}

static void grant_all(struct sandbox_plan *plan, const struct given *list, size_t count) {
    for (size_t i = 0; i < count; i++) grant(plan, list[i].path, list[i].access);
}

#define GRANT_ALL(plan, list) grant_all(plan, list, sizeof(list) / sizeof *(list))

static void grant_effect(struct sandbox_plan *plan, const char *effect, const char *path, uint32_t access) {
    if (access & SANDBOX_WRITE) plan->writes = true;
    if (!grant(plan, path ? path : "/", access))
        problem(plan, value_format("`%s` is not granted: %s", effect,
                                   errno == ENOENT ? "there is no such file or folder; it must be there when the "
                                                     "plugin is started"
                                                   : strerror(errno)));
}

static void fs_read(struct sandbox_plan *plan, const char *effect, const char *path) {
    grant_effect(plan, effect, path, SANDBOX_READ);
}

static void fs_write(struct sandbox_plan *plan, const char *effect, const char *path) {
    grant_effect(plan, effect, path, SANDBOX_WRITE);
}

static void process_spawn(struct sandbox_plan *plan, const char *effect, const char *argument) {
    (void)effect, (void)argument;
    plan->spawn = true;
}

static void net(struct sandbox_plan *plan, const char *effect, const char *argument) {
    (void)effect;
    if (argument && strcmp(argument, "raw") == 0) plan->network = true;
}

static const struct {
    const char *name;
    void (*open)(struct sandbox_plan *plan, const char *effect, const char *argument);
} effects[] = {{"fs.read", fs_read}, {"fs.write", fs_write}, {"process.spawn", process_spawn}, {"net", net}};

static void read_effect(struct sandbox_plan *plan, const char *effect) {
    size_t length = strcspn(effect, ":");
    for (size_t i = 0; i < sizeof effects / sizeof *effects; i++)
        if (strlen(effects[i].name) == length && strncmp(effects[i].name, effect, length) == 0)
            effects[i].open(plan, effect, effect[length] ? effect + length + 1 : NULL);
}

static void grant_limit(void *user, const char *path) { grant(user, path, SANDBOX_READ); }

static void read_effects(struct sandbox_plan *plan, tn_value list) {
    for (size_t i = 0; i < value_count(list); i++) {
        const char *effect = value_chars(value_at(list, i), NULL);
        if (effect) read_effect(plan, effect);
    }
}

void sandbox_plan_init(struct sandbox_plan *plan, tn_value manifest, const char *path, bool program) {
    char folder[PATH_MAX];
    tn_value components = value_get(manifest, "components");
    *plan = (struct sandbox_plan){.program = program, .problems = value_array()};
    GRANT_ALL(plan, for_all);
    cgroup_limits(grant_limit, plan);
    if (realpath(path, folder)) {
        grant(plan, folder, SANDBOX_READ | (program ? SANDBOX_RUN : 0));
        char *slash = strrchr(folder, '/');
        slash[slash == folder] = 0;
        grant(plan, folder, SANDBOX_READ);
    }
    read_effects(plan, value_get(value_get(manifest, "plugin"), "effects"));
    for (size_t i = 0; i < value_count(components); i++)
        read_effects(plan, value_get(value_at(components, i), "effects"));
    if (plan->program || plan->spawn) GRANT_ALL(plan, for_programs);
    if (plan->spawn) GRANT_ALL(plan, for_children);
    if (plan->network) GRANT_ALL(plan, for_network);
}

void sandbox_plan_finish(struct sandbox_plan *plan) {
    for (size_t i = 0; i < plan->path_count; i++) mem_free(plan->paths[i].path);
    value_unref(plan->problems);
    *plan = (struct sandbox_plan){.problems = NULL};
}

bool sandbox_plan_allows(const struct sandbox_plan *plan, const char *path, uint32_t access) {
    for (size_t i = 0; i < plan->path_count; i++) {
        const char *given = plan->paths[i].path;
        size_t length = strcmp(given, "/") == 0 ? 0 : strlen(given);
        if (strncmp(path, given, length) != 0 || (path[length] && path[length] != '/')) continue;
        access &= ~plan->paths[i].access;
    }
    return access == 0;
}
