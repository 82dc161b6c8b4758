/*
 * action_conflict.c - fixes of merge conflicts: the lines of the current branch, of the incoming one, or of both.
 */
#include "adl/assist/action_internal.h"
#include "adl/assist/cursor.h"
#include "adl/diagnostic/diagnostic.h"
#include "adl/tree/conflict.h"
#include "adl/value/buffer.h"
#include <string.h>

/* The parts of a conflict that has all of its marks, as whole lines. */
struct conflict_parts {
    struct span whole, current, incoming;
};

static uint32_t start_of_line(const struct source *source, uint32_t number) {
    return number < source_lines(source) ? source_line_span(source, number).start : (uint32_t)source_length(source);
}

/* False if the first or the last mark, or the one in the middle, was removed already. */
static bool find_parts(const struct diagnostic *diagnostic, struct conflict_parts *parts) {
    const struct source *source = diagnostic->source;
    const char *text = source_text(source);
    if (diagnostic->related_count == 0 || text[diagnostic->span.start] != '<') return false;
    uint32_t first = cursor_line_of(source, diagnostic->span.start);
    uint32_t last = cursor_line_of(source, diagnostic->related[0].span.start), base = 0, middle = 0;
    for (uint32_t i = first + 1; i < last && !middle; i++) {
        char mark = conflict_mark(text, source_line_span(source, i));
        if (mark == '|' && !base) base = i;
        if (mark == '=') middle = i;
    }
    if (!middle) return false;
    parts->whole = (struct span){diagnostic->span.start, start_of_line(source, last + 1)};
    parts->current = (struct span){start_of_line(source, first + 1), start_of_line(source, base ? base : middle)};
    parts->incoming = (struct span){start_of_line(source, middle + 1), start_of_line(source, last)};
    return true;
}

static void add_choice(struct assist_actions *actions, size_t index, const struct diagnostic *diagnostic,
                       const struct conflict_parts *parts, bool current, bool incoming, const char *title) {
    const char *text = source_text(diagnostic->source);
    struct buffer lines;
    struct assist_edits *edits = assist_edits_new();
    buffer_init(&lines, SIZE_MAX);
    if (current) buffer_append(&lines, text + parts->current.start, parts->current.end - parts->current.start);
    if (incoming) buffer_append(&lines, text + parts->incoming.start, parts->incoming.end - parts->incoming.start);
    assist_edit_add(edits, diagnostic->source, parts->whole, buffer_cstr(&lines), lines.length);
    action_add(actions, ASSIST_ACTION_FIX, index, assist_edits_finish(edits), "%s", title);
    buffer_finish(&lines);
}

void action_conflicts(struct assist_actions *actions, const struct assist_names *names, struct span selection) {
    const struct diagnostics *found = names->assist->found;
    for (size_t i = 0; i < diagnostics_count(found); i++) {
        const struct diagnostic *diagnostic = diagnostics_at(found, i);
        struct conflict_parts parts;
        if (diagnostic->code != ADL_E017 || diagnostic->source != names->sources[0]) continue;
        if (!find_parts(diagnostic, &parts)) continue;
        if (selection.end < parts.whole.start || selection.start >= parts.whole.end) continue;
        add_choice(actions, i, diagnostic, &parts, true, false, "keep the current branch");
        add_choice(actions, i, diagnostic, &parts, false, true, "keep the incoming branch");
        add_choice(actions, i, diagnostic, &parts, true, true, "keep both branches");
    }
}
