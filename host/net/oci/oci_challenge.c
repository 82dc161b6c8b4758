/*
 * oci_challenge.c - a WWW-Authenticate header: challenges of a scheme and parameters, all of them separated by commas.
 *
 * A word that is followed by "=" is a parameter, and any other word begins a challenge. A scheme's token68 form is not
 * needed: neither Basic nor Bearer uses it in a challenge.
 */
#include "host/net/oci/oci_challenge.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include <stdbool.h>
#include <string.h>
#include <strings.h>

struct challenge_reader {
    const char *at, *end;
};

static void reader_skip(struct challenge_reader *reader, const char *characters) {
    while (reader->at < reader->end && *reader->at && strchr(characters, *reader->at)) reader->at++;
}

/* Reads up to a separator; the word may be empty. */
static size_t reader_word(struct challenge_reader *reader, const char **word) {
    *word = reader->at;
    while (reader->at < reader->end && *reader->at && !strchr(" \t,=\"", *reader->at)) reader->at++;
    return (size_t)(reader->at - *word);
}

/* Reads the value of a parameter, quoted or not, as a new text; NULL if the quotes are not closed. */
static char *reader_value(struct challenge_reader *reader) {
    struct buffer text;
    const char *word;
    if (reader->at == reader->end || *reader->at != '"') {
        size_t length = reader_word(reader, &word);
        return mem_text_n(word, length);
    }
    buffer_init(&text, OCI_CHALLENGE_MAX);
    for (reader->at++; reader->at < reader->end && *reader->at != '"'; reader->at++) {
        if (*reader->at == '\\' && reader->at + 1 < reader->end) reader->at++;
        buffer_char(&text, *reader->at);
    }
    bool closed = reader->at < reader->end;
    if (closed) reader->at++;
    char *value = buffer_detach(&text, NULL);
    if (closed) return value;
    mem_free(value);
    return NULL;
}

static void challenge_set_take(struct oci_challenge *challenge, const char *name, size_t length, char *value) {
    const struct {
        const char *name;
        char **place;
    } members[] = {{"realm", &challenge->realm}, {"service", &challenge->service}, {"scope", &challenge->scope}};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (strlen(members[i].name) != length || strncasecmp(members[i].name, name, length) != 0) continue;
        if (*members[i].place) break; /* given twice: the first one counts */
        *members[i].place = value;
        return;
    }
    mem_free(value);
}

/* Keeps the better one of two challenges. */
static void challenge_choose_take(struct oci_challenge *best, struct oci_challenge *other) {
    if (other->scheme == OCI_BEARER && (!other->realm || !*other->realm)) other->scheme = OCI_NO_CHALLENGE;
    if (other->scheme > best->scheme) {
        oci_challenge_finish(best);
        *best = *other;
    } else {
        oci_challenge_finish(other);
    }
    *other = (struct oci_challenge){.scheme = OCI_NO_CHALLENGE};
}

void oci_challenge_read(const char *header, size_t length, struct oci_challenge *out) {
    struct challenge_reader reader = {header, header + length};
    struct oci_challenge current = {.scheme = OCI_NO_CHALLENGE};
    *out = current;
    while (length <= OCI_CHALLENGE_MAX) {
        const char *word;
        reader_skip(&reader, " \t,");
        size_t size = reader_word(&reader, &word);
        if (!size) break; /* the end, or nothing that can be read */
        reader_skip(&reader, " \t");
        if (reader.at < reader.end && *reader.at == '=') {
            reader.at++;
            reader_skip(&reader, " \t");
            char *value = reader_value(&reader);
            if (!value) break;
            challenge_set_take(&current, word, size, value);
            continue;
        }
        challenge_choose_take(out, &current);
        if (size == 6 && strncasecmp(word, "bearer", 6) == 0) current.scheme = OCI_BEARER;
        if (size == 5 && strncasecmp(word, "basic", 5) == 0) current.scheme = OCI_BASIC;
    }
    challenge_choose_take(out, &current);
}

void oci_challenge_finish(struct oci_challenge *challenge) {
    mem_free(challenge->realm);
    mem_free(challenge->service);
    mem_free(challenge->scope);
    *challenge = (struct oci_challenge){.scheme = OCI_NO_CHALLENGE};
}
