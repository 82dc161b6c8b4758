/*
 * line_editor.c - line editing with libedit.
 *
 * libedit reads characters through read_character, so that Ctrl-C ends the wait for a key as it ends every other wait
 * of the program. libedit decodes characters by the locale; the program has none, so this file sets one of UTF-8 while
 * libedit runs, for this thread only.
 *
 * A paste begins with the key PASTE_BEGIN, which is bound to editor_paste. That reads the whole paste, so that nothing
 * in it works as a key, and inserts it at once: libedit would need a time that grows with the square of its length.
 */
#include "host/program/line_editor.h"
#include "adl/value/buffer.h"
#include "adl/value/memory.h"
#include "host/program/command.h"
#include "host/program/state_path.h"
#include <errno.h>
#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#define HISTORY_MAX 1000        /* lines */
#define PASTE_MAX   (16u << 20) /* bytes of one paste; the rest is dropped */
#define PASTE_SHOWN 2000u       /* bytes of a paste that is shown as it is */
#define PASTES_MAX  100u        /* long pastes in one line; further ones are dropped */
#define PASTE_ON    "\033[?2004h"
#define PASTE_OFF   "\033[?2004l"
#define PASTE_BEGIN "\\e[200~"
#define PASTE_END   "\033[201~"
#define PREFILL_KEY "\033[199~" /* is sent by no terminal, and inserts the prefill */
/* Shown for characters that a line cannot have. */
#define SHOWN_LINE_END "␤"
#define SHOWN_TAB      "␉"

struct line_editor {
    EditLine *edit;
    History *history;
    locale_t locale;
    const char *prompt; /* of the line that is being read */
    char *file;         /* of the history; NULL without XDG_STATE_HOME and HOME */
    char *prefill;      /* of the next line; NULL for none */
    uint32_t paste_count;
    char *pastes[PASTES_MAX]; /* the long pastes of the line */
};

/* ---- Characters ---- */

static struct termios editing;           /* the terminal's modes while a line is read */
static volatile sig_atomic_t is_editing; /* `editing` is valid */
static volatile sig_atomic_t continued;  /* the line is not on the screen any more */

/* After Ctrl-Z and `fg`, the shell has set its own modes. */
static void on_continue(int number) {
    int saved = errno;
    (void)number;
    if (is_editing) (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &editing);
    continued = 1;
    errno = saved;
}

/* The loop need not run for bytes that are there: a paste can have millions. */
static bool wait_byte(void) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return !command_got_signal() && (poll(&input, 1, 0) > 0 || command_wait_line(STDIN_FILENO));
}

/* Returns 1 with a character, 0 at the end of input, -1 after a signal. */
static int read_character(EditLine *edit, wchar_t *out) {
    mbstate_t state = {0};
    if (!is_editing) is_editing = tcgetattr(STDIN_FILENO, &editing) == 0;
    for (;;) {
        char byte;
        if (!command_wait_line(STDIN_FILENO)) return errno = EINTR, -1;
        if (continued) el_set(edit, EL_REFRESH);
        continued = 0;
        ssize_t got = read(STDIN_FILENO, &byte, 1);
        if (got <= 0) return got == 0 ? 0 : -1;
        size_t used = mbrtowc(out, &byte, 1, &state);
        if (used == (size_t)-1) memset(&state, 0, sizeof state); /* not UTF-8: the byte is dropped */
        if (used != (size_t)-1 && used != (size_t)-2) return 1;
    }
}

/* ---- Pastes ---- */

static void append_shown(struct buffer *out, char c) {
    if (c == '\n')
        buffer_text(out, SHOWN_LINE_END);
    else if (c == '\t')
        buffer_text(out, SHOWN_TAB);
    else
        buffer_char(out, c);
}

/* Control characters are dropped, except tabs and line ends. */
static void append_insertable(struct buffer *out, char c) {
    if (c == '\n' || c == '\t' || ((unsigned char)c >= ' ' && c != 0x7f)) buffer_char(out, c);
}

