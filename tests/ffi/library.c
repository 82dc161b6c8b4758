/*
 * library.c - one small function for each thing that a description can say.
 *
 * Echoes give back what they got, so that a test sees what arrived; what has a state counts its open objects.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* There is no header: the functions are called from a description. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define ECHO(name, type)                                                                                               \
    type name(type value) { return value; }

ECHO(echo_int8, int8_t)
ECHO(echo_uint8, uint8_t)
ECHO(echo_int16, int16_t)
ECHO(echo_uint16, uint16_t)
ECHO(echo_int32, int32_t)
ECHO(echo_uint32, uint32_t)
ECHO(echo_int64, int64_t)
ECHO(echo_uint64, uint64_t)
ECHO(echo_size, size_t)
ECHO(echo_ssize, ssize_t)
ECHO(echo_float, float)
ECHO(echo_double, double)
ECHO(echo_bool, bool)
ECHO(echo_string, const char *)

double not_finite(int which) { return which == 0 ? (double)NAN : which > 0 ? HUGE_VAL : -HUGE_VAL; }
double sum_of_all(int8_t a, uint16_t b, int32_t c, int64_t d, float e, double f, bool g, uint8_t h) {
    return a + b + c + (double)d + (double)e + f + g + h;
}
void nothing(void) {}

/* ---- Out ---- */

int divide(int a, int b, int *quotient, int *remainder) {
    if (b == 0) return 7;
    *quotient = a / b;
    *remainder = a % b;
    return 0;
}
void next(int16_t *value) { ++*value; }
const char *error_text(int code) { return code == 7 ? "division by zero" : "unknown"; }

/* ---- Texts ---- */

size_t text_length(const char *text) { return text != NULL ? strlen(text) : 999; }
const char *no_text(void) { return NULL; }
const char *latin_text(void) { return "caf\xe9"; }
static int texts;
char *make_text(const char *from) {
    texts++;
    return strdup(from);
}
void give_text(const char *from, char **out) { *out = make_text(from); }
void free_text(char *text) {
    texts--;
    free(text);
}
int texts_left(void) { return texts; }
int write_text(char *to, size_t room) { return snprintf(to, room, "%s", "a text of thirty characters...."); }
int whisper(char *to, size_t room) {
    memset(to, 'x', room); /* no NUL */
    return 0;
}

/* ---- Buffers ---- */

uint32_t sum_bytes(const unsigned char *bytes, size_t length) {
    uint32_t sum = 0;
    for (size_t i = 0; i < length; i++) sum += bytes[i];
    return sum;
}
bool is_null(const void *bytes, uint32_t length) { return bytes == NULL && length == 0; }
int repeat(unsigned char *to, unsigned long *room, const unsigned char *from, uint8_t length, int times) {
    if (*room < (unsigned long)length * (unsigned long)times) return -1;
    for (int i = 0; i < times && length > 0; i++) memcpy(to + i * length, from, length);
    *room = (unsigned long)length * (unsigned long)times;
    return 0;
}
ssize_t fill(void *to, size_t room, int wanted) {
    if (wanted < 0) {
        errno = EBADF;
        return -1;
    }
    memset(to, 'f', (size_t)wanted < room ? (size_t)wanted : room);
    return wanted;
}
void reverse(unsigned char *bytes, int32_t length) {
    for (int32_t i = 0; i < length / 2; i++) {
        unsigned char byte = bytes[i];
        bytes[i] = bytes[length - 1 - i];
        bytes[length - 1 - i] = byte;
    }
}
void digest(const unsigned char key[4], unsigned char out[4]) {
    for (int i = 0; i < 4; i++) out[i] = key[3 - i];
}
const void *some_bytes(size_t *length) {
    *length = 3;
    return "\x01\x00\xff";
}

/* ---- Structs ---- */

struct mixed {
    int8_t a;
    double b;
    int16_t c;
    int64_t d;
    uint8_t e;
};
size_t mixed_size(void) { return sizeof(struct mixed); }
double mixed_sum(const struct mixed *mixed) {
    return mixed ? mixed->a + mixed->b + mixed->c + (double)mixed->d + mixed->e : -1;
}
void mixed_double(struct mixed *mixed) {
    mixed->a = (int8_t)(mixed->a * 2);
    mixed->b *= 2;
    mixed->c = (int16_t)(mixed->c * 2);
    mixed->d *= 2;
    mixed->e = (uint8_t)(mixed->e * 2);
}
struct person {
    char name[8];
    const char *title;
    struct point {
        float x, y;
    } at;
    uint16_t scores[3];
    void *private;
    bool alive;
};
void person_move(struct person *person, float by) {
    person->at.x += by;
    person->at.y -= by;
    person->scores[2] = (uint16_t)(person->scores[0] + person->scores[1]);
    person->alive = person->private == NULL && person->title == NULL;
    person->name[0] = 'M';
}
const struct point *origin(int which) {
    static const struct point point = {0.5f, -0.5f};
    return which ? &point : NULL;
}

/* ---- Enumerations ---- */

enum colour { RED, GREEN = 5, BLUE = -2 };
enum colour mix(enum colour a, enum colour b) { return a == b ? a : (enum colour)9; }
uint8_t level(uint8_t value) { return value; }

/* ---- errno ---- */

int fail_with(int number) {
    errno = number;
    return number ? -1 : 0;
}
double sets_errno(int number) {
    errno = number;
    return 1.5;
}

/* ---- Handles ---- */

struct counter {
    int value;
};
static int counters;
struct counter *counter_new(int value) {
    if (value < 0) return NULL;
    struct counter *counter = malloc(sizeof *counter);
    if (counter == NULL) return NULL;
    counter->value = value;
    counters++;
    return counter;
}
int counter_open(int value, struct counter **out) {
    *out = counter_new(abs(value));
    return value < 0 ? 3 : 0;
}
int counter_add(struct counter *counter, int by) { return counter ? counter->value += by : -1; }
struct counter *counter_same(struct counter *counter) {
    return counter;
}
void counter_free(struct counter *counter) {
    counters--;
    free(counter);
}
int counter_close(struct counter *counter) {
    if (counter->value > 100) return 1;
    counter_free(counter);
    return 0;
}
const char *counter_text(struct counter *counter) { return counter->value == 6 ? "it was six" : "?"; }
int counters_left(void) { return counters; }

/* ---- Fixed values ---- */

const char *show_fixed(int a, const char *b, void *c, double d) {
    static char text[80];
    (void)snprintf(text, sizeof text, "%d %s %lld %g", a, b ? b : "-", (long long)(intptr_t)c, d);
    return text;
}

int some_data = 5;
int add_all(int count, ...) { return count; }
void crash(void) { abort(); }
