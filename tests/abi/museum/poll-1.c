/*
 * poll-1.c - the exhibit of tenon.poll/1: a pipe that can be written, can be read, and is closed.
 */
#define _POSIX_C_SOURCE 200809L
#include "exhibit.h"
#include <tenon/poll.h>
#include <unistd.h>

MANIFEST("poll", "Uses everything of tenon.poll/1", TN_POLL_1, "")
NODE(polls, "museum.polls", PROPERTY("out", "channel-write"))

static const tn_poll_1 *subject;

struct instance {
    uint32_t out;
    tn_task task;
    tn_value said;
    int pair[2];
    uint64_t reads, writes;
};

static int32_t TN_ABI create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,
                             void **instance) {
    struct instance made;
    int32_t status;
    (void)self, (void)id, (void)length;
    memset(&made, 0, sizeof(made));
    status = bind_out(binder, config, &made.out);
    return keep_instance(status, &made, sizeof(made), instance);
}

static void TN_ABI on_writable(void *user, int32_t events) {
    struct instance *self = (struct instance *)user;
    say_int(&self->said, "can be written", events);
    say_int(&self->said, "written", (int64_t)write(self->pair[1], "tick", 4));
    say_int(&self->said, "unwatch", subject->unwatch(host, self->writes));
    say_int(&self->said, "unwatch again", subject->unwatch(host, self->writes));
    say_int(&self->said, "change what is gone", subject->change(host, self->writes, 0));
}

static void end(struct instance *self) {
    tn_value said = self->said;
    self->said = NULL;
    (void)subject->unwatch(host, self->reads);
    (void)close(self->pair[0]);
    end_said(self->task, self->out, said);
}

static void TN_ABI on_readable(void *user, int32_t events) {
    struct instance *self = (struct instance *)user;
    char text[8];
    long got = (long)read(self->pair[0], text, sizeof(text));
    if (got > 0) {
        say_int(&self->said, "can be read", events);
        say_int(&self->said, "read", got);
        say_int(&self->said, "ask for the end alone", subject->change(host, self->reads, 0));
        (void)close(self->pair[1]);
        return;
    }
    say_int(&self->said, "closed", events);
    end(self);
}

static int32_t TN_ABI start(void *instance, tn_task task, tn_value input) {
    struct instance *self = (struct instance *)instance;
    uint64_t other = 7;
    int32_t reads, writes;
    (void)input;
    if (pipe(self->pair) != 0) return TN_ERROR;
    self->task = task;
    self->said = from_json("{}");
    reads = subject->watch(host, self->pair[0], TN_POLL_READ, on_readable, self, &self->reads);
    writes = subject->watch(host, self->pair[1], TN_POLL_WRITE, on_writable, self, &self->writes);
    say_int(&self->said, "watch", reads);
    say_int(&self->said, "watch the other end", writes);
    say_int(&self->said, "two numbers", self->reads != 0 && self->writes != 0 && self->reads != self->writes);
    say_int(&self->said, "watch again", subject->watch(host, self->pair[0], TN_POLL_READ, on_readable, self, &other));
    say_int(&self->said, "watch what is none", subject->watch(host, -1, TN_POLL_READ, on_readable, self, &other));
    say_int(&self->said, "watch for what there is not",
            subject->watch(host, self->pair[0], 8, on_readable, self, &other));
    say_int(&self->said, "untouched", (int64_t)other);
    say_int(&self->said, "unwatch nothing", subject->unwatch(host, 0));
    return TN_OK;
}

static void TN_ABI destroy(void *instance) {
    values->release(((struct instance *)instance)->said);
    core->release(host, instance);
}

EXHIBIT(TN_POLL_1, tn_poll_1, NULL)
