/*
 * wrongs.c - a plugin that violates the contract in several ways, for tests/e2e/guard.sh.
 */
#include <pthread.h>
#include <string.h>
#include <tenon/easy.h>
#include <time.h>

TN_PLUGIN("test.wrongs", "1.0.0", "Violates the contract")

static tn_value kept;

static void *read_on_another_thread(void *argument) {
    tn_value value = tn_read(*(tn_task *)argument, 0);
    tn.value->release(value);
    return NULL;
}

static void use_cpu(double seconds) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    double end = (double)now.tv_sec + (double)now.tv_nsec / 1e9 + seconds;
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((double)now.tv_sec + (double)now.tv_nsec / 1e9 < end);
}

TN_NODE(wrong, "test.wrong", "Does something wrong.", TN_PURE, (TEXT, what, "what"), (READ, in, "a channel"),
        (WRITE, out, "a channel")) {
    if (strcmp(config->what, "twice") == 0) {
        tn.task->complete(task, NULL);
        tn.task->complete(task, NULL);
        return TN_OK;
    }
    if (strcmp(config->what, "thread") == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, read_on_another_thread, &task) == 0) pthread_join(thread, NULL);
    }
    if (strcmp(config->what, "hold") == 0) use_cpu(0.02);
    if (strcmp(config->what, "leak") == 0) {
        tn_value text = tn_text_n("this is never released", 22);
        tn.task->write(task, config->out, text);
    }
    if (strcmp(config->what, "late") == 0) {
        if (kept) tn.value->count(kept); /* it was borrowed for the previous call */
        kept = input;
    }
    return tn_done(task);
}
