/*
 * arena.h - memory that is given back all at once: a description's for the plugin's life, a call's for the call.
 *
 *     struct arena arena = ARENA_INIT;
 *     char *copy = arena_text(&arena, text, length);
 *     arena_finish(&arena);
 *
 * From the host's allocator, zeroed, aligned for every type. One thread at a time.
 */
#ifndef TENON_PLUGINS_FFI_ARENA_H
#define TENON_PLUGINS_FFI_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct arena_block;
struct arena {
    struct arena_block *blocks;
};
#define ARENA_INIT                                                                                                     \
    { NULL }

void arena_finish(struct arena *arena); /* empties it; may be used again */
/* NULL where there is no memory. A size of 0 gives memory of one byte. */
void *arena_take(struct arena *arena, size_t size);
/* With a NUL after it. */
char *arena_text(struct arena *arena, const char *text, size_t length);
__attribute__((format(printf, 2, 3))) char *arena_format(struct arena *arena, const char *format, ...);
char *arena_vformat(struct arena *arena, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));

#endif
