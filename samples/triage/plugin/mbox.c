/*
 * mbox.c - `mail.mbox`: reads a mailbox file into a list of mails {id, from, subject, date, body}.
 *
 * The node is blocking: it reads a file, so it runs on a worker and may wait for the disk. A message begins at a line
 * that starts with "From ", at the start of the file or after an empty line. ">From " in a body is unquoted.
 */
#include "mime.h"
#include <errno.h>
#include <stdlib.h>
#include <tenon/easy.h>

#define MBOX_BYTES_MAX ((size_t)64 << 20)
#define MBOX_MAILS_MAX 10000

static bool read_file(FILE *file, struct text *out) {
    char buffer[16384];
    size_t count;
    while ((count = fread(buffer, 1, sizeof(buffer), file)) > 0) text_add(out, buffer, count);
    return !ferror(file) && !out->failed && out->length <= MBOX_BYTES_MAX;
}

/* Returns the offset of the next "From " line that begins a message, or the length of the box if there is no such line.
 */
static size_t next_message(const struct text *box, size_t at) {
    for (; at < box->length; at++) {
        const char *found = memchr(box->at + at, 'F', box->length - at);
        if (found == NULL) break;
        at = (size_t)(found - box->at);
        bool starts =
            at == 0 || (box->at[at - 1] == '\n' && (at == 1 || box->at[at - 2] == '\n' ||
                                                    (box->at[at - 2] == '\r' && at > 2 && box->at[at - 3] == '\n')));
        if (starts && strncmp(found, "From ", 5) == 0) return at;
    }
    return box->length;
}

static void unquote(struct text *out, const char *at, size_t length) {
    for (size_t i = 0; i < length; i++) {
        size_t marks = 0;
        if (i == 0 || at[i - 1] == '\n')
            while (i + marks < length && at[i + marks] == '>') marks++;
        if (marks > 0 && length - i - marks >= 5 && strncmp(at + i + marks, "From ", 5) == 0) continue;
        text_add_byte(out, at[i]);
    }
}

static void add_mail(tn_builder *list, const struct text *box, size_t start, size_t end, int64_t number) {
    struct text message = {0};
    struct mail mail;
    char fallback[32];
    const char *line = memchr(box->at + start, '\n', end - start);
    if (line != NULL) unquote(&message, line + 1, (size_t)(box->at + end - line - 1));
    mail_read(&mail, text_string(&message), message.length);
    (void)snprintf(fallback, sizeof(fallback), "mail-%lld", (long long)number);
    tn_put_begin(list, NULL, TN_OBJECT);
    tn_put_text(list, "id", mail.id.length > 0 ? mail.id.at : fallback);
    tn_put_text(list, "from", text_string(&mail.from));
    tn_put_text(list, "subject", text_string(&mail.subject));
    tn_put_text(list, "date", text_string(&mail.date));
    tn_put_text(list, "body", text_string(&mail.body));
    tn.value->end(list);
    mail_free(&mail);
    text_free(&message);
}

TN_NODE_BLOCKING(mbox, "mail.mbox", "Reads a mailbox file.", TN_EFFECTS("fs.read:/"),
                 (READ, path_key, "the channel with the file's path"), (WRITE, output_key, "where the mails go")) {
    char message[512];
    tn_value path = tn_read_text(task, config->path_key);
    if (path == NULL) return TN_FAILED;
    struct text box = {0};
    FILE *file = fopen(tn_chars(path, NULL), "rb");
    bool read = file != NULL && read_file(file, &box);
    int error = errno;
    if (file != NULL) fclose(file);
    if (!read) {
        const char *why =
            file != NULL && (box.failed || box.length > MBOX_BYTES_MAX) ? "it is larger than 64 MiB" : strerror(error);
        (void)snprintf(message, sizeof(message), "cannot read the mailbox `%.300s`: %s", tn_chars(path, NULL), why);
        tn_release(path);
        text_free(&box);
        return tn_fail(task, "IO", message);
    }
    tn_builder *list = tn_builder_new();
    tn.value->begin(list, TN_ARRAY);
    int64_t number = 0;
    for (size_t start = next_message(&box, 0), end; start < box.length && number < MBOX_MAILS_MAX; start = end) {
        if (tn.task->cancelled(task) != 0) break;
        end = next_message(&box, start + 1);
        add_mail(list, &box, start, end, ++number);
    }
    tn.value->end(list);
    text_free(&box);
    if (number == 0) {
        tn_release(tn_finish(list));
        (void)snprintf(message, sizeof(message), "`%.300s` contains no mail; a mailbox must begin with a line `From …`",
                       tn_chars(path, NULL));
        tn_release(path);
        return tn_fail(task, "NO_MAIL", message);
    }
    tn_release(path);
    return tn_done_written(task, tn_write_take(task, config->output_key, tn_finish(list)));
}
