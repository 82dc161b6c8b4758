/*
 * line_editor.h - reads lines from a terminal with editing and history, by libedit if the program was built with it.
 *
 *     struct line_editor *editor = line_editor_new();   // NULL: without libedit, or the terminal cannot edit
 *     while ((line = line_editor_read(editor, "> ", true))) { …; mem_free(line); }
 *     line_editor_free(editor);
 *
 * The history is kept in XDG_STATE_HOME/tenon/chat_history, which only its user can read. Input is standard input,
 * output is standard error. ~/.editrc configures the keys, as for other programs with libedit.
 *
 * A paste of several lines is a part of one line (the terminal must mark pastes, "bracketed paste"). Its line ends are
 * shown as ␤ and its tabs as ␉; a long paste is shown as "[paste 1: 250 lines]". The result has the pasted text.
 */
#ifndef TENON_HOST_PROGRAM_LINE_EDITOR_H
#define TENON_HOST_PROGRAM_LINE_EDITOR_H

#include <stdbool.h>

struct line_editor;

struct line_editor *line_editor_new(void);
void line_editor_free(struct line_editor *editor); /* NULL is allowed */
/*
 * Returns a line without its end, which the caller frees; NULL at the end of input and after a signal. `remembers`: the
 * line becomes part of the history.
 */
char *line_editor_read(struct line_editor *editor, const char *prompt, bool remembers);
/* True if the line had text when a signal ended the last line_editor_read. */
bool line_editor_has_text(const struct line_editor *editor);
/* The next line_editor_read begins with this text, which the user can change. Its control characters are dropped. */
void line_editor_prefill(struct line_editor *editor, const char *text);
/* While line_editor_read waits for a key: prints something above the line, and shows the line again. */
void line_editor_interject(struct line_editor *editor, void (*print)(void *user), void *user);

#endif
