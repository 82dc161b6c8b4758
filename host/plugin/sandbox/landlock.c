/*
 * landlock.c - the three system calls of Landlock, for which the C library has no functions.
 *
 * Newer rights and structures are defined here, because the installed kernel header may be older than the kernel.
 */
#include "host/plugin/sandbox/landlock.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Defined by linux/landlock.h since versions 3 and 5. */
#define TRUNCATE  (1ull << 14)
#define IOCTL_DEV (1ull << 15)

#define READ_FILE  LANDLOCK_ACCESS_FS_READ_FILE
#define READ       (READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define RUN        LANDLOCK_ACCESS_FS_EXECUTE
#define WRITE_FILE (LANDLOCK_ACCESS_FS_WRITE_FILE | TRUNCATE)
#define WRITE                                                                                                          \
    (WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |       \
     LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |                       \
     LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER)
#define DEVICES  (LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK | IOCTL_DEV) /* never granted */
#define OF_FILES (READ_FILE | WRITE_FILE | RUN) /* the rights that a rule for a file may contain */

#define TCP    3ull /* bind and connect */
#define SCOPED 3ull /* abstract sockets and signals */

struct landlock_rights {
    uint64_t files, network, scoped;
};

/* The part of the structure that this version knows. */
static size_t landlock_rights_size(int version) {
    if (version < 4) return sizeof(uint64_t);
    return version < LANDLOCK_VERSION_SIGNALS ? 2 * sizeof(uint64_t) : sizeof(struct landlock_rights);
}

/* The file rights that this version knows. */
static uint64_t landlock_file_rights(int version) {
    uint64_t files = READ | RUN | WRITE | DEVICES;
    if (version < 2) files &= ~(uint64_t)LANDLOCK_ACCESS_FS_REFER;
    if (version < 3) files &= ~TRUNCATE;
    if (version < 5) files &= ~IOCTL_DEV;
    return files;
}

int landlock_version(void) {
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return version > 0 ? (int)version : 0;
}

static bool landlock_add_path(int ruleset, const struct sandbox_path *path, uint64_t known) {
    struct stat status;
    uint64_t rights = (path->access & SANDBOX_READ ? READ : 0) | (path->access & SANDBOX_WRITE ? WRITE : 0) |
                      (path->access & SANDBOX_RUN ? RUN : 0);
    int file = open(path->path, O_PATH | O_CLOEXEC);
    if (file < 0) return errno == ENOENT || errno == EACCES; /* there is nothing to grant */
    if (fstat(file, &status) == 0 && !S_ISDIR(status.st_mode)) rights &= OF_FILES;
    struct landlock_path_beneath_attr rule = {.allowed_access = rights & known, .parent_fd = file};
    bool done =
        !rule.allowed_access || syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
    close(file);
    return done;
}

bool landlock_enter(const struct sandbox_plan *plan, int version, struct error *error) {
    uint64_t known = landlock_file_rights(version);
    struct landlock_rights rights = {known, plan->network ? 0 : TCP, SCOPED};
    const char *path = "the rules";
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &rights, landlock_rights_size(version), 0);
    bool done = ruleset >= 0;
    for (size_t i = 0; done && i < plan->path_count; i++) {
        path = plan->paths[i].path;
        done = landlock_add_path(ruleset, &plan->paths[i], known);
    }
    if (done) path = "the rules";
    if (done) done = syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
    if (!done)
        error_set(error, TN_ERROR, "SANDBOX", "Landlock cannot restrict this process, at %s: %s", path,
                  strerror(errno));
    if (ruleset >= 0) close(ruleset);
    return done;
}
