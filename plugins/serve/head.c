/*
 * head.c - the checks of a request's head. See head.h for why they are strict.
 */
#include "head.h"
#include <ctype.h>
#include <strings.h>
#include <tenon/base64.h>

#define MEMORY_MAX (1 << 21) /* more than libmicrohttpd may use for a connection */

static bool refuse_head(struct head *head, int status, const char *message) {
    head->status = status;
    head->message = message;
    return false;
}

/* ---- Characters ---- */

bool head_is_token(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte >= 0x80 || (!isalnum(byte) && (byte == '\0' || strchr("!#$%&'*+-.^_`|~", byte) == NULL))) return false;
    }
    return length > 0;
}

bool head_is_field_value(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        if ((byte < 0x20 && byte != '\t') || byte == 0x7f) return false;
    }
    return true;
}

/* The origin form, or `*` for OPTIONS, of printable ASCII characters without `#`. */
static bool target_is_valid(const char *method, const char *target) {
    if (strcmp(target, "*") == 0) return strcmp(method, "OPTIONS") == 0;
    if (target[0] != '/') return false;
    for (const char *at = target; *at != '\0'; at++)
        if (*at <= ' ' || *at >= 0x7f || *at == '#') return false;
    return true;
}

/* A name, an IPv4 address or an IPv6 address in brackets; then optionally a port. */
static bool host_is_valid(const char *text, size_t length) {
    size_t at = 0, digits = 0;
    bool bracket = length > 0 && text[0] == '[';
    for (; at < length; at++) {
        unsigned char byte = (unsigned char)text[at];
        if (bracket ? byte == ']' : byte == ':') break;
        if (byte >= 0x80 || (!isalnum(byte) && (byte == '\0' || strchr(bracket ? "[:.%-_" : "-._~", byte) == NULL)))
            return false;
    }
    if (at == 0 || (bracket && at++ == length)) return false;
    if (at == length) return true;
    if (text[at++] != ':') return false;
    for (; at < length; at++, digits++)
        if (!isdigit((unsigned char)text[at])) return false;
    return digits <= 5;
}

/* ---- Fields ---- */

static bool field_is(const struct head_field *field, const char *name) {
    return field->name_length == strlen(name) && strncasecmp(field->name, name, field->name_length) == 0;
}

static size_t trimmed(const struct head_field *field) {
    size_t length = field->value_length;
    while (length > 0 && (field->value[length - 1] == ' ' || field->value[length - 1] == '\t')) length--;
    return length;
}

static const struct head_field *find_field(const struct head *head, const char *name, size_t *count) {
    const struct head_field *found = NULL;
    *count = 0;
    for (size_t i = 0; i < head->count; i++)
        if (field_is(&head->fields[i], name)) {
            if (found == NULL) found = &head->fields[i];
            (*count)++;
        }
    return found;
}

/* True if one of the fields `name` has the token in its list, in any case. */
static bool has_list_token(const struct head *head, const char *name, const char *token) {
    size_t size = strlen(token);
    for (size_t i = 0; i < head->count; i++) {
        const struct head_field *field = &head->fields[i];
        if (!field_is(field, name)) continue;
        const char *at = field->value, *end = at + field->value_length;
        while (at < end) {
            while (at < end && (*at == ' ' || *at == '\t' || *at == ',')) at++;
            const char *start = at;
            while (at < end && *at != ',') at++;
            size_t length = (size_t)(at - start);
            while (length > 0 && (start[length - 1] == ' ' || start[length - 1] == '\t')) length--;
            if (length == size && strncasecmp(start, token, size) == 0) return true;
        }
    }
    return false;
}

static enum MHD_Result on_field(void *user, enum MHD_ValueKind kind, const char *name, size_t name_length,
                                const char *value, size_t value_length) {
    struct head *head = user;
    (void)kind;
    if (head->count == HEADERS_MAX) {
        head->count++;
        return MHD_NO;
    }
    head->fields[head->count++] =
        (struct head_field){name, value == NULL ? "" : value, name_length, value == NULL ? 0 : value_length};
    return MHD_YES;
}

/* Only a colon and blanks are between the name and the value. A folded line has moved one of them. */
static bool follows_name(const struct head_field *field) {
    uintptr_t at = (uintptr_t)field->name + field->name_length + 1, value = (uintptr_t)field->value;
    if (value < at || value - at > MEMORY_MAX) return false;
    for (; at < value; at++)
        if (*(const char *)at != ' ' && *(const char *)at != '\t') return false;
    return true;
}

