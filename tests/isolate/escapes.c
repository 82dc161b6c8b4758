/*
 * escapes.c - a plugin that tries to do what a sandbox refuses. tests/e2e/sandbox.sh builds it twice: without effects
 * that grant anything, and with such effects; then GRANTED is "fs.write:" and a folder of the test.
 *
 * It writes the outcome of the attempt to its channel: "done", or the name of the errno.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <tenon/easy.h>
#include <unistd.h>

TN_PLUGIN("test.escapes", "1.0.0", "Tries what a sandbox refuses")

#ifdef GRANTED
#define EFFECTS TN_EFFECTS("process.spawn", "net:raw", "fs.read:/etc/passwd", GRANTED, "secret:DECLARED_SECRET")
#else
#define EFFECTS TN_EFFECTS("destructive", "state.task_create", "network.http:example.org")
#endif

extern char **environ;

static bool
    socket_in_constructor_worked; /* the result of a constructor, which runs before the plugin's entry is called */

__attribute__((constructor)) static void before(void) {
    socket_in_constructor_worked = socket(AF_INET, SOCK_STREAM, 0) >= 0;
}

/* Returns a negative number with errno if the attempt was refused. */
typedef int attempt(const char *file);

static int open_read(const char *file) { return open(file, O_RDONLY | O_CLOEXEC); }
static int open_write(const char *file) { return open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600); }

static int open_relative(const char *file) {
    char path[4096];
    int folder = open("/usr/lib", O_PATH | O_DIRECTORY);
    snprintf(path, sizeof path, "../..%s", file);
    return openat(folder, path, O_RDONLY);
}

static int list_folder(const char *file) { return opendir(file) ? 0 : -1; }
static int make_folder(const char *file) { return mkdir(file, 0700); }
static int remove_file(const char *file) { return unlink(file); }
static int change_mode(const char *file) { return chmod(file, 0777); }

static int change_mode_of_open(const char *file) {
    int opened = open(file, O_PATH);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", opened);
    return opened < 0 ? -1 : chmod(path, 0777);
}

static int change_times(const char *file) { return utimes(file, NULL); }
static int truncate_file(const char *file) { return truncate(file, 0); }
static int link_to_passwd(const char *file) { return symlink("/etc/passwd", file); }

static int sock(const char *file) { return (void)file, socket(AF_INET, SOCK_STREAM, 0); }
static int sock6(const char *file) { return (void)file, socket(AF_INET6, SOCK_DGRAM, 0); }
static int sock_unix(const char *file) { return (void)file, socket(AF_UNIX, SOCK_STREAM, 0); }
static int sock_packet(const char *file) { return (void)file, socket(AF_PACKET, SOCK_RAW, 0); }

static int pair(const char *file) {
    int ends[2];
    return (void)file, socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
}

static int pair_datagram(const char *file) {
    int ends[2];
    return (void)file, socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
}

static int io_uring_setup(const char *file) { return (void)file, (int)syscall(SYS_io_uring_setup, 1, NULL); }

static int fork_child(const char *file) {
    int status;
    (void)file;
    pid_t child = fork();
    if (child == 0) _exit(7);
    if (child < 0 || wait(&status) != child) return -1;
    return WEXITSTATUS(status) == 7 ? 0 : -1;
}

static int exec(const char *file) {
    char *arguments[] = {(char *)(uintptr_t)file, NULL};
    return execve(file, arguments, environ);
}

/* The C library blocks all signals during posix_spawn. */
static int spawn(const char *file) {
    char *arguments[] = {(char *)(uintptr_t)file, NULL};
    pid_t child;
    int status, failed = posix_spawn(&child, file, NULL, NULL, arguments, environ);
    if (failed == 0) return waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 0 ? 0 : -1;
    errno = failed;
    return -1;
}

