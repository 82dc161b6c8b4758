/*
 * line_editor.c - line editing with libedit.
 *
 * libedit reads characters through read_character, so that Ctrl-C ends the wait for a key as it ends every other wait
 * of the program. libedit decodes characters by the locale; the program has none, so this file sets one of UTF-8 while
 * libedit runs, for this thread only.
 */
#include "host/program/line_editor.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/program/command.h"
#include <errno.h>
#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

#define HISTORY_MAX 1000 /* lines */

struct line_editor {
    EditLine *edit;
    History *history;
    locale_t locale;
    char prompt[16]; /* of the line that is being read */
    char *file;      /* of the history; NULL without XDG_STATE_HOME and HOME */
};

/* ---- The file of the history ---- */

static void make_folders(char *path) {
    for (char *at = path + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
}

static char *history_file(void) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    struct buffer path;
    buffer_init(&path, SIZE_MAX);
    if (state && *state == '/')
        buffer_format(&path, "%s/tenon/chat_history", state);
    else if (home && *home == '/')
        buffer_format(&path, "%s/.local/state/tenon/chat_history", home);
    if (!path.length) return buffer_finish(&path), NULL;
    char *file = buffer_detach(&path, NULL);
    make_folders(file);
    return file;
}

/* ---- Characters ---- */

/* Returns 1 with a character, 0 at the end of input, -1 after a signal. */
static int read_character(EditLine *edit, wchar_t *out) {
    mbstate_t state = {0};
    (void)edit;
    for (;;) {
        char byte;
        if (!command_wait_line(STDIN_FILENO)) return errno = EINTR, -1;
        ssize_t got = read(STDIN_FILENO, &byte, 1);
        if (got <= 0) return got == 0 ? 0 : -1;
        size_t used = mbrtowc(out, &byte, 1, &state);
        if (used == (size_t)-1) memset(&state, 0, sizeof state); /* not UTF-8: the byte is dropped */
        if (used != (size_t)-1 && used != (size_t)-2) return 1;
    }
}

static locale_t utf8_locale(void) {
    locale_t own = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (own && strcmp(nl_langinfo_l(CODESET, own), "UTF-8") == 0) return own;
    if (own) freelocale(own);
    return newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

/* ---- The editor ---- */

static char *editor_prompt(EditLine *edit) {
    struct line_editor *editor = NULL;
    el_get(edit, EL_CLIENTDATA, &editor);
    return editor->prompt;
}

static void editor_init(struct line_editor *editor) {
    HistEvent event;
    el_set(editor->edit, EL_CLIENTDATA, editor);
    el_set(editor->edit, EL_PROMPT, editor_prompt);
    el_set(editor->edit, EL_EDITOR, "emacs");
    el_set(editor->edit, EL_GETCFN, read_character);
    history(editor->history, &event, H_SETSIZE, HISTORY_MAX);
    history(editor->history, &event, H_SETUNIQUE, 1);
    el_set(editor->edit, EL_HIST, history, editor->history);
    editor->file = history_file();
    if (editor->file) history(editor->history, &event, H_LOAD, editor->file);
    el_source(editor->edit, NULL);
}

struct line_editor *line_editor_new(void) {
    const char *terminal = getenv("TERM");
    if (!terminal || !*terminal || strcmp(terminal, "dumb") == 0 || !isatty(STDERR_FILENO)) return NULL;
    locale_t locale = utf8_locale();
    if (!locale) return NULL;
    locale_t before = uselocale(locale);
    struct line_editor *editor = mem_zalloc(sizeof *editor);
    editor->locale = locale;
    editor->edit = el_init("tenon", stdin, stderr, stderr);
    editor->history = editor->edit ? history_init() : NULL;
    if (editor->history) editor_init(editor);
    uselocale(before);
    if (editor->history) return editor;
    line_editor_free(editor);
    return NULL;
}

void line_editor_free(struct line_editor *editor) {
    if (!editor) return;
    HistEvent event;
    locale_t before = uselocale(editor->locale);
    if (editor->file) history(editor->history, &event, H_SAVE, editor->file);
    if (editor->edit) el_end(editor->edit);
    if (editor->history) history_end(editor->history);
    uselocale(before);
    freelocale(editor->locale);
    mem_free(editor->file);
    mem_free(editor);
}

char *line_editor_read(struct line_editor *editor, const char *prompt) {
    HistEvent event;
    int length = 0;
    locale_t before = uselocale(editor->locale);
    snprintf(editor->prompt, sizeof editor->prompt, "%s", prompt);
    el_set(editor->edit, EL_PREP_TERM, 1); /* before the prompt, so that what is typed behind it is not echoed twice */
    const char *line = el_gets(editor->edit, &length);
    char *own = line && length > 0 ? mem_text_n(line, (size_t)length) : NULL;
    if (own) own[strcspn(own, "\r\n")] = '\0';
    if (own && own[strspn(own, " \t")]) history(editor->history, &event, H_ENTER, own);
    uselocale(before);
    return own;
}

void line_editor_interject(struct line_editor *editor, void (*print)(void *user), void *user) {
    fputs("\r\033[J", stderr);
    print(user);
    fflush(stderr);
    el_set(editor->edit, EL_REFRESH);
}
