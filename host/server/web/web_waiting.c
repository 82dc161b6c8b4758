/*
 * web_waiting.c - bytes that wait for clients which read slowly, of all requests and of one key.
 *
 * A response that is sent as a whole counts until the request ends. Of a stream and of a WebSocket counts what was
 * written since the provider has been full; it holds less of each as more wait.
 */
#include "host/server/web/web_internal.h"

#define WAITING_KEY_MAX (WEB_WAITING_MAX / 4 * 3)

/* Small responses are limited by the number of requests, so clients of other keys still get errors and short answers.
 */
static bool has_room(const struct web_request *request, int64_t bytes) {
    return bytes <= WEB_WAITING_SMALL || request->web->waiting + bytes <= WEB_WAITING_MAX;
}

enum web_room web_waiting_add(struct web_request *request, size_t length) {
    int64_t bytes = (int64_t)length;
    if (!has_room(request, bytes)) return WEB_ROOM_NONE;
    if (request->counted && !key_use_add_waiting(request->use, bytes, WAITING_KEY_MAX)) return WEB_ROOM_NONE_OF_KEY;
    request->waiting += bytes;
    request->web->waiting += bytes;
    return WEB_ROOM;
}

void web_waiting_end(struct web_request *request) {
    if (request->counted) key_use_remove_waiting(request->use, request->waiting);
    request->web->waiting -= request->waiting;
    request->waiting = 0;
}

bool web_note_unread(struct web_request *request, size_t length) {
    if (!request->full) return true;
    request->unread += length;
    if (request->unread <= WEB_UNREAD_MAX && web_waiting_add(request, length) == WEB_ROOM) return true;
    web_request_abort(request, "limit");
    return false;
}

void web_note_room(struct web_request *request) {
    request->full = false;
    request->unread = 0;
    web_waiting_end(request);
}
