/*
 * fuzz_rpc.c - messages of JSON-RPC: any bytes, cut anywhere, are the same messages or the same error, in each framing.
 * A peer that receives them answers with messages that can be read, and ends.
 *
 * The first byte selects where the rest is cut, and the framing.
 */
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "host/base/loop.h"
#include "host/server/rpc/rpc_peer.h"
#include "host/server/rpc/rpc_stream.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGE_MAX 4096u /* of the reader, so that an input can exceed it */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- Framing ---- */

struct seen {
    uint64_t hash;
    size_t count, bytes;
    bool failed, inside;
};

static void see(struct seen *seen, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) seen->hash = (seen->hash ^ (unsigned char)text[i]) * 1099511628211u;
    seen->hash = seen->hash * 31 + length;
    seen->bytes += length;
    seen->count++;
}

static struct seen messages_of(const uint8_t *data, size_t size, enum rpc_framing framing, size_t part) {
    struct rpc_reader reader;
    struct seen seen = {0};
    rpc_reader_init(&reader, framing, MESSAGE_MAX);
    for (size_t from = 0; from < size && !seen.failed; from += part) {
        size_t length = size - from < part ? size - from : part;
        char *piece = malloc(length); /* a sanitizer sees a read after its end */
        const char *text;
        assert(piece);
        memcpy(piece, data + from, length);
        rpc_reader_add(&reader, piece, length);
        free(piece);
        enum rpc_read result;
        while ((result = rpc_reader_next(&reader, &text, &length, NULL)) == RPC_READ_MESSAGE) see(&seen, text, length);
        seen.failed = result == RPC_READ_FAILED;
        rpc_reader_rest(&reader);
    }
    seen.inside = !seen.failed && rpc_reader_is_inside(&reader);
    rpc_reader_finish(&reader);
    return seen;
}

/* ---- A peer ---- */

struct met {
    struct peer *peer;
    bool closed;
};

static void on_request(void *user, struct peer_request *request) {
    (void)user;
    if (strcmp(peer_request_method(request), "echo") == 0)
        peer_reply_take(request, value_ref(peer_request_params(request)));
    else
        peer_refuse(request, RPC_METHOD_NOT_FOUND, "no method `%.20s`", peer_request_method(request));
}

static void on_notification(void *user, const char *method, tn_value params) { (void)user, (void)method, (void)params; }
static void on_ended(void *user, const struct error *why) {
    (void)why;
    peer_close(((struct met *)user)->peer);
}
static void on_closed(void *user) { ((struct met *)user)->closed = true; }
static bool is_closed(void *user) { return ((struct met *)user)->closed; }

/* Each answer is a message of JSON-RPC. */
static void check_answers(int descriptor, enum rpc_framing framing) {
    struct rpc_reader reader;
    char bytes[4096];
    const char *text;
    size_t length;
    rpc_reader_init(&reader, framing, 0);
    for (ssize_t count; (count = recv(descriptor, bytes, sizeof bytes, MSG_DONTWAIT)) > 0;) {
        rpc_reader_add(&reader, bytes, (size_t)count);
        enum rpc_read result;
        while ((result = rpc_reader_next(&reader, &text, &length, NULL)) == RPC_READ_MESSAGE) {
            tn_value message = NULL;
            int32_t status = json_read(text, length, &(struct json_limits){.depth = 1000}, &message, NULL);
            assert(status == TN_OK && value_text_is(value_get(message, "jsonrpc"), "2.0") && value_get(message, "id"));
            (void)status;
            value_unref(message);
        }
        assert(result == RPC_READ_MORE);
    }
    assert(!rpc_reader_is_inside(&reader));
    rpc_reader_finish(&reader);
}

static void serve(const uint8_t *data, size_t size, enum rpc_framing framing) {
    static const struct peer_ops ops = {
        .request = on_request, .notification = on_notification, .ended = on_ended, .closed = on_closed};
    struct loop *loop = loop_new(NULL);
    struct met met = {0};
    int ends[2];
    if (!loop || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) abort();
    ssize_t sent = send(ends[1], data, size, MSG_DONTWAIT);
    assert(sent == (ssize_t)size);
    (void)sent;
    (void)shutdown(ends[1], SHUT_WR);
    met.peer = peer_new(loop, rpc_stream_open(loop, ends[0], ends[0], NULL), framing, &ops, &met);
    (void)loop_run(loop, is_closed, &met);
    assert(met.closed);
    check_answers(ends[1], framing);
    (void)close(ends[1]);
    loop_free(loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2 || size > 16384) return 0;
    size_t part = 1 + data[0] % 17;
    data++, size--;
    for (enum rpc_framing framing = RPC_FRAMING_DETECT; framing <= RPC_FRAMING_LINES; framing++) {
        struct seen whole = messages_of(data, size, framing, size), parts = messages_of(data, size, framing, part);
        assert(whole.count == parts.count && whole.hash == parts.hash && whole.failed == parts.failed &&
               whole.inside == parts.inside && whole.bytes <= size);
        (void)whole, (void)parts;
    }
    serve(data, size, part % 2 ? RPC_FRAMING_LINES : RPC_FRAMING_HEADERS);
    return 0;
}
