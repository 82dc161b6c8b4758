/*
 * shared.c - moves large texts of messages into shared memory, and back.
 *
 * Positions count the bytes that were ever allocated; the place in the memory is the position modulo its size. A text
 * is in one piece: if it does not fit before the end of the memory, the rest is skipped. [tail, head) is on the way.
 * While nothing is, the next text begins at the start, so that small ones always use the same pages.
 *
 *     "shared": {"position": 81920, "values": [{"at": [2, 0, 1], "from": 0, "length": 81920}, …]}
 *
 * `at` is the way from the message to the text: indices of items, and of members in the order of the JSON. The list is
 * in the order of the message, so each array or object on the way is changed once.
 */
#include "host/plugin/isolate/shared.h"
#include "adl/value/memory.h"
#include "host/plugin/isolate/frame.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

struct shared_memory {
    int descriptor;
    uint64_t head, tail; /* the writer's; tail <= head <= tail + SHARED_SIZE */
    uint64_t touched;    /* bytes from the start that were written since the pages were released */
};

static struct shared_memory *shared_of(int descriptor) {
    struct shared_memory *memory = mem_zalloc(sizeof *memory);
    memory->descriptor = descriptor;
    return memory;
}

/* Writing beyond the limit of a file's size ends a process that does not ignore the signal. */
static bool exceeds_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= SHARED_SIZE) return false;
    errno = EFBIG;
    return true;
}

struct shared_memory *shared_new(void) {
    if (exceeds_limit()) return NULL;
    int descriptor = memfd_create("tenon-shared", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (descriptor < 0 && errno == EINVAL) /* a kernel before 6.3 */
        descriptor = memfd_create("tenon-shared", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0) return NULL;
    if (ftruncate(descriptor, SHARED_SIZE) == 0 && fcntl(descriptor, F_ADD_SEALS, SEALS) == 0)
        return shared_of(descriptor);
    int failure = errno;
    (void)close(descriptor);
    errno = failure;
    return NULL;
}

struct shared_memory *shared_adopt_take(int descriptor) {
    struct stat status;
    int seals = fcntl(descriptor, F_GET_SEALS); /* fails for anything but a memfd */
    if (seals >= 0 && (seals & SEALS) == SEALS && !exceeds_limit() && fstat(descriptor, &status) == 0 &&
        status.st_size == SHARED_SIZE)
        return shared_of(descriptor);
    if (descriptor >= 0) (void)close(descriptor);
    return NULL;
}

int shared_descriptor(const struct shared_memory *memory) { return memory->descriptor; }

void shared_free(struct shared_memory *memory) {
    if (!memory) return;
    (void)close(memory->descriptor);
    mem_free(memory);
}

/* ---- Writing ---- */

static bool is_large(tn_value value, const void **bytes, size_t *length) {
    if (value_is(value, TN_STRING))
        *bytes = value_chars(value, length);
    else if (value_is(value, TN_BYTES))
        *bytes = value_data(value, length);
    else
        return false;
    return *length >= SHARED_VALUE_MIN;
}

static bool is_container(tn_value value) { return value_is(value, TN_ARRAY) || value_is(value, TN_OBJECT); }

static tn_value child_at(tn_value container, size_t index) {
    return value_is(container, TN_ARRAY) ? value_at(container, index) : value_value_at(container, index);
}

/* Replaces an item, or the value of a member. Takes the container and the value. */
static tn_value replace_child_take(tn_value container, size_t index, tn_value by) {
    if (value_is(container, TN_ARRAY)) return value_replace_take(container, index, by);
    tn_value key = value_ref(value_key_at(container, index));
    return value_set_key_take(container, key, by);
}

/* Allocates space in one piece. Returns false if there is not enough. */
static bool shared_allocate(struct shared_memory *memory, size_t length, uint64_t *position) {
    uint64_t head = memory->head, at = head % SHARED_SIZE;
    if (at + length > SHARED_SIZE || memory->tail == head) head += at ? SHARED_SIZE - at : 0;
    uint64_t tail = memory->tail == memory->head ? head : memory->tail;
    if (length > SHARED_SIZE || head + length - tail > SHARED_SIZE) return false;
    memory->tail = tail;
    memory->head = head + length;
    *position = head;
    return true;
}

static bool shared_write(struct shared_memory *memory, uint64_t position, const char *bytes, size_t length) {
    uint64_t at = position % SHARED_SIZE;
    if (at + length > memory->touched) memory->touched = at + length;
    for (size_t done = 0; done < length;) {
        ssize_t wrote = pwrite(memory->descriptor, bytes + done, length - done, (off_t)(at + done));
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) return false; /* no memory is left: the text stays in the message */
        done += (size_t)wrote;
    }
    return true;
}

struct packing {
    struct shared_memory *memory; /* NULL: only search */
    size_t walked, bytes;
    tn_value values;                /* of `shared`; NULL before the first */
    uint32_t path[FRAME_DEPTH_MAX]; /* indices from the message to the value */
};

