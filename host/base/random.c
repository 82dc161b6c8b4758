/* random.c - random bytes from the system. */
#include "host/base/random.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

void random_fill(void *bytes, size_t length) {
    ssize_t got;
    do got = getrandom(bytes, length, 0);
    while (got < 0 && errno == EINTR);
    if (got == (ssize_t)length) return;
    fputs("tenon: cannot get random numbers from the system\n", stderr);
    abort();
}
