/*
 * host.h - wrappers for the host's functions, because cgo cannot call function pointers.
 */
#ifndef HOST_H
#define HOST_H

#include <tenon.h>

extern const tn_value_1 *host_values;
extern const tn_task_1 *host_tasks;

static inline void host_release(tn_value value) { host_values->release(value); }
static inline const char *host_text(tn_value value, uint64_t *length) { return host_values->as_text(value, length); }
static inline tn_value host_get(tn_value object, const char *key) { return host_values->get(object, key); }
static inline int32_t host_from_json(const char *json, uint64_t length, tn_value *out) {
    return host_values->from_json(json, length, out);
}

static inline int32_t host_complete(tn_task task, tn_value output) { return host_tasks->complete(task, output); }
static inline int32_t host_fail(tn_task task, const char *code, const char *message) {
    return host_tasks->fail(task, code, message, NULL);
}
static inline int32_t host_emit(tn_task task, tn_value chunk) { return host_tasks->emit(task, chunk); }
static inline tn_value host_read(tn_task task, uint32_t channel) { return host_tasks->read(task, channel); }
static inline int32_t host_write(tn_task task, uint32_t channel, tn_value value) {
    return host_tasks->write(task, channel, value);
}
static inline int32_t host_bind_read(tn_binder *binder, const char *channel, uint32_t *index) {
    return host_tasks->bind_read(binder, channel, index);
}
static inline int32_t host_bind_write(tn_binder *binder, const char *channel, uint32_t *index) {
    return host_tasks->bind_write(binder, channel, index);
}
static inline int32_t host_refuse(tn_binder *binder, const char *code, const char *message) {
    return host_tasks->refuse(binder, code, message);
}

#endif
