/*
 * retry.c - exponential backoff with full jitter, so that rejected clients do not return all at the same time.
 */
#include "retry.h"
#include <stdlib.h>
#include <sys/random.h>

bool retry_status_is_transient(int64_t status) {
    static const int statuses[] = {408, 429, 500, 502, 503, 504, 529};
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (statuses[i] == status) return true;
    return false;
}

/* Reads a number of `unit` ms. Returns -1 if `text` is not one. */
static int64_t read_retry_after_number(const char *text, double unit) {
    char *end = NULL;
    if (text == NULL || *text < '0' || *text > '9') return -1;
    double number = strtod(text, &end) * unit;
    if (*end != '\0') return -1;
    return number < 86400000.0 ? (int64_t)number : 86400000;
}

/* Returns -1 if the response does not state it. Some services also state it in ms. */
static int64_t retry_after_ms(tn_value headers) {
    const char *text = tn_get_text(headers, "retry-after", NULL);
    int64_t ms = read_retry_after_number(tn_get_text(headers, "retry-after-ms", NULL), 1.0);
    if (ms < 0) ms = read_retry_after_number(text, 1000.0);
    if (ms >= 0 || text == NULL) return ms;
    time_t date = curl_getdate(text, NULL);
    if (date < 0) return -1;
    ms = (int64_t)date * 1000 - tn.core->wall_ms(tn.host);
    return ms > 0 ? ms : 0;
}

static int64_t random_up_to(int64_t most) {
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
        random = (uint64_t)http_now_ms() * 2654435761u;
    return (int64_t)(random % ((uint64_t)most + 1));
}

int64_t retry_delay_ms(const struct request *request, int64_t attempt, tn_value headers) {
    int64_t ms = headers != NULL ? retry_after_ms(headers) : -1, ceiling = request->initial_ms;
    if (ms >= 0) return ms < request->max_ms ? ms : request->max_ms;
    for (int64_t i = 1; i < attempt && ceiling < request->max_ms; i++) ceiling *= 2;
    return random_up_to(ceiling < request->max_ms ? ceiling : request->max_ms);
}
