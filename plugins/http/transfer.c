/*
 * transfer.c - libcurl's options, callbacks and codes.
 *
 * Easy handles are kept for later transfers, because making one is the most expensive part. The exchange enforces the
 * time limits, because it knows about pauses; libcurl also gets the connect timeout, so that it tries all addresses
 * within it.
 */
#include "transfer.h"
#include "driver.h"

#define IDLE_MAX     64
#define READ_BYTES   16384 /* bytes per read, if the body is received whole or as bytes */
#define STREAM_BYTES 4096  /* for events and lines, because there may be thousands of streams */

static CURL *idle_handles[IDLE_MAX];
static uint32_t idle_count;

/* ---- Received data ---- */

static size_t transfer_stop(struct transfer *transfer, tn_value why) {
    if (transfer->why == NULL)
        transfer->why = why;
    else
        tn_release(why);
    return 0; /* fewer bytes than given: libcurl ends the transfer */
}

static size_t on_curl_header(char *data, size_t size, size_t count, void *user) {
    struct transfer *transfer = user;
    size_t length = size * count;
    long status = 0;
    transfer->active_ms = http_now_ms();
    if (transfer->has_head) return length; /* trailers */
    if (length > 5 && memcmp(data, "HTTP/", 5) == 0) {
        transfer->head.length = 0;
        transfer->head_lines = 0;
        return length;
    }
    while (length > 0 && (data[length - 1] == '\n' || data[length - 1] == '\r')) length--;
    if (length == 0) {
        (void)curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
        transfer->status = status;
        transfer->has_head = status >= 200;
        if (transfer->has_head) transfer->on_progress(transfer);
        return size * count;
    }
    if (++transfer->head_lines > REQUEST_HEADERS_MAX || transfer->head.length + length > REQUEST_HEADER_MAX)
        return transfer_stop(
            transfer, http_failure("LIMIT", "%s: the headers of the answer exceed the limit of %d headers or %d bytes",
                                   transfer->request->origin, REQUEST_HEADERS_MAX, REQUEST_HEADER_MAX));
    if (tn_text_append_n(&transfer->head, data, length) != TN_OK || tn_text_append_n(&transfer->head, "\n", 1) != TN_OK)
        return transfer_stop(transfer, http_failure_memory());
    return size * count;
}

static size_t on_curl_body(char *data, size_t size, size_t count, void *user) {
    struct transfer *transfer = user;
    size_t length = size * count;
    bool full = (transfer->streamed || !transfer->head_read) &&
                transfer->body.length - transfer->consumed >= TRANSFER_UNREAD_MAX;
    if (transfer->pause_requested || full) {
        transfer->paused = true;
        return CURL_WRITEFUNC_PAUSE;
    }
    transfer->active_ms = http_now_ms();
    transfer->received += length;
    if (transfer->received > (uint64_t)transfer->request->max_bytes)
        return transfer_stop(transfer,
                             http_failure("LIMIT", "%s: the body exceeds the %lld bytes of `max_bytes`",
                                          transfer->request->origin, (long long)transfer->request->max_bytes));
    if (tn_text_append_n(&transfer->body, data, length) != TN_OK) return transfer_stop(transfer, http_failure_memory());
    if (transfer->streamed) transfer->on_progress(transfer);
    return length;
}

static int on_curl_connected(void *user, char *ip, char *own_ip, int port, int own_port) {
    struct transfer *transfer = user;
    (void)ip, (void)own_ip, (void)port, (void)own_port;
    transfer->connected = true;
    transfer->active_ms = http_now_ms();
    transfer->on_progress(transfer);
    return CURL_PREREQFUNC_OK;
}

bool transfer_check_sent(struct transfer *transfer) {
    curl_off_t sent = 0;
    if (transfer->easy != NULL) (void)curl_easy_getinfo(transfer->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    bool more = (int64_t)sent > transfer->uploaded;
    transfer->uploaded = (int64_t)sent;
    return more;
}

void transfer_set_watch_failed(struct transfer *transfer, int32_t status) {
    transfer->broken = true;
    (void)transfer_stop(
        transfer,
        http_failure("LIMIT", "%s: the connection cannot be watched (status %d); too many descriptors are watched",
                     transfer->request->origin, (int)status));
    transfer->on_progress(transfer);
}

/* ---- Options ---- */

#define SET(option, value) (void)curl_easy_setopt(easy, option, value)

static void transfer_set_body(CURL *easy, const struct request *request) {
    bool head = strcmp(request->method, "HEAD") == 0;
    if (head) SET(CURLOPT_NOBODY, 1L);
    if (!head) SET(CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)request->max_bytes);
    if (request->body != NULL) {
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_length);
        SET(CURLOPT_POSTFIELDS, (const char *)request->body);
    }
    if (!head && strcmp(request->method, request->body != NULL ? "POST" : "GET") != 0)
        SET(CURLOPT_CUSTOMREQUEST, request->method);
}

