/*
 * thread_cost_test.c - the bytes that a thread's log writes follow the bytes that change, for every kind of change; and
 * what it has written is read back.
 *
 * All checkpoints are kept, so the bytes of all records of the thread are the bytes that were written. They are counted
 * as JSON, without what a store adds to a record.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/weight.h"
#include "host/assembly/host.h"
#include "host/base/loop.h"
#include "host/data/store/store.h"
#include "host/data/store/store_collections.h"
#include "host/data/thread/thread_admin.h"
#include "host/data/thread/thread_delta.h"
#include "host/data/thread/thread_log.h"
#include "tests/unit/corpus.h"
#include <stdio.h>

#define MESSAGE_TEXT 500 /* bytes of a message */

static struct host *open_host(void) {
    static const char *const paths[] = {TENON_STORE_PLUGINS "/memory.so", NULL};
    struct error error = ERROR_INIT;
    struct host_options options = {.plugin_paths = paths, .store = "memory"};
    struct host *host = host_open(&options, &error);
    if (!host) fail_msg("%s", error.message);
    return host;
}