/*
 * Each line must begin where the one before it ended with CR LF. A line that ended with a bare LF, a folded line, a
 * NUL, or more than one space in the request line moves the next one to another place.
 */
static bool layout_is_strict(const struct head *head) {
    uintptr_t at = (uintptr_t)head->method + strlen(head->method) + 1;
    if (head->target_at != at) return false;
    at += strlen(head->target) + 1;
    if ((uintptr_t)head->version != at) return false;
    at += strlen(head->version) + 2;
    for (size_t i = 0; i < head->count; i++) {
        const struct head_field *field = &head->fields[i];
        if ((uintptr_t)field->name != at) return false;
        if (!follows_name(field)) return false;
        at = (uintptr_t)field->value + field->value_length + 2;
    }
    return at + 2 == (uintptr_t)head->method + head->size;
}

static bool read_framing(struct head *head) {
    size_t lengths, encodings;
    const struct head_field *length = find_field(head, "content-length", &lengths);
    const struct head_field *encoding = find_field(head, "transfer-encoding", &encodings);
    head->body = 0;
    if (lengths > 1) return refuse_head(head, 400, "Content-Length is repeated");
    if (encodings > 1) return refuse_head(head, 400, "Transfer-Encoding is repeated");
    if (lengths == 1 && encodings == 1)
        return refuse_head(head, 400, "Content-Length and Transfer-Encoding are both present");
    if (encoding != NULL) {
        if (strcmp(head->version, "HTTP/1.1") != 0) return refuse_head(head, 400, "Transfer-Encoding needs HTTP/1.1");
        /* With blanks behind it, libmicrohttpd would not take it for chunked. */
        if (encoding->value_length != 7 || strncasecmp(encoding->value, "chunked", 7) != 0)
            return refuse_head(head, 501, "the only supported Transfer-Encoding is chunked");
        head->body = -1;
    }
    if (length == NULL) return true;
    if (length->value_length == 0 || length->value_length > 18)
        return refuse_head(head, 400, "Content-Length must have 1 to 18 digits");
    for (size_t i = 0; i < length->value_length; i++) {
        if (!isdigit((unsigned char)length->value[i]))
            return refuse_head(head, 400, "Content-Length must be a decimal number");
        head->body = head->body * 10 + (length->value[i] - '0');
    }
    return true;
}

static bool read_host(struct head *head) {
    size_t hosts;
    const struct head_field *host = find_field(head, "host", &hosts);
    if (hosts > 1) return refuse_head(head, 400, "Host is repeated");
    if (host == NULL)
        return strcmp(head->version, "HTTP/1.0") == 0 || refuse_head(head, 400, "HTTP/1.1 needs the header Host");
    if (!host_is_valid(host->value, trimmed(host))) return refuse_head(head, 400, "Host must be a name and a port");
    return true;
}

/* The opening handshake of RFC 6455, which `accept` completes if it is valid. */
static void read_websocket(struct head *head) {
    char bytes[24];
    size_t keys, versions;
    const struct head_field *key = find_field(head, "sec-websocket-key", &keys);
    const struct head_field *version = find_field(head, "sec-websocket-version", &versions);
    head->websocket = false;
    if (keys != 1 || versions != 1 || head->body != 0 || strcmp(head->method, "GET") != 0) return;
    if (strcmp(head->version, "HTTP/1.1") != 0 || !has_list_token(head, "connection", "upgrade") ||
        !has_list_token(head, "upgrade", "websocket"))
        return;
    if (trimmed(version) != 2 || memcmp(version->value, "13", 2) != 0) return;
    size_t length = trimmed(key);
    if (length != 24 || tn_base64_take(key->value, length, bytes, sizeof bytes) != 16) return;
    memcpy(head->key, key->value, length);
    head->key[length] = '\0';
    head->websocket = true;
}

static bool method_is_known(const char *method) {
    static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (strcmp(method, methods[i]) == 0) return true;
    return false;
}

