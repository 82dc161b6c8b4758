/*
 * embed_error.c - errors of the library: the last one of a host, and that of a thread.
 *
 * The last error stays in the handle until the next call, because callers in other languages read it with a second
 * call. A call on the wrong thread must not touch the handle, so its error belongs to that thread, as do the errors of
 * calls without a host.
 */
#include "adl/value/memory.h"
#include "host/base/loop.h"
#include "host/embed/embed_internal.h"
#include <pthread.h>
#include <string.h>

struct thread_error {
    struct error error;
    tn_value value; /* created by tenon_error_value */
};

static _Thread_local struct thread_error *thread_error; /* NULL until the first error of the thread */
static pthread_key_t thread_error_key;                  /* frees it when the thread ends */
static pthread_once_t thread_error_once = PTHREAD_ONCE_INIT;

static void thread_error_free(void *memory) {
    struct thread_error *last = memory;
    error_finish(&last->error);
    value_unref(last->value);
    mem_free(last);
}

static void thread_error_create_key(void) { (void)pthread_key_create(&thread_error_key, thread_error_free); }

/* Empty; created if necessary. */
static struct thread_error *thread_error_clear(void) {
    if (!thread_error) {
        (void)pthread_once(&thread_error_once, thread_error_create_key);
        thread_error = mem_zalloc(sizeof *thread_error);
        (void)pthread_setspecific(thread_error_key, thread_error);
    }
    error_finish(&thread_error->error);
    value_unref(thread_error->value);
    thread_error->value = NULL;
    return thread_error;
}

int32_t embed_thread_error(int32_t status, const char *code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    (void)error_vset(&thread_error_clear()->error, status, code, format, args);
    va_end(args);
    return status;
}

void embed_thread_error_move(struct error *error) { error_move(&thread_error_clear()->error, error); }

/* The error that the calling thread may read: that of the host, or its own. NULL if there is none. */
static const struct error *embed_last_error(const tenon *handle, tn_value **value) {
    struct error *error = thread_error ? &thread_error->error : NULL;
    *value = thread_error ? &thread_error->value : NULL;
    if (handle && handle->thread == loop_this_thread() && handle->host) {
        error = (struct error *)(uintptr_t)&handle->error;
        *value = (tn_value *)(uintptr_t)&handle->error_value;
    }
    return error && error->code ? error : NULL;
}

const char *tenon_error(tenon *handle) {
    tn_value *value;
    const struct error *error = embed_last_error(handle, &value);
    return error && error->message ? error->message : "";
}

tn_value tenon_error_value(tenon *handle) {
    tn_value *value;
    const struct error *error = embed_last_error(handle, &value);
    if (!error) return NULL;
    if (!*value) *value = error_to_value(error);
    return *value;
}

bool embed_check_thread_function(const tenon *handle, const char *function) {
    if (handle->thread == loop_this_thread()) return true;
    embed_thread_error(TN_INVALID, "WRONG_THREAD",
                       "%s was called on another OS thread than the one that opened the host; only functions marked "
                       "[any] may be",
                       function);
    return false;
}

bool embed_enter_function(tenon *handle, const char *function) {
    if (!handle) {
        embed_thread_error(TN_INVALID, "INVALID_INPUT", "%s: the first argument is NULL", function);
        return false;
    }
    if (!embed_check_thread_function(handle, function)) return false;
    if (!handle->host) {
        embed_thread_error(TN_INVALID, "CLOSED", "%s: the host is closed", function);
        return false;
    }
    loop_enter(handle->loop);
    error_finish(&handle->error);
    value_unref(handle->error_value);
    handle->error_value = NULL;
    return true;
}

bool embed_check_not_null(tenon *handle, const void *argument, const char *what) {
    if (!argument) error_set(&handle->error, TN_INVALID, "INVALID_INPUT", "%s is NULL", what);
    return argument != NULL;
}