/* A child inherits the sandbox. */
static int child_reads(const char *file) {
    int status;
    pid_t child = fork();
    if (child == 0) _exit(open(file, O_RDONLY) < 0 ? errno : 0);
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    errno = WEXITSTATUS(status);
    return errno ? -1 : 0;
}

static int child_killed(const char *file) {
    int status;
    (void)file;
    pid_t child = fork();
    if (child == 0)
        for (;;) pause();
    if (child < 0 || kill(child, SIGKILL) != 0 || waitpid(child, &status, 0) != child) return -1;
    return WTERMSIG(status) == SIGKILL ? 0 : -1;
}

static int leave_group(const char *file) { return (void)file, setsid() < 0 && errno == EPERM ? setpgid(0, 0) : 0; }
static int clear_death_signal(const char *file) { return (void)file, prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0); }
static int trace_host(const char *file) { return (void)file, (int)ptrace(PTRACE_ATTACH, getppid(), NULL, NULL); }

static int read_host(const char *file) {
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)(uintptr_t)&byte, 1};
    return (void)file, (int)process_vm_readv(getppid(), &here, 1, &there, 1, 0);
}

static int open_host(const char *file) {
    char path[64];
    (void)file;
    snprintf(path, sizeof path, "/proc/%d/mem", (int)getppid());
    return open(path, O_RDONLY);
}

static int kill_host(const char *file) { return (void)file, kill(getppid(), SIGKILL); }
static int kill_all(const char *file) { return (void)file, kill(-1, SIGCONT); }
static int kill_self(const char *file) { return (void)file, kill(getpid(), 0); }
static int limit_host(const char *file) {
    struct rlimit none = {0, 0};
    return (void)file, prlimit(getppid(), RLIMIT_NOFILE, &none, NULL);
}

static int signal_by_descriptor(const char *file) {
    int ends[2];
    (void)file;
    return pipe(ends) == 0 ? fcntl(ends[0], F_SETOWN, getppid()) : -1;
}

static int new_user(const char *file) { return (void)file, unshare(CLONE_NEWUSER); }
static int mount_one(const char *file) { return (int)syscall(SYS_mount, "none", file, "tmpfs", 0, NULL); }
static int read_keys(const char *file) { return (void)file, (int)syscall(SYS_keyctl, 0, -3, 0); }
static int load_bpf(const char *file) { return (void)file, (int)syscall(SYS_bpf, 0, NULL, 0); }
static int add_filter(const char *file) { return (void)file, (int)syscall(SYS_seccomp, 1, 8, NULL); }
static int call_32_bit(const char *file) {
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20 /* getpid of 32-bit programs */) : "memory");
    (void)file;
    if (result >= 0) return 0;
    errno = (int)-result;
#else
    (void)file;
    errno = ENOSYS;
#endif
    return -1;
}

/* The plugin must not have the descriptor that answers the notifications of the filter. */
static int find_listener(const char *file) {
    char path[64], target[256];
    (void)file;
    for (int i = 0; i < 1024; i++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", i);
        ssize_t length = readlink(path, target, sizeof target - 1);
        if (length < 0) continue;
        target[length] = 0;
        if (strstr(target, "seccomp") || strstr(target, "pidfd")) return 0;
    }
    errno = ENOENT;
    return -1;
}

static int find_capability(const char *file) {
    char line[256];
    unsigned long long held = 0, bits;
    FILE *status = fopen("/proc/self/status", "r");
    (void)file;
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "Cap%*3[A-Za-z]: %llx", &bits) == 1) held |= bits;
    if (!status || held) return 0;
    fclose(status);
    errno = EPERM;
    return -1;
}

