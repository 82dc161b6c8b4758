/*
 * a2a_server_fakes.h - what the parts of plugins/a2a_server get from a host: calls of methods, and an HTTP client whose
 * requests the test answers. Each test includes it once.
 */
#ifndef A2A_SERVER_FAKES_H
#define A2A_SERVER_FAKES_H

#include "tests/unit/recorded_runs.h"

#include "plugins/a2a_server/push.h"
#include "plugins/a2a_server/task.h"

/* ---- Methods ---- */

static uint64_t methods; /* that were called */

static int32_t TN_ABI fake_request_as(const tn_host *host, uint64_t caller, const char *method, uint64_t length,
                                      tn_value params, tn_host_handler handler, void *user, uint64_t *request) {
    (void)host, (void)caller, (void)method, (void)length, (void)params, (void)handler, (void)user;
    *request = ++methods;
    return TN_OK;
}

/* ---- An HTTP client ---- */

static struct {
    tn_http_handler handler;
    struct push *user; /* NULL: the place is free */
} requests[PUSH_OPEN_MAX + 1];

static tn_value sent; /* array of requests */

static int32_t TN_ABI fake_send(const tn_host *host, tn_value request, tn_http_handler handler, void *user,
                                uint64_t *exchange) {
    size_t at = 0;
    (void)host;
    while (requests[at].user != NULL) at++;
    assert_true(at < PUSH_OPEN_MAX);
    requests[at].handler = handler;
    requests[at].user = user;
    *exchange = at + 1;
    (void)tn_append_take(&sent, tn_retain(request));
    return TN_OK;
}

static int32_t TN_ABI fake_cancel(const tn_host *host, uint64_t exchange) {
    (void)host;
    assert_non_null(requests[exchange - 1].user);
    requests[exchange - 1].user = NULL;
    return TN_OK;
}

static const tn_http_1 http = {.size = sizeof(tn_http_1), .send = fake_send, .cancel = fake_cancel};

/* The request of the configuration ends. False if there is none. */
static bool answer(const struct push *push, int status) {
    if (push->exchange == 0) return false;
    size_t at = (size_t)push->exchange - 1;
    tn_value end = tn_build("{s:i}", "status", status);
    struct push *user = requests[at].user;
    requests[at].user = NULL;
    requests[at].handler(user, TN_HTTP_END, end);
    tn_release(end);
    return true;
}

static void add_push(struct task *task, const char *id, bool old) {
    tn_value config = tn_build("{s:s, s:s, s:{s:s, s:s}}", "id", id, "url", "https://example.com/", "authentication",
                               "scheme", "Bearer", "credentials", "c");
    assert_true(push_add(task, config, old));
    tn_release(config);
}

#endif
