/*
 * paste.h - command lines that the user can paste, to continue a run in the same way as it was started.
 *
 *     struct buffer line;
 *     buffer_init(&line, SIZE_MAX);
 *     paste_run(&line, arguments, "mail", false);          // tenon run mail.yaml --plugins ./x.so --thread mail
 *     buffer_text(&line, " --resume");
 */
#ifndef TENON_HOST_PROGRAM_PASTE_H
#define TENON_HOST_PROGRAM_PASTE_H

#include "adl/value/value.h"
#include <stdbool.h>

struct arguments;
struct buffer;

/* Appends a word, in quotes if a shell would change it. */
void paste_word(struct buffer *out, const char *word);
/*
 * Appends `tenon run FILE --thread THREAD` with the options that `arguments` has and that another command needs to run
 * the same document: those of every command (--plugins, --config, --model, …), --connect, --run-config,
 * --durability, --batch and --concurrency; with `input` also --input and --set.
 */
void paste_run(struct buffer *out, const struct arguments *arguments, const char *thread, bool input);
/* Appends ` --resume`, and ` --answer ID=VALUE` for each interrupt that asks for an answer. Returns their number. */
size_t paste_resume(struct buffer *out, tn_value interrupts);
/* Appends `tenon chat FILE --thread THREAD` in the same way; `arguments` is of `tenon chat`. */
void paste_chat(struct buffer *out, const struct arguments *arguments, const char *thread);
/*
 * Appends `tenon thread answer THREAD`, ` ID=VALUE` for each interrupt that asks for an answer, and the options of
 * every command. Returns the number of answers.
 */
size_t paste_thread_answer(struct buffer *out, const struct arguments *arguments, const char *thread,
                           tn_value interrupts);

#endif