static int allocate(const char *file) {
    (void)file;
    errno = 0;
    void *block = mmap(NULL, 5ull << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return block == MAP_FAILED ? -1 : 0;
}

static int write_beyond_limit(const char *file) {
    int opened = open(file, O_WRONLY | O_CREAT, 0600);
    int result = opened < 0 ? -1 : (int)pwrite(opened, "", 1, 2ll << 30);
    int why = errno;
    if (opened >= 0) close(opened);
    errno = why;
    return result;
}

/* ---- What Landlock does not guard: attributes, links, changes ---- */

static int get_attribute(const char *file) { return (int)getxattr(file, "user.secret", NULL, 0); }
static int list_attributes(const char *file) { return (int)listxattr(file, NULL, 0); }
static int get_attribute_of_link(const char *file) { return (int)lgetxattr(file, "user.secret", NULL, 0); }

static int get_attribute_at(const char *file) {
    struct {
        uint64_t value;
        uint32_t size, flags;
    } arguments = {0, 0, 0};
    return (int)syscall(464 /* getxattrat */, AT_FDCWD, file, 0, "user.secret", &arguments, sizeof arguments);
}

static int get_attribute_of_path(const char *file) {
    int opened = open(file, O_PATH);
    return opened < 0 ? -1 : (int)fgetxattr(opened, "user.secret", NULL, 0);
}

static int get_attribute_of_open(const char *file) {
    int opened = open(file, O_RDONLY);
    return opened < 0 ? -1 : (int)fgetxattr(opened, "user.secret", NULL, 0);
}

static int get_attribute_by_descriptor(const char *file) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", open(file, O_PATH));
    return (int)getxattr(path, "user.secret", NULL, 0);
}

/* 0 if the text of the link was read and is a path. */
static int check_link(ssize_t length, const char *text) {
    return length < 0 ? -1 : length > 0 && *text == '/' ? 0 : -1;
}

static int read_link(const char *file) {
    char text[4096];
    return check_link(readlink(file, text, sizeof text), text);
}

static int read_link_relative(const char *file) {
    char path[4096], text[4096];
    int folder = open("/usr/lib", O_PATH | O_DIRECTORY);
    snprintf(path, sizeof path, "../..%s", file);
    return check_link(readlinkat(folder, path, text, sizeof text), text);
}

static int read_open_link(const char *file) {
    char text[4096];
    return check_link(readlinkat(open(file, O_PATH | O_NOFOLLOW), "", text, sizeof text), text);
}

/* The path of a descriptor that was opened through the link. */
static int read_link_by_descriptor(const char *file) {
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/self/fd/%d", open(file, O_PATH));
    return check_link(readlink(path, text, sizeof text), text);
}

static int enter_link(const char *file) {
    char text[4096];
    if (chdir(file) != 0) return -1;
    int result = syscall(SYS_getcwd, text, sizeof text) < 0 ? -1 : 0, why = errno;
    char path[64];
    if (result < 0 && readlink("/proc/self/cwd", path, sizeof path) >= 0) result = 0;
    errno = why;
    return result;
}

static int resolve(const char *file) {
    char *path = realpath(file, NULL);
    free(path);
    return path ? 0 : -1;
}

/* The links whose text every process may read. */
static int read_own_links(const char *file) {
    char text[4096] = "", pid[32], folder[4096];
    (void)file;
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    if (readlink("/proc/self", text, sizeof text - 1) < 0 || strcmp(text, pid) != 0) return -1;
    memset(text, 0, sizeof text);
    if (readlink("/proc/self/exe", text, sizeof text - 1) < 0 || !strstr(text, "/tenon")) return -1;
    memset(text, 0, sizeof text);
    if (readlink("/proc/self/exe", text, 3) != 3) return -1; /* cut, without a zero */
    if (readlink("/dev/fd", text, sizeof text) < 0) return -1;
    if (!getcwd(folder, sizeof folder) || !realpath(".", text) || strcmp(folder, text) != 0) return -1;
    if (readlink("/usr", text, sizeof text) >= 0 || errno != EINVAL) return -1;
    if (readlink("/nowhere/at/all", text, sizeof text) >= 0 || errno != ENOENT) return -1;
    if (syscall(SYS_readlink, "/proc/self", (char *)8, 100) >= 0 || errno != EFAULT) return -1;
    return syscall(SYS_readlink, (char *)8, text, 100) >= 0 || errno != EFAULT ? -1 : 0;
}

