/* line_editor_absent.c - for a build without libedit: the terminal itself edits a line, and there is no history. */
#include "host/program/line_editor.h"
#include <stddef.h>

struct line_editor *line_editor_new(void) {
    return NULL;
}
void line_editor_free(struct line_editor *editor) { (void)editor; }

char *line_editor_read(struct line_editor *editor, const char *prompt, bool remembers) {
    (void)editor, (void)prompt, (void)remembers;
    return NULL;
}

bool line_editor_has_text(const struct line_editor *editor) {
    (void)editor;
    return false;
}

void line_editor_prefill(struct line_editor *editor, const char *text) { (void)editor, (void)text; }

void line_editor_interject(struct line_editor *editor, void (*print)(void *user), void *user) {
    (void)editor, (void)print, (void)user;
}