/* Adds a text to the memory and to `values`. */
static bool packing_move(struct packing *packing, size_t depth, tn_value value, const void *bytes, size_t length) {
    struct shared_memory *memory = packing->memory;
    struct shared_memory before = *memory;
    uint64_t position;
    if (value_count(packing->values) == SHARED_VALUES_MAX || !shared_allocate(memory, length, &position)) return false;
    if (!shared_write(memory, position, bytes, length)) {
        memory->head = before.head;
        memory->tail = before.tail;
        return false;
    }
    tn_value path = value_array_reserve(depth);
    for (size_t i = 0; i < depth; i++) path = value_push_take(path, value_int(packing->path[i]));
    tn_value entry = value_set_take(value_object_reserve(4), "at", path);
    entry = value_set_take(entry, "from", value_int((int64_t)(position % SHARED_SIZE)));
    entry = value_set_take(entry, "length", value_int((int64_t)length));
    if (value_is(value, TN_BYTES)) entry = value_set_take(entry, "bytes", value_bool(true));
    packing->values = value_push_take(packing->values ? packing->values : value_array(), entry);
    packing->bytes += length;
    return true;
}

/* Returns the container with null in place of what was moved, a new reference; or NULL if nothing was. */
static tn_value packing_walk(struct packing *packing, size_t depth, tn_value container) {
    tn_value changed = NULL;
    size_t count = value_count(container), length;
    if (depth == FRAME_DEPTH_MAX) return NULL; /* too deep to be sent */
    for (size_t i = 0; i < count && packing->walked < SHARED_WALK_MAX; i++) {
        tn_value child = child_at(container, i), now = NULL;
        const void *bytes;
        packing->walked++;
        packing->path[depth] = (uint32_t)i;
        if (is_container(child))
            now = packing_walk(packing, depth + 1, child);
        else if (is_large(child, &bytes, &length) && packing_move(packing, depth + 1, child, bytes, length))
            now = value_null();
        if (now) changed = replace_child_take(changed ? changed : value_ref(container), i, now);
    }
    return changed;
}

static bool search_large(tn_value container, size_t depth, size_t *walked) {
    size_t count = value_count(container), length;
    const void *bytes;
    for (size_t i = 0; depth < FRAME_DEPTH_MAX && i < count && (*walked)++ < SHARED_WALK_MAX; i++) {
        tn_value child = child_at(container, i);
        if (is_container(child) ? search_large(child, depth + 1, walked) : is_large(child, &bytes, &length))
            return true;
    }
    return false;
}

bool shared_is_worthwhile(tn_value message) {
    size_t walked = 0;
    return search_large(message, 0, &walked);
}

tn_value shared_pack_take(struct shared_memory *memory, tn_value message, struct shared_mark *mark) {
    struct packing packing = {.memory = memory};
    *mark = (struct shared_mark){memory->head, 0};
    tn_value packed = packing_walk(&packing, 0, message);
    if (!packed) return message;
    value_unref(message);
    mark->bytes = packing.bytes;
    tn_value shared = value_set_take(value_object_reserve(2), "position", value_int((int64_t)memory->head));
    return value_set_take(packed, "shared", value_set_take(shared, "values", packing.values));
}

void shared_undo(struct shared_memory *memory, const struct shared_mark *mark) {
    if (mark->bytes == 0) return;
    if (memory->tail > mark->head) memory->tail = mark->head; /* it was empty, and began at the start again */
    memory->head = mark->head;
}

enum frame_fit shared_frame_write_take(struct shared_memory *memory, struct buffer *out, tn_value *message) {
    struct shared_mark mark = {0, 0};
    size_t before = out->length;
    if (memory) *message = shared_pack_take(memory, *message, &mark);
    enum frame_fit fit = frame_write(out, *message);
    if (fit == FRAME_FITS && !out->overflow && out->length - before + mark.bytes > FRAME_MESSAGE_MAX && mark.bytes) {
        out->length = before;
        fit = FRAME_TOO_LONG;
    }
    if (memory && fit != FRAME_FITS) shared_undo(memory, &mark);
    return fit;
}

bool shared_release(struct shared_memory *memory, uint64_t position) {
    if (position < memory->tail || position > memory->head) return false;
    memory->tail = position;
    if (memory->tail == memory->head && memory->touched > SHARED_KEPT) {
        (void)fallocate(memory->descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, SHARED_KEPT,
                        SHARED_SIZE - SHARED_KEPT);
        memory->touched = SHARED_KEPT;
    }
    return true;
}

/* ---- Reading ---- */

struct unpacking {
    const struct shared_memory *memory;
    tn_value values; /* of `shared` */
};

struct shared_place {
    const struct shared_memory *memory;
    uint64_t from;
};