static int inform(const char *file) { return (void)file, inotify_init1(IN_CLOEXEC); }
static int inform_of_all(const char *file) { return (void)file, (int)syscall(SYS_fanotify_init, 0, 0); }

/* ---- Memory beyond the limit ---- */

static int share_memory(const char *file) {
    (void)file;
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1 : 0;
}

static int share_zeros(const char *file) {
    int zero = open(file, O_RDWR);
    if (zero < 0) return -1;
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, zero, 0) == MAP_FAILED ? -1 : 0;
}

static int make_memory_file(const char *file) { return (void)file, memfd_create("memory", MFD_CLOEXEC); }
static int make_secret_memory(const char *file) { return (void)file, (int)syscall(447 /* memfd_secret */, 0); }
static int make_shared_object(const char *file) { return shm_open(file, O_RDWR | O_CREAT, 0600); }
static int make_segment(const char *file) { return (void)file, shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600); }

/* Memory that is read-only does not count for the limit of data. */
static int hide_memory(const char *file) {
    size_t size = 32u << 20;
    (void)file;
    for (int i = 0; i < 32; i++) {
        char *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (block == MAP_FAILED) return -1;
        memset(block, 1, size);
        mprotect(block, size, PROT_READ);
    }
    for (;;) pause();
}

/* ---- Signals to other processes, and their settings ---- */

static int signal_group(const char *file) { return (void)file, kill(0, 0); }
static int stop_group(const char *file) { return (void)file, kill(0, SIGSTOP); }
static int stop_self(const char *file) { return (void)file, raise(SIGSTOP); }
static int kill_group_of_host(const char *file) { return (void)file, killpg(getpgid(getppid()), SIGCONT); }
static int tkill_host(const char *file) { return (void)file, (int)syscall(SYS_tkill, getppid(), SIGCONT); }
static int tgkill_host(const char *file) { return (void)file, (int)syscall(SYS_tgkill, getppid(), getppid(), SIGCONT); }

static int queue_to_host(const char *file) {
    siginfo_t info = {.si_signo = SIGCONT, .si_code = SI_QUEUE};
    return (void)file, (int)syscall(SYS_rt_sigqueueinfo, getppid(), SIGCONT, &info);
}

static int signal_host_by_pidfd(const char *file) {
    (void)file;
    return (int)syscall(SYS_pidfd_send_signal, (int)syscall(SYS_pidfd_open, getppid(), 0), SIGCONT, NULL, 0);
}

static int slow_host(const char *file) { return (void)file, setpriority(PRIO_PROCESS, (id_t)getppid(), 19); }
static int slow_group(const char *file) { return (void)file, setpriority(PRIO_PGRP, 0, 19); }
static int slow_user(const char *file) { return (void)file, setpriority(PRIO_USER, 0, 19); }
static int slow_disk_of_host(const char *file) { return (void)file, (int)syscall(SYS_ioprio_set, 1, getppid(), 7); }

static int schedule_host(const char *file) {
    struct sched_param idle = {0};
    return (void)file, sched_setscheduler(getppid(), SCHED_IDLE, &idle);
}

static int pin_host(const char *file) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    return (void)file, sched_setaffinity(getppid(), sizeof one, &one);
}

static int pin_self(const char *file) {
    cpu_set_t all;
    (void)file;
    return sched_getaffinity(0, sizeof all, &all) == 0 ? sched_setaffinity(gettid(), sizeof all, &all) : -1;
}

static int socket_in_constructor(const char *file) {
    (void)file;
    errno = EPERM;
    return socket_in_constructor_worked ? 0 : -1;
}

