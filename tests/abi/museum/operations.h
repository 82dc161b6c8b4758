/*
 * operations.h - what the exhibits of document and state share: operations that are called, and waited for, in turn.
 *
 * The exhibit defines `subject`, `listed` (an operation that it does not perform) and `asked`: of each operation the
 * status is said, and the member `say` of the result or error. The node museum.calls uses invoke, museum.waits uses
 * invoke_wait.
 */
#ifndef MUSEUM_OPERATIONS_H
#define MUSEUM_OPERATIONS_H

#include "exhibit.h"

struct asked {
    const char *what, *operation, *arguments, *say;
};

struct instance {
    uint32_t out;
    int waits;
    size_t next;
    tn_task task;
    tn_value said;
};

#define OPERATIONS                                                                                                     \
    static int32_t TN_ABI create(void *self, const char *id, uint64_t length, tn_value config, tn_binder *binder,      \
                                 void **instance) {                                                                    \
        struct instance made = {0, is_id(id, length, "museum.waits"), 0, 0, NULL};                                     \
        (void)self;                                                                                                    \
        int32_t status = bind_out(binder, config, &made.out);                                                          \
        return keep_instance(status, &made, sizeof(made), instance);                                                   \
    }                                                                                                                  \
    static int32_t TN_ABI start(void *instance, tn_task task, tn_value input) {                                        \
        struct instance *self = (struct instance *)instance;                                                           \
        (void)input;                                                                                                   \
        self->task = task;                                                                                             \
        self->next = 0;                                                                                                \
        self->said = from_json("{}");                                                                                  \
        if (self->waits) return wait_for_all(self);                                                                    \
        go_on(self);                                                                                                   \
        return TN_OK;                                                                                                  \
    }                                                                                                                  \
    static void TN_ABI destroy(void *instance) { core->release(host, instance); }

static inline void answered(struct instance *self, const struct asked *asked, int32_t status, tn_value result) {
    tn_value told = from_json("{}");
    say_int(&told, "status", status);
    say(&told, asked->say, values->retain(get(result, asked->say)));
    say(&self->said, asked->what, told);
    self->next++;
}

#endif
