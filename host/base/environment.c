/*
 * environment.c - a table of the values that were moved, and the bytes of the original block.
 *
 * The kernel shows the block that the process was started with, whatever `environ` contains later. The strings of
 * `environ` are in that block unless setenv has replaced them, so the bytes of each string are overwritten in place.
 * A variable can occur more than once; each occurrence is overwritten, and the first one counts, as for getenv.
 */
#include "host/base/environment.h"
#include "adl/value/memory.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

struct moved {
    struct moved *next;
    char *name, *text;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct moved *first; /* under the lock; only grows */
static bool protects, hidden;

const char *const environment_basic[] = {"HOME", "PATH", "LANG", "TERM", "USER", "SHELL", "TMPDIR", NULL};

bool environment_is_basic(const char *name) {
    for (const char *const *at = environment_basic; *at; at++)
        if (strcmp(*at, name) == 0) return true;
    return false;
}

void environment_protect(void) { protects = true; }

/* A manifest names the variables of its secrets: it must not take away what the host and its children need. */
static bool is_movable(const char *name) {
    return protects && *name && !environment_is_basic(name) && strncmp(name, "TENON_", 6) != 0;
}

/* Returns the value of `entry` if it is NAME=value, otherwise NULL. */
static char *entry_value(char *entry, const char *name, size_t length) {
    return strncmp(entry, name, length) == 0 && entry[length] == '=' ? entry + length + 1 : NULL;
}

static const struct moved *moved_lookup(const char *name) {
    const struct moved *moved = first;
    while (moved && strcmp(moved->name, name) != 0) moved = moved->next;
    return moved;
}

static void hide_memory(void) {
    const char *dumpable = getenv("TENON_DUMPABLE");
    if (!protects || hidden) return;
    hidden = true;
    if (!dumpable || strcmp(dumpable, "1") != 0) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* Called under the lock. */
static const struct moved *move_value(const char *name) {
    size_t length = strlen(name);
    struct moved *moved = NULL;
    for (char **entry = environ; entry && *entry; entry++) {
        char *value = entry_value(*entry, name, length);
        if (!value) continue;
        if (!moved) {
            moved = mem_zalloc(sizeof *moved);
            moved->name = mem_text(name);
            moved->text = mem_text(value);
        }
        explicit_bzero(value, strlen(value));
    }
    if (!moved) return NULL;
    moved->next = first;
    first = moved;
    hide_memory();
    return moved;
}

void environment_take(const char *name) {
    if (!is_movable(name)) return;
    pthread_mutex_lock(&lock);
    if (!moved_lookup(name)) (void)move_value(name);
    pthread_mutex_unlock(&lock);
    (void)unsetenv(name);
}

/* Called under the lock. */
static tn_value read_value(const char *name) {
    const struct moved *moved = moved_lookup(name);
    const char *text = moved ? moved->text : getenv(name);
    tn_value value = text ? value_string(text, strlen(text)) : NULL;
    return text && !value ? value_bytes(text, strlen(text)) : value;
}

tn_value environment_peek(const char *name) {
    pthread_mutex_lock(&lock);
    tn_value value = read_value(name);
    pthread_mutex_unlock(&lock);
    return value;
}

tn_value environment_get(const char *name) {
    pthread_mutex_lock(&lock);
    if (!moved_lookup(name) && is_movable(name)) (void)move_value(name);
    tn_value value = read_value(name);
    pthread_mutex_unlock(&lock);
    return value;
}

void environment_overwrite(const char *name) { value_unref(environment_get(name)); }

bool environment_has(const char *name) {
    pthread_mutex_lock(&lock);
    bool has = moved_lookup(name) != NULL || getenv(name) != NULL;
    pthread_mutex_unlock(&lock);
    return has;
}

bool environment_is_secret(const char *name) {
    pthread_mutex_lock(&lock);
    bool moved = moved_lookup(name) != NULL;
    pthread_mutex_unlock(&lock);
    return moved;
}

void environment_hide_memory(void) {
    pthread_mutex_lock(&lock);
    hide_memory();
    pthread_mutex_unlock(&lock);
}