/* Only the secret that the manifest names, and what every program gets of the host's environment. */
static int read_secrets(const char *file) {
    static const char *const basic[] = {"HOME=", "PATH=", "LANG=", "TERM=", "USER=", "SHELL=", "TMPDIR="};
    (void)file;
    for (char **entry = environ; *entry; entry++) {
        bool known = strncmp(*entry, "DECLARED_SECRET=", 16) == 0;
        for (size_t i = 0; i < sizeof basic / sizeof *basic; i++)
            known |= strncmp(*entry, basic[i], strlen(basic[i])) == 0;
        errno = EPERM;
        if (!known) return -1;
    }
    errno = ENOENT;
    return getenv("DECLARED_SECRET") ? 0 : -1;
}

static int open_system_files(const char *file) {
    return open("/usr/share/zoneinfo/Europe/Berlin", O_RDONLY) < 0 || open("/dev/null", O_RDWR) < 0 ||
                   open("/proc/self/maps", O_RDONLY) < 0 || open("/dev/urandom", O_RDONLY) < 0
               ? -1
               : (void)file,
           0;
}

static int open_repeatedly(const char *file) {
    for (int i = 0; i < 500; i++)
        if (open(file, O_RDONLY) >= 0) return 0;
    return -1;
}

/* Ignores all requests to end. Writes the process ids of itself and a child to the file. */
static int ignore_signals(const char *file) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    pid_t child = fork();
    FILE *out = child > 0 ? fopen(file, "w") : NULL;
    if (out) fprintf(out, "%d\n%d\n", (int)getpid(), (int)child);
    if (out) fclose(out);
    if (child > 0 && strstr(file, "stopped")) kill(0, SIGSTOP); /* after the file is written */
    for (;;) pause();
}

/* A path that changes while it is checked. */
static const char *changing;
static char swapped[256]; /* static, because the thread never ends */

static void *change_path(void *unused) {
    for (;;) {
        memcpy(swapped, "/dev/null\0\0\0", 12);
        memcpy(swapped, changing, strlen(changing) + 1);
    }
    return unused;
}

static int race_with_check(const char *file) {
    pthread_t thread;
    changing = strdup(file);
    if (strlen(file) > 200 || pthread_create(&thread, NULL, change_path, NULL) != 0) return 0;
    for (int i = 0; i < 3000; i++) {
        char byte, link[64], target[256] = "";
        int opened = open(swapped, O_RDONLY | O_CLOEXEC);
        if (opened < 0) continue;
        snprintf(link, sizeof link, "/proc/self/fd/%d", opened);
        if (readlink(link, target, sizeof target - 1) > 0 && strcmp(target, file) == 0 && read(opened, &byte, 1) >= 0)
            return 0;
        close(opened);
    }
    errno = EACCES;
    return -1;
}

/* A link that changes while it is checked. */
static int race_with_link(const char *file) {
    pthread_t thread;
    changing = strdup(file);
    if (strlen(file) > 200 || pthread_create(&thread, NULL, change_path, NULL) != 0) return 0;
    for (int i = 0; i < 3000; i++) {
        char text[256] = "";
        if (readlink(swapped, text, sizeof text - 1) >= 0 && *text == '/') return 0;
    }
    errno = EACCES;
    return -1;
}