static void transfer_set_connection(CURL *easy, const struct request *request) {
    bool http2 = settings.http2 && request->https;
    SET(CURLOPT_HTTP_VERSION, http2 ? (long)CURL_HTTP_VERSION_2TLS : (long)CURL_HTTP_VERSION_1_1);
    SET(CURLOPT_PIPEWAIT, http2 ? 1L : 0L);
#if LIBCURL_VERSION_NUM >= 0x075500
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
#else
    SET(CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
    SET(CURLOPT_QUICK_EXIT, 1L); /* do not wait for a name that is being resolved */
#endif
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)request->connect_ms);
    SET(CURLOPT_TCP_KEEPALIVE, 1L);
    SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    if (settings.proxy != NULL) SET(CURLOPT_PROXY, settings.proxy);
    if (settings.no_proxy != NULL) SET(CURLOPT_NOPROXY, settings.no_proxy);
    if (settings.ca_bundle != NULL) {
        SET(CURLOPT_CAINFO, settings.ca_bundle);
        SET(CURLOPT_PROXY_CAINFO, settings.ca_bundle);
    }
    if (settings.user_agent != NULL) SET(CURLOPT_USERAGENT, settings.user_agent);
}

static void transfer_set_callbacks(CURL *easy, struct transfer *transfer) {
    bool stream = transfer->request->receive == RECEIVE_EVENTS || transfer->request->receive == RECEIVE_LINES;
    SET(CURLOPT_PRIVATE, transfer);
    SET(CURLOPT_ERRORBUFFER, transfer->message);
#if LIBCURL_VERSION_NUM >= 0x075700
    SET(CURLOPT_NOSIGNAL, 1L); /* libcurl must not change signal handlers; nothing that it sends raises SIGPIPE */
#endif
    SET(CURLOPT_BUFFERSIZE, stream ? (long)STREAM_BYTES : (long)READ_BYTES);
    SET(CURLOPT_ACCEPT_ENCODING, "");
    SET(CURLOPT_HEADERFUNCTION, on_curl_header);
    SET(CURLOPT_HEADERDATA, transfer);
    SET(CURLOPT_WRITEFUNCTION, on_curl_body);
    SET(CURLOPT_WRITEDATA, transfer);
    SET(CURLOPT_PREREQFUNCTION, on_curl_connected);
    SET(CURLOPT_PREREQDATA, transfer);
}

/* ---- Start and end ---- */

tn_value transfer_begin(struct transfer *transfer) {
    CURL *easy = idle_count > 0 ? idle_handles[--idle_count] : curl_easy_init();
    if (easy == NULL) return http_failure_memory();
    transfer->easy = easy;
    transfer->started_ms = transfer->active_ms = http_now_ms();
    SET(CURLOPT_URL, transfer->request->url);
    SET(CURLOPT_HTTPHEADER, transfer->request->headers);
    transfer_set_callbacks(easy, transfer);
    transfer_set_connection(easy, transfer->request);
    transfer_set_body(easy, transfer->request);
    if (driver_add(easy)) return NULL;
    curl_easy_cleanup(easy);
    transfer->easy = NULL;
    return http_failure_memory();
}

void transfer_end(struct transfer *transfer) {
    CURL *easy = transfer->easy;
    if (easy == NULL) return;
    driver_remove(easy);
    transfer->easy = NULL;
    transfer->paused = false;
    if (idle_count == IDLE_MAX) {
        curl_easy_cleanup(easy);
        return;
    }
    curl_easy_reset(easy);
    idle_handles[idle_count++] = easy;
}

void transfer_finish(struct transfer *transfer) {
    transfer_end(transfer);
    tn_text_free(&transfer->head);
    tn_text_free(&transfer->body);
    tn_release(transfer->why);
    *transfer = (struct transfer){.request = transfer->request, .on_progress = transfer->on_progress};
}

CURLcode transfer_resume(struct transfer *transfer) {
    if (!transfer->paused || transfer->easy == NULL) return CURLE_OK;
    transfer->paused = false;
    transfer->active_ms = http_now_ms();
    /* libcurl delivers kept data now; only this call reports that the data was not accepted */
    return curl_easy_pause(transfer->easy, CURLPAUSE_CONT);
}

struct transfer *transfer_from_handle(CURL *easy) {
    void *transfer = NULL;
    (void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, &transfer);
    return transfer;
}

void transfers_close(void) {
    while (idle_count > 0) curl_easy_cleanup(idle_handles[--idle_count]);
}

/* ---- Codes ---- */

#define CONNECTS(code)                                                                                                 \
    { code, "CONNECT", true, true }
#define FAILS_TLS(code)                                                                                                \
    { code, "TLS", false, true }
#define LOSES(code)                                                                                                    \
    { code, "CONNECTION_LOST", true, false }

/* `use_curl_text`: add libcurl's own text to the message. It contains addresses and certificates, and no data of the
 * request. */