/* Reads a paste up to its end. Control characters are dropped, except tabs and line ends. Returns false at a signal. */
static bool read_paste(struct buffer *out) {
    static const char end[] = PASTE_END;
    size_t matched = 0;
    char last = 0, byte;
    while (matched < sizeof end - 1) {
        if (!wait_byte() || read(STDIN_FILENO, &byte, 1) != 1) return false;
        bool line_end = byte == '\r' || (byte == '\n' && last != '\r');
        last = byte;
        if (byte == end[matched]) {
            matched++;
            continue;
        }
        if (matched) buffer_append(out, end + 1, matched - 1); /* it was not the end; the escape is dropped */
        matched = byte == end[0];
        append_insertable(out, line_end ? '\n' : byte);
    }
    return true;
}

static size_t count_lines(const char *text) {
    size_t lines = 1;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++) lines++;
    return lines;
}

/* Inserts a paste into the line, or the name of it if it is long. */
static void insert_paste(struct line_editor *editor, const struct buffer *paste) {
    struct buffer shown;
    buffer_init(&shown, SIZE_MAX);
    if (paste->length <= PASTE_SHOWN) {
        for (size_t i = 0; i < paste->length; i++) append_shown(&shown, paste->data[i]);
    } else if (editor->paste_count < PASTES_MAX) {
        editor->pastes[editor->paste_count++] = mem_text_n(paste->data, paste->length);
        buffer_format(&shown, "[paste %u: %zu lines]", editor->paste_count,
                      count_lines(editor->pastes[editor->paste_count - 1]));
    }
    (void)el_insertstr(editor->edit, buffer_cstr(&shown));
    buffer_finish(&shown);
}

static unsigned char editor_paste(EditLine *edit, int key) {
    struct line_editor *editor = NULL;
    struct buffer paste;
    (void)key;
    el_get(edit, EL_CLIENTDATA, &editor);
    buffer_init(&paste, PASTE_MAX);
    bool complete = read_paste(&paste);
    if (complete && paste.length) insert_paste(editor, &paste);
    buffer_finish(&paste);
    return complete ? CC_REFRESH : CC_EOF;
}

static unsigned char editor_insert_prefill(EditLine *edit, int key) {
    struct line_editor *editor = NULL;
    (void)key;
    el_get(edit, EL_CLIENTDATA, &editor);
    if (editor->prefill) (void)el_insertstr(edit, editor->prefill);
    mem_free(editor->prefill);
    editor->prefill = NULL;
    return CC_REFRESH;
}

/* Returns the number of the paste that `text` begins with the name of, and the length of the name; 0 for none. */
static uint32_t paste_name(const struct line_editor *editor, const char *text, size_t *length) {
    char name[64];
    for (uint32_t i = 0; i < editor->paste_count; i++) {
        int size = snprintf(name, sizeof name, "[paste %u: %zu lines]", i + 1, count_lines(editor->pastes[i]));
        if (strncmp(text, name, (size_t)size) != 0) continue;
        *length = (size_t)size;
        return i + 1;
    }
    return 0;
}

/* Returns the line with what is shown differently, as it was typed or pasted. */
static char *restore_line(const struct line_editor *editor, const char *line) {
    struct buffer whole;
    size_t length;
    buffer_init(&whole, SIZE_MAX);
    while (*line) {
        uint32_t paste = *line == '[' ? paste_name(editor, line, &length) : 0;
        if (paste)
            buffer_text(&whole, editor->pastes[paste - 1]);
        else if (strncmp(line, SHOWN_LINE_END, length = sizeof SHOWN_LINE_END - 1) == 0)
            buffer_char(&whole, '\n');
        else if (strncmp(line, SHOWN_TAB, length = sizeof SHOWN_TAB - 1) == 0)
            buffer_char(&whole, '\t');
        else
            buffer_append(&whole, line, length = 1);
        line += length;
    }
    return buffer_detach(&whole, NULL);
}

static void release_pastes(struct line_editor *editor) {
    for (uint32_t i = 0; i < editor->paste_count; i++) mem_free(editor->pastes[i]);
    editor->paste_count = 0;
}

/* ---- The editor ---- */