static const struct {
    const char *name;
    attempt *run;
} attempts[] = {
    {"open_read", open_read},
    {"open_write", open_write},
    {"open_relative", open_relative},
    {"list_folder", list_folder},
    {"make_folder", make_folder},
    {"remove_file", remove_file},
    {"change_mode", change_mode},
    {"change_mode_of_open", change_mode_of_open},
    {"change_times", change_times},
    {"truncate_file", truncate_file},
    {"link_to_passwd", link_to_passwd},
    {"sock", sock},
    {"sock6", sock6},
    {"sock_unix", sock_unix},
    {"sock_packet", sock_packet},
    {"pair", pair},
    {"pair_datagram", pair_datagram},
    {"io_uring_setup", io_uring_setup},
    {"fork_child", fork_child},
    {"exec", exec},
    {"spawn", spawn},
    {"child_reads", child_reads},
    {"child_killed", child_killed},
    {"leave_group", leave_group},
    {"clear_death_signal", clear_death_signal},
    {"trace_host", trace_host},
    {"read_host", read_host},
    {"open_host", open_host},
    {"kill_host", kill_host},
    {"kill_all", kill_all},
    {"kill_self", kill_self},
    {"limit_host", limit_host},
    {"signal_by_descriptor", signal_by_descriptor},
    {"new_user", new_user},
    {"mount_one", mount_one},
    {"read_keys", read_keys},
    {"load_bpf", load_bpf},
    {"add_filter", add_filter},
    {"call_32_bit", call_32_bit},
    {"find_listener", find_listener},
    {"find_capability", find_capability},
    {"allocate", allocate},
    {"write_beyond_limit", write_beyond_limit},
    {"socket_in_constructor", socket_in_constructor},
    {"read_secrets", read_secrets},
    {"open_system_files", open_system_files},
    {"open_repeatedly", open_repeatedly},
    {"ignore_signals", ignore_signals},
    {"race_with_check", race_with_check},
    {"get_attribute", get_attribute},
    {"list_attributes", list_attributes},
    {"get_attribute_of_link", get_attribute_of_link},
    {"get_attribute_at", get_attribute_at},
    {"get_attribute_of_path", get_attribute_of_path},
    {"get_attribute_of_open", get_attribute_of_open},
    {"get_attribute_by_descriptor", get_attribute_by_descriptor},
    {"read_link", read_link},
    {"read_link_relative", read_link_relative},
    {"read_open_link", read_open_link},
    {"read_link_by_descriptor", read_link_by_descriptor},
    {"enter_link", enter_link},
    {"resolve", resolve},
    {"read_own_links", read_own_links},
    {"inform", inform},
    {"inform_of_all", inform_of_all},
    {"race_with_link", race_with_link},
    {"share_memory", share_memory},
    {"share_zeros", share_zeros},
    {"make_memory_file", make_memory_file},
    {"make_secret_memory", make_secret_memory},
    {"make_shared_object", make_shared_object},
    {"make_segment", make_segment},
    {"hide_memory", hide_memory},
    {"signal_group", signal_group},
    {"stop_group", stop_group},
    {"stop_self", stop_self},
    {"kill_group_of_host", kill_group_of_host},
    {"tkill_host", tkill_host},
    {"tgkill_host", tgkill_host},
    {"queue_to_host", queue_to_host},
    {"signal_host_by_pidfd", signal_host_by_pidfd},
    {"slow_host", slow_host},
    {"slow_group", slow_group},
    {"slow_user", slow_user},
    {"slow_disk_of_host", slow_disk_of_host},
    {"schedule_host", schedule_host},
    {"pin_host", pin_host},
    {"pin_self", pin_self},
};

TN_NODE(escape, "test.escape", "Tries to get out.", EFFECTS, (TEXT, how, "how"), (TEXT_OR, file, "", "with which file"),
        (WRITE, out, "a channel")) {
    (void)input;
    for (size_t i = 0; i < sizeof attempts / sizeof *attempts; i++) {
        if (strcmp(attempts[i].name, config->how) != 0) continue;
        const char *end = attempts[i].run(config->file) < 0 ? strerrorname_np(errno) : "done";
        return tn_done_written(task, tn_write_text(task, config->out, end ? end : "failed"));
    }
    return tn_done_written(task, tn_write_text(task, config->out, "there is no such attempt"));
}

/* Runs on a worker thread, which is also in the sandbox. */
TN_NODE_BLOCKING(later, "test.later", "Tries it on a worker.", EFFECTS, (TEXT, file, "a file"),
                 (WRITE, out, "a channel")) {
    (void)input;
    const char *end = open(config->file, O_RDONLY) < 0 ? strerrorname_np(errno) : "done";
    return tn_done_written(task, tn_write_text(task, config->out, end));
}
