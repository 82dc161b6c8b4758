/*
 * run_share.c - what the runs of one user may take, so that others have room.
 */
#include "stream.h"

/* How many runs of the user have not ended. *size: the bytes of those that wait. */
static uint32_t share_of(const struct exchange *exchange, uint64_t *size) {
    const char *owner = tn_get_text(tn_get(exchange->request, "caller"), "owner", "");
    uint32_t count = 0;
    *size = 0;
    for (struct run *run = exchange->langgraph->runs; run != NULL; run = run->next) {
        if (run->ended || strcmp(run->owner, owner) != 0) continue;
        count++;
        if (!run_has_begun(run)) *size += run->size;
    }
    return count;
}

bool run_check_share(struct exchange *exchange, uint64_t more) {
    uint64_t size, wanted = more + share_of(exchange, &size);
    if (wanted <= SHARE_MAX) return true;
    refuse(exchange, 429, "found %llu runs of this user that have not ended, expected at most %u: wait, or cancel some",
           (unsigned long long)wanted, SHARE_MAX);
    return false;
}

bool run_check_size(struct exchange *exchange) {
    uint64_t size;
    (void)share_of(exchange, &size);
    if (size <= SHARE_SIZE) return true;
    refuse(exchange, 429,
           "found runs of this user that wait with %llu bytes, expected at most %u: wait, or cancel some",
           (unsigned long long)size, SHARE_SIZE);
    return false;
}
