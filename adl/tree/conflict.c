/* conflict.c - finds, reports and hides the marks of merge conflicts. */
#include "adl/tree/conflict.h"
#include "adl/source/source.h"
#include "adl/tree/tree_arena.h"
#include "adl/tree/tree_build.h"
#include "adl/value/memory.h"
#include <stdlib.h>
#include <string.h>

#define MARK_LENGTH 7u

struct conflict {
    struct span mark;    /* its first mark */
    uint32_t hidden;     /* start of the part that is hidden: the ancestor or the other branch */
    uint32_t end;        /* after its last mark */
    bool open, has_base; /* `has_base`: `hidden` is set */
};

struct conflict_search {
    struct builder *builder;
    char *text;
    struct conflict *all; /* in the order of the text; the last one can be open */
    size_t count, capacity;
};

char conflict_mark(const char *text, struct span line) {
    if (line.end - line.start < MARK_LENGTH || !strchr("<|=>", text[line.start])) return '\0';
    const char *at = text + line.start;
    for (uint32_t i = 1; i < MARK_LENGTH; i++)
        if (at[i] != at[0]) return '\0';
    bool alone = line.end - line.start == MARK_LENGTH;
    return alone || (at[0] != '=' && at[MARK_LENGTH] == ' ') ? at[0] : '\0';
}

static void conflict_blank(struct conflict_search *search, uint32_t start, uint32_t end) {
    for (uint32_t i = start; i < end; i++)
        if (search->text[i] != '\n' && search->text[i] != '\r') search->text[i] = ' ';
}

static struct diagnostic *conflict_report(struct conflict_search *search, struct span mark) {
    struct diagnostic *it =
        diagnostics_add(search->builder->found, ADL_E017, search->builder->source, mark,
                        "found a merge conflict that is not resolved; expected the lines of one branch, or of both");
    diagnostic_suggest(it, "choose the lines, and remove the marks `<<<<<<<`, `=======` and `>>>>>>>`");
    return it;
}

static struct conflict *conflict_now(const struct conflict_search *search) {
    return search->count > 0 && search->all[search->count - 1].open ? &search->all[search->count - 1] : NULL;
}

/* A conflict without an end: only its marks are hidden, and all of its lines are read. */
static void conflict_give_up(struct conflict_search *search) {
    struct conflict *now = conflict_now(search);
    if (!now) return;
    conflict_report(search, now->mark);
    now->open = false;
}

static void conflict_take_mark(struct conflict_search *search, char mark, struct span line) {
    conflict_blank(search, line.start, line.end);
    if (mark == '<') conflict_give_up(search);
    struct conflict *now = conflict_now(search);
    if (!now) { /* the first mark was removed already: what follows is the other branch */
        MEM_GROW(search->all, search->count, search->capacity);
        now = &search->all[search->count++];
        *now = (struct conflict){line, line.start, line.end, true, mark != '<'};
    }
    if (!now->has_base && mark != '<') {
        now->has_base = true;
        now->hidden = line.start;
    }
    if (mark != '>') return;
    now->end = line.end;
    now->open = false;
    conflict_blank(search, now->hidden, now->end);
    struct diagnostic *it = conflict_report(search, now->mark);
    if (now->mark.start != line.start) diagnostic_relate(it, search->builder->source, line, "the conflict ends here");
}

/* ---- Incomplete collections ---- */

static bool conflict_is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

static uint32_t text_before(const struct conflict_search *search, uint32_t at, uint32_t from) {
    while (at > from + 1 && conflict_is_blank(search->text[at - 1])) at--;
    return at > 0 ? at - 1 : 0;
}

static uint32_t text_after(const struct conflict_search *search, uint32_t at, uint32_t to) {
    while (at < to && conflict_is_blank(search->text[at])) at++;
    return at;
}

static int compare_gaps(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

/* A collection lacks items if the text before or after a conflict, or what is read of it, is in the collection. */
static void conflict_note_gaps(struct conflict_search *search) {
    struct builder *builder = search->builder;
    builder->gaps = mem_array(NULL, 4 * search->count, sizeof *builder->gaps);
    for (size_t i = 0; i < search->count; i++) {
        const struct conflict *it = &search->all[i];
        uint32_t from = i > 0 ? search->all[i - 1].end : 0;
        uint32_t to = i + 1 < search->count ? search->all[i + 1].mark.start : (uint32_t)source_length(builder->source);
        uint32_t *gaps = builder->gaps + builder->gap_count;
        gaps[0] = text_before(search, it->mark.start, from);
        gaps[1] = text_after(search, it->mark.end, it->end);
        gaps[2] = text_before(search, it->hidden, it->mark.start);
        gaps[3] = text_after(search, it->end, to);
        builder->gap_count += 4;
    }
    qsort(builder->gaps, builder->gap_count, sizeof *builder->gaps, compare_gaps);
}

bool conflicts_hide(struct builder *builder, char *text) {
    struct conflict_search search = {.builder = builder, .text = text};
    uint32_t lines = source_lines(builder->source);
    for (uint32_t i = 0; i < lines; i++) {
        struct span line = source_line_span(builder->source, i);
        char mark = conflict_mark(source_text(builder->source), line);
        if (mark) conflict_take_mark(&search, mark, line);
    }
    conflict_give_up(&search);
    if (search.count > 0) {
        conflict_note_gaps(&search);
        builder->tree->whole = false;
    }
    mem_free(search.all);
    return search.count > 0;
}
