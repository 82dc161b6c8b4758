/*
 * deaths.c - a plugin whose process ends in every possible way, for tests/e2e/deaths.sh.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <tenon/easy.h>
#include <unistd.h>

TN_PLUGIN("test.deaths", "1.0.0", "Ends in every possible way")

static volatile int *nowhere;

static int overflow(volatile char *before) {
    volatile char here[4096];
    here[0] = before ? before[0] : 1;
    return overflow(here) + here[0];
}

static void exhaust(void) {
    for (char *block; (block = malloc(8 << 20)) != NULL;) memset(block, 1, 8 << 20);
    fprintf(stderr, "no memory is left\n");
    abort();
}

static void leak(void) {
    while (open("/dev/null", O_RDONLY) >= 0) continue;
    fprintf(stderr, "no descriptor is left\n");
    exit(4);
}

/* Starts a child that stays in the process group and never ends. Writes both process ids to a file. */
static void start_lasting_child(const char *file) {
    pid_t child = fork();
    if (child == 0) {
        for (;;) pause();
    }
    FILE *out = fopen(file, "w");
    if (!out) return;
    fprintf(out, "%d\n%d\n", (int)getpid(), (int)child);
    fclose(out);
}

/* Longer than a message may be. */
static tn_value large_text(void) {
    size_t length = 65u << 20;
    char *text = malloc(length);
    if (!text) abort();
    memset(text, 'x', length);
    tn_value value = tn_text_n(text, length);
    free(text);
    return value;
}

TN_NODE(end, "test.end", "Ends.", TN_EFFECTS("process.spawn", "fs.write:/tmp"), (TEXT, how, "how"),
        (TEXT_OR, file, "", "a file to write to"), (WRITE, out, "a channel")) {
    (void)input;
    fprintf(stderr, "about to %s\n", config->how);
    if (strcmp(config->how, "segfault") == 0) *nowhere = 1;
    if (strcmp(config->how, "abort") == 0) abort();
    if (strcmp(config->how, "exit") == 0) exit(3);
    if (strcmp(config->how, "overflow") == 0) return overflow(NULL);
    if (strcmp(config->how, "exhaust") == 0) exhaust();
    if (strcmp(config->how, "leak") == 0) leak();
    if (strcmp(config->how, "spin") == 0)
        for (;;) nowhere = NULL;
    if (strcmp(config->how, "garbage") == 0 && write(3, "this is garbage!!!\n\n\n", 21) < 0) abort();
    if (strcmp(config->how, "close") == 0) close(3);
    if (strcmp(config->how, "fork") == 0) start_lasting_child(config->file);
    if (strcmp(config->how, "orphan") == 0) {
        start_lasting_child(config->file);
        _exit(5);
    }
    if (strcmp(config->how, "print") == 0) {
        printf("printed\n");
        fflush(stdout);
    }
    if (strcmp(config->how, "large") == 0) return tn_done_written(task, tn_write_take(task, config->out, large_text()));
    if (strcmp(config->how, "chunk") == 0) {
        tn_value chunk = large_text();
        tn.task->emit(task, chunk);
        tn_release(chunk);
    }
    if (strcmp(config->how, "wait") == 0) {
        start_lasting_child(config->file);
        for (;;) pause();
    }
    return tn_done_written(task, tn_write_int(task, config->out, 1));
}

/* Without effects, so that the host may retry it. */
TN_NODE(exits, "test.exits", "Exits.", TN_PURE, (WRITE, out, "a channel")) {
    (void)input, (void)config, (void)task;
    exit(3);
}
