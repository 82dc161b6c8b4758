/*
 * shared.h - memory that the host and a plugin's process share, for large texts and bytes of messages.
 *
 * A large text costs little to send if it is not JSON: its bytes are written to the memory, the message has null in its
 * place, and the member `shared` of the message says where the bytes are. The receiver copies them, and reports
 * with a position that the space is free again. The memory has one writer and is used as a ring. If there is no space,
 * the text stays in the message.
 *
 *     message = shared_pack_take(memory, message, &mark);       // the writer
 *     if (!sent) shared_undo(memory, &mark);
 *     status = shared_unpack(memory, &message, &position, &bytes, &error); // the reader
 *     ok = shared_release(memory, position);                    // the writer, with the reader's position
 *
 * Safety: only the host creates the memory, a memfd of SHARED_SIZE bytes, sealed against any other size: neither side
 * can truncate it, and a plugin cannot make it larger. It is never mapped, so no access can fail with SIGBUS, and a
 * process in the sandbox needs no right to create or map shared memory. The reader copies first and then checks the
 * copy, so the other side gains nothing by changing bytes meanwhile. Each number in `shared` is checked.
 */
#ifndef TENON_HOST_PLUGIN_ISOLATE_SHARED_H
#define TENON_HOST_PLUGIN_ISOLATE_SHARED_H

#include "adl/value/error.h"
#include "adl/value/value.h"
#include "host/plugin/isolate/frame.h"
#include <stdbool.h>
#include <stdint.h>

#define SHARED_SIZE       (64u << 20) /* bytes of the memory; pages that were never used take no memory */
#define SHARED_KEPT       (8u << 20)  /* bytes that keep their pages while nothing is on the way */
#define SHARED_VALUE_MIN  16384u      /* bytes of a text that is shared; shorter ones stay in the message */
#define SHARED_VALUES_MAX 16384u      /* texts of one message that are shared */
#define SHARED_WALK_MAX   16384u      /* values of a message that are searched for large texts; later ones stay in it */

struct shared_memory;

/* Creates the memory. NULL, with errno, if the system refuses. */
struct shared_memory *shared_new(void);
/* Uses memory that the other side has created. Takes the descriptor. NULL if it is not such a memory. */
struct shared_memory *shared_adopt_take(int descriptor);
int shared_descriptor(const struct shared_memory *memory); /* borrowed */
void shared_free(struct shared_memory *memory);            /* NULL is allowed */

/* ---- The writer ---- */

struct shared_mark { /* the state before a message */
    uint64_t head;
    size_t bytes; /* of the message's shared texts */
};

/* True if the message contains a text or bytes of at least SHARED_VALUE_MIN. */
bool shared_is_worthwhile(tn_value message);
/*
 * Moves large texts and bytes of the message, an object, into the memory. Returns the message that is left, which is
 * the same one if nothing was moved. *mark is for shared_undo; mark->bytes is what was moved.
 */
tn_value shared_pack_take(struct shared_memory *memory, tn_value message, struct shared_mark *mark);
/* The message was not sent: what was written since the mark is free again. */
void shared_undo(struct shared_memory *memory, const struct shared_mark *mark);
/* The reader has copied everything before the position. False if the position is impossible. */
bool shared_release(struct shared_memory *memory, uint64_t position);

/*
 * frame_write with the message that is left after shared_pack_take; `memory` may be NULL. What is shared counts as a
 * part of the message's length. *message is replaced by what was written.
 */
enum frame_fit shared_frame_write_take(struct shared_memory *memory, struct buffer *out, tn_value *message);

/* ---- The reader ---- */

/*
 * Puts the texts of a message with the member `shared` in their places, and removes the member. *position is what
 * the writer must be sent; *bytes what was copied. TN_INVALID (code PROTOCOL) if `shared` is wrong in any way; then
 * the message is unchanged, and the stream must not be used any more.
 */
int32_t shared_unpack(const struct shared_memory *memory, tn_value *message, uint64_t *position, size_t *bytes,
                      struct error *error);

#endif
