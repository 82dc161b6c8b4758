/*
 * line_edits.c - compares texts by lines: the greedy algorithm of Myers ("An O(ND) Difference Algorithm", 1986), after
 * the common lines at both ends are set aside.
 *
 * reach[d][k] is the furthest line of the first text on the diagonal k (line of the first minus line of the second
 * text) with d inserted or removed lines. The way back from the end gives the edits, last one first.
 */
#include "adl/format/line_edits.h"
#include "adl/value/memory.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct lines {
    const char *text;
    uint32_t *starts; /* one more than `count`: the last one is the end of the text */
    uint32_t count;
};

struct comparison {
    struct lines from, to;
    uint32_t first;                          /* lines in common at the start */
    uint32_t from_count, to_count;           /* lines that are compared after these */
    int32_t *reach[LINE_EDITS_DISTANCE + 1]; /* each allocated, with an offset of d */
    line_edit_fn *edit;
    void *user;
};

static struct lines lines_of(const char *text, size_t length) {
    struct lines lines = {text, NULL, 0};
    for (uint32_t at = 0; at < length;) {
        const char *end = memchr(text + at, '\n', length - at);
        MEM_EXTEND(lines.starts, lines.count);
        lines.starts[lines.count++] = at;
        at = end ? (uint32_t)(end - text) + 1 : (uint32_t)length;
    }
    MEM_EXTEND(lines.starts, lines.count);
    lines.starts[lines.count] = (uint32_t)length;
    return lines;
}

static bool same_line(const struct comparison *all, uint32_t from, uint32_t to) {
    uint32_t a = all->from.starts[from], b = all->to.starts[to];
    uint32_t length = all->from.starts[from + 1] - a;
    return length == all->to.starts[to + 1] - b && memcmp(all->from.text + a, all->to.text + b, length) == 0;
}

static void set_ends_aside(struct comparison *all) {
    uint32_t from = all->from.count, to = all->to.count;
    while (all->first < from && all->first < to && same_line(all, all->first, all->first)) all->first++;
    while (from > all->first && to > all->first && same_line(all, from - 1, to - 1)) from--, to--;
    all->from_count = from - all->first;
    all->to_count = to - all->first;
}

/* An edit of `removed` lines at `from`, in which `inserted` lines at `to` are written; counted after `first`. */
static void report_edit(const struct comparison *all, uint32_t from, uint32_t removed, uint32_t to, uint32_t inserted) {
    from += all->first;
    to += all->first;
    uint32_t start = all->to.starts[to];
    all->edit(all->user, (struct span){all->from.starts[from], all->from.starts[from + removed]}, all->to.text + start,
              all->to.starts[to + inserted] - start);
}

/* Follows equal lines on the diagonal. */
static int32_t slide(const struct comparison *all, int32_t x, int32_t diagonal) {
    while (x < (int32_t)all->from_count && x - diagonal < (int32_t)all->to_count &&
           same_line(all, all->first + (uint32_t)x, all->first + (uint32_t)(x - diagonal)))
        x++;
    return x;
}

/* Where a step to (d, diagonal) comes from: true if a line was inserted (from diagonal + 1). */
static bool step_is_insertion(const int32_t *before, int32_t d, int32_t diagonal) {
    return diagonal == -d || (diagonal != d && before[diagonal - 1] < before[diagonal + 1]);
}

/* Returns the number of differing lines, or -1 if there are more than the limit. */
static int32_t compare_lines(struct comparison *all) {
    const int32_t end = (int32_t)all->from_count, last = end - (int32_t)all->to_count;
    for (int32_t d = 0; d <= LINE_EDITS_DISTANCE; d++) {
        int32_t *reach = (int32_t *)mem_array(NULL, 2 * (size_t)d + 3, sizeof *reach) + d + 1;
        all->reach[d] = reach;
        for (int32_t diagonal = -d; diagonal <= d; diagonal += 2) {
            int32_t x = 0;
            if (d > 0) {
                const int32_t *before = all->reach[d - 1];
                x = step_is_insertion(before, d, diagonal) ? before[diagonal + 1] : before[diagonal - 1] + 1;
            }
            reach[diagonal] = slide(all, x, diagonal);
            if (diagonal == last && reach[diagonal] >= end) return d;
        }
    }
    return -1;
}

struct step {
    uint32_t from, to; /* lines */
    bool insertion;
};

/* The steps from the start to the end, each an inserted or a removed line. */
static void collect_steps(const struct comparison *all, int32_t count, struct step *steps) {
    int32_t x = (int32_t)all->from_count, diagonal = x - (int32_t)all->to_count;
    for (int32_t d = count; d > 0; d--) {
        const int32_t *before = all->reach[d - 1];
        bool insertion = step_is_insertion(before, d, diagonal);
        diagonal += insertion ? 1 : -1;
        x = before[diagonal];
        steps[d - 1] = (struct step){(uint32_t)x, (uint32_t)(x - diagonal), insertion};
    }
}

/* Steps that follow each other without a common line between them are one edit. */
static void report_steps(const struct comparison *all, const struct step *steps, int32_t count) {
    for (int32_t i = 0; i < count;) {
        uint32_t removed = 0, inserted = 0;
        const struct step *first = &steps[i];
        while (i < count && steps[i].from == first->from + removed && steps[i].to == first->to + inserted) {
            if (steps[i].insertion)
                inserted++;
            else
                removed++;
            i++;
        }
        report_edit(all, first->from, removed, first->to, inserted);
    }
}

void line_edits(const char *from, size_t from_length, const char *to, size_t to_length, line_edit_fn *edit,
                void *user) {
    struct comparison all = {
        .from = lines_of(from, from_length), .to = lines_of(to, to_length), .edit = edit, .user = user};
    set_ends_aside(&all);
    int32_t count = all.from_count || all.to_count ? compare_lines(&all) : 0;
    if (count < 0) {
        report_edit(&all, 0, all.from_count, 0, all.to_count);
    } else if (count > 0) {
        struct step *steps = mem_array(NULL, (size_t)count, sizeof *steps);
        collect_steps(&all, count, steps);
        report_steps(&all, steps, count);
        mem_free(steps);
    }
    for (int32_t d = 0; d <= LINE_EDITS_DISTANCE && all.reach[d]; d++) mem_free(all.reach[d] - d - 1);
    mem_free(all.from.starts);
    mem_free(all.to.starts);
}
