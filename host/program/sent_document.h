/*
 * sent_document.h - a document that a command with --connect sends to the running host, and its diagnostics.
 *
 * The host gets the text, so it need not see the file. It knows the text by an absolute name, because its working
 * folder is another one: files that the document names are looked for beside that name, by the host. In what comes
 * back, the name is again the one that the user has given. Documents of packs are named, and the host reads them.
 *
 *     struct sent_document sent;
 *     if (sent_document_open(&sent, "triage.yaml", &error))
 *         code = method_caller_call_take(caller, "document/check", sent_document_params(&sent), &result);
 *     sent_document_read(&sent, value_get(result, "diagnostics"), found);
 *     sent_document_finish(&sent);
 */
#ifndef TENON_HOST_PROGRAM_SENT_DOCUMENT_H
#define TENON_HOST_PROGRAM_SENT_DOCUMENT_H

#include "host/program/command.h"

struct diagnostics;
struct method_caller;

struct sent_document {
    struct source *source; /* the text, under the user's name; NULL if the host reads it */
    tn_value text;         /* the same text; NULL when the host reads it */
    tn_value name;         /* the host's name of it */
};

/*
 * Reads the file; "-" is standard input. Returns false and sets `error` if it cannot be read. It must be finished in
 * any case.
 */
bool sent_document_open(struct sent_document *sent, const char *path, struct error *error);
void sent_document_finish(struct sent_document *sent);
/* A new object {text, name} or {document}, to which other parameters can be added. */
tn_value sent_document_params(const struct sent_document *sent);
/*
 * Adds the diagnostics of the array, as diagnostics_to_value makes it, to `found`. They show lines of this document,
 * and of other documents that this process can read.
 */
void sent_document_read(const struct sent_document *sent, tn_value diagnostics, struct diagnostics *found);
/* The same for the error of a document that was refused. Returns false if the error has no diagnostics. */
bool sent_document_read_refusal(const struct sent_document *sent, const struct error *error, struct diagnostics *found);
/*
 * Prints why the host has refused the document or the work with it: its diagnostics if the error has them. Returns the
 * exit code.
 */
int sent_document_report(const struct arguments *arguments, const struct sent_document *sent,
                         const struct error *error);
/*
 * Prints the warnings of a document that has no errors, as a command does that builds it itself; not with --quiet or
 * --json.
 */
void sent_document_print_warnings(const struct arguments *arguments, const struct sent_document *sent,
                                  struct method_caller *caller);

#endif
