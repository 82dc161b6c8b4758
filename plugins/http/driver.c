/*
 * driver.c - watches the sockets of libcurl on the host's loop. One posted call (tn_core_1.post) is libcurl's timer.
 *
 * libcurl's pointer for a socket holds the token of its watch. The timer is lazy: if libcurl postpones its timeout,
 * the posted call stays; when it runs too early it is posted again.
 */
#include "driver.h"
#include "transfer.h"

static struct {
    CURLM *multi;
    void (*advance)(void);
    uint64_t timer, wake;   /* posted calls; 0: not posted */
    int64_t timer_due, due; /* when the posted call runs; when libcurl wants to be called, -1: never */
} driver;

/* ---- The timer ---- */

static void post_driver_timer(int64_t now);

/* Adds 1 ms because http_now_ms() rounds down. */
static int64_t due_time(int64_t now, long timeout_ms) {
    if (timeout_ms < 0) return -1;
    return now + timeout_ms + (timeout_ms > 0 ? 1 : 0);
}

static void update_due_time(void) {
    long timeout_ms = -1;
    (void)curl_multi_timeout(driver.multi, &timeout_ms);
    driver.due = due_time(http_now_ms(), timeout_ms);
}

static void on_driver_timer(void *argument) {
    int running, late;
    (void)argument;
    int64_t now = http_now_ms();
    driver.timer = 0;
    late = driver.due >= 0 && now >= driver.due;
    if (late) {
        driver.due = -1;
        (void)curl_multi_socket_action(driver.multi, CURL_SOCKET_TIMEOUT, 0, &running);
        /* libcurl does not report a timeout again if it was called too early. */
        if (driver.due < 0) update_due_time();
    }
    if (driver.due >= 0) post_driver_timer(now);
    if (late) driver.advance();
}

static void post_driver_timer(int64_t now) {
    if (driver.timer != 0 && driver.timer_due <= driver.due) return;
    if (driver.timer != 0) (void)tn.core->unpost(tn.host, driver.timer);
    driver.timer_due = driver.due;
    driver.timer = tn_post(driver.due > now ? (uint64_t)(driver.due - now) : 0, on_driver_timer, NULL);
}

static int on_curl_timer(CURLM *multi, long timeout_ms, void *user) {
    (void)multi, (void)user;
    int64_t now = http_now_ms();
    driver.due = due_time(now, timeout_ms);
    if (driver.due >= 0) {
        post_driver_timer(now);
    } else if (driver.timer != 0) {
        (void)tn.core->unpost(tn.host, driver.timer);
        driver.timer = 0;
    }
    return 0;
}

/* ---- Sockets ---- */

static void on_socket_ready(void *user, int32_t events) {
    int running, bits = 0;
    if ((events & TN_POLL_READ) != 0) bits |= CURL_CSELECT_IN;
    if ((events & TN_POLL_WRITE) != 0) bits |= CURL_CSELECT_OUT;
    if (bits == 0) bits = CURL_CSELECT_IN; /* a read reports the error */
    (void)curl_multi_socket_action(driver.multi, (curl_socket_t)(intptr_t)user, bits, &running);
    driver.advance();
}

static void fail_unwatched(CURL *easy, int32_t status) {
    void *transfer = NULL;
    if (easy != NULL) (void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
    if (transfer != NULL) transfer_set_watch_failed(transfer, status);
}

static int on_curl_socket(CURL *easy, curl_socket_t socket, int what, void *user, void *watched) {
    uint64_t watch = (uint64_t)(uintptr_t)watched;
    (void)user;
    if (what == CURL_POLL_REMOVE) {
        if (watch != 0) (void)http_poll->unwatch(tn.host, watch);
        return 0;
    }
    int32_t events =
        ((what & CURL_POLL_IN) != 0 ? TN_POLL_READ : 0) | ((what & CURL_POLL_OUT) != 0 ? TN_POLL_WRITE : 0);
    if (watch != 0) {
        (void)http_poll->change(tn.host, watch, events);
        return 0;
    }
    int32_t status = http_poll->watch(tn.host, socket, events, on_socket_ready, (void *)(intptr_t)socket, &watch);
    if (status == TN_OK)
        (void)curl_multi_assign(driver.multi, socket, (void *)(uintptr_t)watch);
    else
        fail_unwatched(easy, status);
    return 0;
}

/* ---- Handles ---- */

bool driver_open(void (*advance)(void)) {
    driver.advance = advance;
    driver.due = -1;
    driver.multi = curl_multi_init();
    if (driver.multi == NULL) return false;
    (void)curl_multi_setopt(driver.multi, CURLMOPT_SOCKETFUNCTION, on_curl_socket);
    (void)curl_multi_setopt(driver.multi, CURLMOPT_TIMERFUNCTION, on_curl_timer);
    (void)curl_multi_setopt(driver.multi, CURLMOPT_MAXCONNECTS, (long)settings.connections);
    (void)curl_multi_setopt(driver.multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    return true;
}

void driver_close(void) {
    (void)curl_multi_cleanup(driver.multi);
    driver.multi = NULL;
    if (driver.timer != 0) (void)tn.core->unpost(tn.host, driver.timer);
    if (driver.wake != 0) (void)tn.core->unpost(tn.host, driver.wake);
    driver.timer = driver.wake = 0;
}

bool driver_add(CURL *easy) { return curl_multi_add_handle(driver.multi, easy) == CURLM_OK; }

void driver_remove(CURL *easy) { (void)curl_multi_remove_handle(driver.multi, easy); }

static void on_driver_wake(void *argument) {
    (void)argument;
    driver.wake = 0;
    driver.advance();
}

void driver_wake(void) {
    if (driver.wake == 0) driver.wake = tn_post(0, on_driver_wake, NULL);
}

CURL *driver_next_ended(CURLcode *code) {
    int left;
    const CURLMsg *message;
    while ((message = curl_multi_info_read(driver.multi, &left)) != NULL)
        if (message->msg == CURLMSG_DONE) {
            *code = message->data.result;
            return message->easy_handle;
        }
    return NULL;
}