static const struct {
    CURLcode code;
    const char *name;
    bool retryable, use_curl_text;
} codes[] = {
    CONNECTS(CURLE_COULDNT_RESOLVE_PROXY),
    CONNECTS(CURLE_COULDNT_RESOLVE_HOST),
    CONNECTS(CURLE_COULDNT_CONNECT),
    CONNECTS(CURLE_PROXY),
    CONNECTS(CURLE_INTERFACE_FAILED),
    FAILS_TLS(CURLE_SSL_CONNECT_ERROR),
    FAILS_TLS(CURLE_PEER_FAILED_VERIFICATION),
    FAILS_TLS(CURLE_SSL_CACERT_BADFILE),
    FAILS_TLS(CURLE_SSL_CERTPROBLEM),
    FAILS_TLS(CURLE_SSL_CIPHER),
    FAILS_TLS(CURLE_SSL_ISSUER_ERROR),
    FAILS_TLS(CURLE_SSL_PINNEDPUBKEYNOTMATCH),
    FAILS_TLS(CURLE_SSL_INVALIDCERTSTATUS),
    FAILS_TLS(CURLE_SSL_ENGINE_NOTFOUND),
    FAILS_TLS(CURLE_SSL_ENGINE_INITFAILED),
    FAILS_TLS(CURLE_SSL_CLIENTCERT),
    FAILS_TLS(CURLE_USE_SSL_FAILED),
    LOSES(CURLE_GOT_NOTHING),
    LOSES(CURLE_SEND_ERROR),
    LOSES(CURLE_RECV_ERROR),
    LOSES(CURLE_PARTIAL_FILE),
    LOSES(CURLE_HTTP2),
    LOSES(CURLE_HTTP2_STREAM),
    {CURLE_FILESIZE_EXCEEDED, "LIMIT", false, false},
    {CURLE_OUT_OF_MEMORY, "LIMIT", false, false},
};

tn_value transfer_failure(struct transfer *transfer, CURLcode code) {
    const char *name = "PROTOCOL", *curl_text = curl_easy_strerror(code), *origin = transfer->request->origin;
    bool retryable = false;
    if (transfer->why != NULL) return tn_retain(transfer->why);
    if (code == CURLE_OPERATION_TIMEDOUT)
        return http_failure_timeout("connect", "no connection was established", transfer->request->connect_ms);
    if (code == CURLE_FILESIZE_EXCEEDED)
        return http_failure("LIMIT", "%s: the body exceeds the %lld bytes of `max_bytes`", origin,
                            (long long)transfer->request->max_bytes);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (codes[i].code != code) continue;
        name = codes[i].name;
        retryable = codes[i].retryable;
        if (codes[i].use_curl_text && transfer->message[0] != '\0') curl_text = transfer->message;
    }
    /* libcurl reports a body that it cannot decode as a receive error. */
    if (code == CURLE_RECV_ERROR && strstr(transfer->message, "chunked") != NULL) {
        name = "PROTOCOL";
        retryable = false;
        curl_text = "the body is not encoded as its headers say";
    }
    tn_value result = http_failure(name, "%s: %s", origin, curl_text);
    return retryable ? http_failure_retryable_take(result) : result;
}

/* ---- Headers ---- */

static void add_header_line(tn_value *headers, const char *line, size_t length) {
    char name[256];
    const char *colon = memchr(line, ':', length);
    size_t name_length = colon != NULL ? (size_t)(colon - line) : 0;
    if (name_length == 0 || name_length >= sizeof name) return;
    for (size_t i = 0; i < name_length; i++)
        name[i] = (char)(line[i] >= 'A' && line[i] <= 'Z' ? line[i] + 32 : line[i]);
    while (name_length > 0 && name[name_length - 1] == ' ') name_length--;
    name[name_length] = '\0';
    const char *from = colon + 1, *end = line + length;
    while (from < end && (*from == ' ' || *from == '\t')) from++;
    while (end > from && (end[-1] == ' ' || end[-1] == '\t')) end--;
    tn_value before = tn_get(*headers, name), text;
    struct tn_text_buffer joined = {0};
    uint64_t before_length = 0;
    const char *before_text = tn_chars(before, &before_length);
    if (before_text != NULL) {
        tn_text_append_n(&joined, before_text, before_length);
        tn_text_append(&joined, ", ");
    }
    tn_text_append_n(&joined, from, (uint64_t)(end - from));
    text = joined.status == TN_OK ? tn_text_lossy(joined.bytes, joined.length) : NULL;
    if (text != NULL) (void)tn.value->set(headers, name, TN_Z, text); /* fails if the name is not UTF-8 */
    tn_release(text);
    tn_text_free(&joined);
}

tn_value transfer_headers(const struct transfer *transfer) {
    tn_value headers = tn_build("{}");
    const char *at = transfer->head.bytes, *end = at != NULL ? at + transfer->head.length : at;
    while (headers != NULL && at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        add_header_line(&headers, at, (size_t)(line_end - at));
        at = line_end + 1;
    }
    return headers;
}
