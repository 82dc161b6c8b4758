/*
 * serve_shared.c - the child's side of the memory that it shares with the host (shared.h).
 *
 * The first large text that this process sends requests memory; it, and what is sent until the memory arrives, stays in
 * the messages. Descriptors arrive with the messages `shared_memory`, in the same order.
 */
#include "host/plugin/isolate/serve_internal.h"
#include "host/plugin/isolate/shared.h"
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RECEIVED_MAX (sizeof server.received / sizeof *server.received)

ssize_t serve_receive(void *bytes, size_t size) {
    union {
        struct cmsghdr header; /* for its alignment */
        char bytes[CMSG_SPACE(sizeof server.received)];
    } control;
    struct iovec place = {bytes, size};
    struct msghdr message = {
        .msg_iov = &place, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    ssize_t got = recvmsg(server.socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0) return got;
    for (struct cmsghdr *item = CMSG_FIRSTHDR(&message); item; item = CMSG_NXTHDR(&message, item)) {
        if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
        size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(item) + i * sizeof descriptor, sizeof descriptor);
            if (server.received_count < RECEIVED_MAX)
                server.received[server.received_count++] = descriptor;
            else
                (void)close(descriptor);
        }
    }
    return got;
}

enum frame_fit serve_write_message_take(tn_value message) {
    if (server.shares && !server.shared_asked && shared_is_worthwhile(message)) {
        server.shared_asked = true;
        serve_notify_take("shared_memory", value_object());
    }
    enum frame_fit fit = shared_frame_write_take(server.shared_out, &server.outgoing, &message);
    value_unref(message);
    return fit;
}

static void serve_notify_position(uint64_t position) {
    serve_notify_take("shared_taken",
                      value_set_take(value_object_reserve(1), "position", value_int((int64_t)position)));
}

/* If the descriptor is missing, because this process has too many, large texts stay in the messages. */
static void serve_adopt_memory(tn_value params) {
    if (server.received_count == 0) return;
    struct shared_memory *memory = shared_adopt_take(server.received[0]);
    server.received[0] = server.received[1];
    server.received_count--;
    if (!memory) return;
    bool by_host = value_text_is(value_get(params, "writer"), "host");
    struct shared_memory **place = by_host ? &server.shared_in : &server.shared_out;
    shared_free(*place);
    *place = memory;
    if (by_host) serve_notify_position(0); /* the host may use it from now on */
}

int32_t serve_read_shared(tn_value *message, struct error *error) {
    tn_value method = value_get(*message, "method"), params = value_get(*message, "params");
    uint64_t position;
    size_t bytes;
    if (server.shared_in && value_get(*message, "shared")) {
        int32_t status = shared_unpack(server.shared_in, message, &position, &bytes, error);
        if (status == TN_OK) serve_notify_position(position);
        return status;
    }
    if (value_text_is(method, "shared_memory")) {
        serve_adopt_memory(params);
        return TN_AGAIN;
    }
    if (!value_text_is(method, "shared_taken")) return TN_OK;
    tn_value number = value_get(params, "position");
    if (server.shared_out && value_is(number, TN_INT) &&
        shared_release(server.shared_out, (uint64_t)value_to_int(number)))
        return TN_AGAIN;
    return error_set(error, TN_INVALID, "PROTOCOL", "the position in `shared_taken` is impossible");
}
