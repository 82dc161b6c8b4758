/*
 * guard.c - a guard is the number of this process and a number that counts; the unused ones are in a ring.
 */
#include "guard.h"
#include <stdio.h>
#include <unistd.h>

static char process[48]; /* "" before the first guard */
static uint64_t made;
static uint64_t unused[GUARDS_MAX]; /* number + 1; 0: spent, or never made */

tn_value guard_new(void) {
    char text[80];
    if (process[0] == '\0')
        (void)snprintf(process, sizeof process, "%llx.%llx.%lx", (unsigned long long)tn.core->wall_ms(tn.host),
                       (unsigned long long)tn.core->monotonic_ns(tn.host), (unsigned long)getpid());
    (void)snprintf(text, sizeof text, "%s.%llu", process, (unsigned long long)made);
    unused[made % GUARDS_MAX] = made + 1;
    made++;
    return tn_text(text);
}

/* Returns the guard's number, or UINT64_MAX if it is not of this process. */
static uint64_t guard_number(tn_value guard) {
    const char *text = tn_chars(guard, NULL);
    size_t length = strlen(process);
    unsigned long long number;
    char end;
    if (text == NULL || length == 0 || strncmp(text, process, length) != 0) return UINT64_MAX;
    if (sscanf(text + length, ".%llu%c", &number, &end) != 1 || number >= made) return UINT64_MAX;
    return number;
}

bool guard_spend(tn_value guard) {
    uint64_t number = guard_number(guard);
    if (number == UINT64_MAX || unused[number % GUARDS_MAX] != number + 1) return false;
    unused[number % GUARDS_MAX] = 0;
    return true;
}

void guard_give_back(tn_value guard) {
    uint64_t number = guard_number(guard);
    if (number != UINT64_MAX && unused[number % GUARDS_MAX] == 0) unused[number % GUARDS_MAX] = number + 1;
}