bool head_read(struct head *head, struct MHD_Connection *connection) {
    head->count = 0;
    (void)MHD_get_connection_values_n(connection, MHD_HEADER_KIND, on_field, head);
    if (head->count > HEADERS_MAX) return refuse_head(head, 431, "too many headers: at most 100");
    for (size_t i = 0; i < head->count; i++) {
        const struct head_field *field = &head->fields[i];
        if (!head_is_token(field->name, field->name_length))
            return refuse_head(head, 400, "the name of a header is not a token");
        if (!head_is_field_value(field->value, field->value_length))
            return refuse_head(head, 400, "the value of a header has control characters");
        if (!tn_utf8_is_valid(field->value, field->value_length))
            return refuse_head(head, 400, "the value of a header is not UTF-8");
    }
    if (!head_is_token(head->method, strlen(head->method))) return refuse_head(head, 400, "the method is not a token");
    if (!layout_is_strict(head))
        return refuse_head(head, 400, "a line of the head does not end with CR LF, is folded, or has extra spaces");
    if (!method_is_known(head->method))
        return refuse_head(head, 501, "the method must be GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS");
    if (strcmp(head->version, "HTTP/1.1") != 0 && strcmp(head->version, "HTTP/1.0") != 0)
        return refuse_head(head, 505, "the version must be HTTP/1.1 or HTTP/1.0");
    if (!target_is_valid(head->method, head->target))
        return refuse_head(head, 400,
                           "the target must begin with / and have only printable ASCII characters without #");
    if (!read_host(head) || !read_framing(head)) return false;
    read_websocket(head);
    return true;
}

bool head_trailer_is_valid(struct MHD_Connection *connection) {
    struct head head;
    head.count = 0;
    (void)MHD_get_connection_values_n(connection, MHD_FOOTER_KIND, on_field, &head);
    if (head.count > HEADERS_MAX) return false;
    for (size_t i = 0; i < head.count; i++) {
        const struct head_field *field = &head.fields[i];
        uintptr_t end = (uintptr_t)field->value + field->value_length + 2;
        if (!head_is_token(field->name, field->name_length) ||
            !head_is_field_value(field->value, field->value_length) || !follows_name(field))
            return false;
        if (i + 1 < head.count && (uintptr_t)head.fields[i + 1].name != end) return false;
        if (field_is(field, "content-length") || field_is(field, "transfer-encoding") || field_is(field, "host"))
            return false; /* RFC 9110, section 6.5.1 */
    }
    return true;
}

/* ---- The value ---- */

/* Adds the field, with the values of all later ones of its name. */
static bool put_field(tn_builder *builder, const struct head *head, size_t index) {
    const struct head_field *field = &head->fields[index];
    struct tn_text_buffer name = {0}, value = {0};
    for (size_t i = 0; i < index; i++)
        if (head->fields[i].name_length == field->name_length &&
            strncasecmp(head->fields[i].name, field->name, field->name_length) == 0)
            return true;
    for (size_t i = 0; i < field->name_length; i++) {
        char lower = (char)tolower((unsigned char)field->name[i]);
        (void)tn_text_append_n(&name, &lower, 1);
    }
    const char *separator = field_is(field, "cookie") ? "; " : ", "; /* RFC 6265 */
    for (size_t i = index; i < head->count; i++) {
        const struct head_field *other = &head->fields[i];
        if (other->name_length != field->name_length || strncasecmp(other->name, field->name, field->name_length) != 0)
            continue;
        if (i > index) (void)tn_text_append(&value, separator);
        (void)tn_text_append_n(&value, other->value, trimmed(other));
    }
    bool complete = name.status == TN_OK && value.status == TN_OK;
    if (complete) {
        tn.value->key(builder, name.bytes, name.length);
        tn.value->add_text(builder, value.bytes == NULL ? "" : value.bytes, value.length);
    }
    tn_text_free(&name);
    tn_text_free(&value);
    return complete;
}

tn_value head_value(const struct head *head, const char *address, bool secure) {
    const char *question = strchr(head->target, '?');
    size_t path_length = question == NULL ? strlen(head->target) : (size_t)(question - head->target);
    bool complete = true;
    tn_builder *builder = tn_builder_new();
    tn_put_begin(builder, NULL, TN_OBJECT);
    tn_put_text(builder, "method", head->method);
    tn_put_text(builder, "target", head->target);
    tn_put_take(builder, "path", tn_text_n(head->target, path_length));
    tn_put_text(builder, "query", question == NULL ? "" : question + 1);
    tn_put_begin(builder, "headers", TN_OBJECT);
    for (size_t i = 0; i < head->count && complete; i++) complete = put_field(builder, head, i);
    tn.value->end(builder);
    tn_put_text(builder, "address", address);
    tn_put_bool(builder, "secure", secure);
    tn_put_int(builder, "body", head->body);
    tn.value->end(builder);
    tn_value value = tn_finish(builder);
    if (complete) return value;
    tn_release(value);
    return NULL;
}