static locale_t utf8_locale(void) {
    locale_t own = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (own && strcmp(nl_langinfo_l(CODESET, own), "UTF-8") == 0) return own;
    if (own) freelocale(own);
    return newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

static char *editor_prompt(EditLine *edit) {
    struct line_editor *editor = NULL;
    el_get(edit, EL_CLIENTDATA, &editor);
    return (char *)(uintptr_t)editor->prompt;
}

static void editor_init(struct line_editor *editor) {
    HistEvent event;
    el_set(editor->edit, EL_CLIENTDATA, editor);
    el_set(editor->edit, EL_PROMPT, editor_prompt);
    el_set(editor->edit, EL_EDITOR, "emacs");
    el_set(editor->edit, EL_GETCFN, read_character);
    el_set(editor->edit, EL_ADDFN, "tenon-paste", "Inserts a paste", editor_paste);
    el_set(editor->edit, EL_BIND, PASTE_BEGIN, "tenon-paste", NULL);
    el_set(editor->edit, EL_ADDFN, "tenon-prefill", "Inserts the text to change", editor_insert_prefill);
    el_set(editor->edit, EL_BIND, PREFILL_KEY, "tenon-prefill", NULL);
    history(editor->history, &event, H_SETSIZE, HISTORY_MAX);
    history(editor->history, &event, H_SETUNIQUE, 1);
    el_set(editor->edit, EL_HIST, history, editor->history);
    editor->file = state_path("chat_history");
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
    locale_t before = uselocale(editor->locale);
    if (editor->edit) el_end(editor->edit);
    if (editor->history) history_end(editor->history);
    uselocale(before);
    freelocale(editor->locale);
    mem_free(editor->file);
    mem_free(editor->prefill);
    release_pastes(editor);
    mem_free(editor);
}

/* Reads a line as it is shown; NULL at the end of input and after a signal. */
static char *read_shown_line(struct line_editor *editor) {
    int length = 0;
    if (editor->prefill) el_push(editor->edit, PREFILL_KEY);
    const char *line = el_gets(editor->edit, &length);
    char *own = line && length > 0 ? mem_text_n(line, (size_t)length) : NULL;
    if (own) own[strcspn(own, "\r\n")] = '\0';
    return own;
}

/* The history is saved at once: a terminal that is closed ends the program. */
static void remember_line(struct line_editor *editor, const char *shown) {
    HistEvent event;
    /* A line with the name of a paste would mean nothing later. */
    if (!shown[strspn(shown, " \t")] || editor->paste_count) return;
    history(editor->history, &event, H_ENTER, shown);
    if (editor->file) history(editor->history, &event, H_SAVE, editor->file);
}

char *line_editor_read(struct line_editor *editor, const char *prompt, bool remembers) {
    struct sigaction action = {.sa_handler = on_continue, .sa_flags = SA_RESTART}, action_before;
    locale_t before = uselocale(editor->locale);
    editor->prompt = prompt;
    is_editing = continued = 0;
    sigaction(SIGCONT, &action, &action_before);
    el_set(editor->edit, EL_PREP_TERM, 1); /* before the prompt, so that what is typed behind it is not echoed twice */
    fputs(PASTE_ON, stderr);
    char *shown = read_shown_line(editor), *line = shown ? restore_line(editor, shown) : NULL;
    is_editing = 0;
    fputs(PASTE_OFF, stderr);
    sigaction(SIGCONT, &action_before, NULL);
    if (shown && remembers) remember_line(editor, shown);
    release_pastes(editor);
    mem_free(shown);
    uselocale(before);
    return line;
}

bool line_editor_has_text(const struct line_editor *editor) {
    const LineInfo *line = el_line(editor->edit);
    return line->lastchar > line->buffer;
}

void line_editor_prefill(struct line_editor *editor, const char *text) {
    struct buffer plain, shown;
    buffer_init(&plain, SIZE_MAX);
    buffer_init(&shown, SIZE_MAX);
    for (const char *at = text; *at; at++) append_insertable(&plain, *at);
    for (size_t i = 0; i < plain.length; i++) append_shown(&shown, plain.data[i]);
    mem_free(editor->prefill);
    editor->prefill = buffer_detach(&shown, NULL);
    buffer_finish(&plain);
}

void line_editor_interject(struct line_editor *editor, void (*print)(void *user), void *user) {
    fputs("\r\033[J", stderr);
    print(user);
    fflush(stderr);
    el_set(editor->edit, EL_REFRESH);
}