static bool shared_read(void *user, void *to, size_t length) {
    const struct shared_place *place = user;
    for (size_t done = 0; done < length;) {
        ssize_t got = pread(place->memory->descriptor, (char *)to + done, length - done, (off_t)(place->from + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        done += (size_t)got;
    }
    return true;
}

/* A member that is an integer from 0 to `most`; false if it is not. */
static bool read_number(tn_value object, const char *key, uint64_t most, uint64_t *out) {
    tn_value number = value_get(object, key);
    if (!value_is(number, TN_INT) || value_to_int(number) < 0) return false;
    *out = (uint64_t)value_to_int(number);
    return *out <= most;
}

/* Index number `depth` of the way of an entry; false if it has no such number. */
static bool entry_step(tn_value entry, size_t depth, size_t *index) {
    tn_value at = value_get(entry, "at");
    if (!value_is(at, TN_ARRAY) || depth >= value_count(at)) return false;
    tn_value step = value_at(at, depth);
    if (!value_is(step, TN_INT) || value_to_int(step) < 0) return false;
    *index = (size_t)value_to_int(step);
    return true;
}

/* The text of an entry, a new reference; NULL if a number is wrong, or the text is not UTF-8. */
static tn_value entry_value(const struct unpacking *unpacking, tn_value entry) {
    struct shared_place place = {.memory = unpacking->memory};
    uint64_t length;
    tn_value bytes = value_get(entry, "bytes");
    if (!read_number(entry, "from", SHARED_SIZE, &place.from) ||
        !read_number(entry, "length", SHARED_SIZE - place.from, &length))
        return NULL;
    return value_filled(bytes == value_bool(true) ? TN_BYTES : TN_STRING, length, shared_read, &place);
}

/* Number of entries, from `from` on, whose step number `depth` is the same. */
static size_t entries_of_child(const struct unpacking *unpacking, size_t depth, size_t from, size_t to) {
    size_t index, other, at = from + 1;
    if (!entry_step(value_at(unpacking->values, from), depth, &index)) return 0;
    while (at < to && entry_step(value_at(unpacking->values, at), depth, &other) && other == index) at++;
    return at - from;
}

/*
 * Handles the entries [from, to), whose ways lead through this container with `depth` steps. *out is the container with
 * their texts, a new reference. Returns false if an entry is wrong.
 */
static bool unpacking_walk(const struct unpacking *unpacking, size_t depth, tn_value container, size_t from, size_t to,
                           tn_value *out) {
    tn_value changed = value_ref(container);
    size_t count = value_count(container), index, least = 0, same;
    for (; from < to; from += same, least = index + 1) {
        tn_value entry = value_at(unpacking->values, from), now = NULL;
        same = entries_of_child(unpacking, depth, from, to);
        if (same == 0 || !entry_step(entry, depth, &index) || index < least || index >= count) break;
        tn_value child = child_at(container, index);
        size_t steps = value_count(value_get(entry, "at"));
        if (steps == depth + 1 && same == 1 && value_is(child, TN_NULL))
            now = entry_value(unpacking, entry);
        else if (steps > depth + 1 && is_container(child) && depth + 1 < FRAME_DEPTH_MAX)
            (void)unpacking_walk(unpacking, depth + 1, child, from, from + same, &now);
        if (!now) break;
        changed = replace_child_take(changed, index, now);
    }
    if (from == to)
        *out = changed;
    else
        value_unref(changed);
    return from == to;
}

/* Checks the total before anything is copied. */
static bool shared_is_bounded(tn_value values, size_t *bytes) {
    uint64_t total = 0, length;
    if (!value_is(values, TN_ARRAY) || value_count(values) == 0 || value_count(values) > SHARED_VALUES_MAX)
        return false;
    for (size_t i = 0; i < value_count(values); i++) {
        tn_value entry = value_at(values, i);
        if (!value_is(entry, TN_OBJECT) || !read_number(entry, "length", SHARED_SIZE, &length)) return false;
        total += length;
    }
    *bytes = (size_t)total;
    return total <= FRAME_MESSAGE_MAX;
}

int32_t shared_unpack(const struct shared_memory *memory, tn_value *message, uint64_t *position, size_t *bytes,
                      struct error *error) {
    tn_value shared = value_get(*message, "shared"), whole = NULL;
    struct unpacking unpacking = {memory, value_is(shared, TN_OBJECT) ? value_get(shared, "values") : NULL};
    bool good = memory && value_is(shared, TN_OBJECT) && read_number(shared, "position", INT64_MAX, position) &&
                shared_is_bounded(unpacking.values, bytes) &&
                unpacking_walk(&unpacking, 0, *message, 0, value_count(unpacking.values), &whole);
    if (!good)
        return error_set(error, TN_INVALID, "PROTOCOL",
                         "`shared` of a message does not describe texts in the shared memory");
    tn_value before = *message;
    *message = value_remove_take(whole, value_text("shared"));
    value_unref(before);
    return TN_OK;
}
