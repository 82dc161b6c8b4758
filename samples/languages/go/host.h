/*
 * host.h - wrappers for the host's functions, because cgo cannot call function pointers.
 */
#ifndef HOST_H
#define HOST_H

#include <stddef.h>
#include <tenon.h>

extern const tn_host *host_self;
extern const tn_value_1 *host_values;
extern const tn_task_1 *host_tasks;
extern const tn_core_1 *host_core;

static inline void host_release(tn_value value) { host_values->release(value); }
static inline const char *host_text(tn_value value, uint64_t *length) { return host_values->as_text(value, length); }
static inline tn_value host_get(tn_value object, const char *key) { return host_values->get(object, key, TN_Z); }
static inline int32_t host_from_json(const char *json, uint64_t length, tn_value *out) {
    return host_values->from_json(host_self, json, length, out, NULL);
}

static inline int32_t host_complete(tn_task task, tn_value output) { return host_tasks->complete(task, output); }
static inline int32_t host_fail(tn_task task, tn_value error) { return host_tasks->fail(task, error); }
static inline int32_t host_emit(tn_task task, tn_value chunk) { return host_tasks->emit(task, chunk); }
static inline int32_t host_read(tn_task task, uint32_t channel, tn_value *out) {
    return host_tasks->read(task, channel, out);
}
static inline int32_t host_write(tn_task task, uint32_t channel, tn_value value) {
    return host_tasks->write(task, channel, value);
}
static inline int32_t host_bind_read(tn_binder *binder, const char *channel, uint64_t length, uint32_t *index) {
    return host_tasks->bind_read(binder, channel, length, index);
}
static inline int32_t host_bind_write(tn_binder *binder, const char *channel, uint64_t length, uint32_t *index) {
    return host_tasks->bind_write(binder, channel, length, index);
}
static inline int32_t host_refuse(tn_value error) { return host_core->refuse(host_self, error); }

#endif
