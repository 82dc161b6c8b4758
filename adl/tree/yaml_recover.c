/*
 * yaml_recover.c - reading after a YAML syntax error: an error costs only the item that contains it.
 *
 * A *block* (the lines of a list or mapping) is divided by its indentation into *pieces* (the lines of one item;
 * yaml_block.h), and libyaml reads each piece on its own: a quote that is not closed does not hide the items below it.
 * A piece with an error is divided again, if its value is a block. A piece that cannot be divided is reported with
 * libyaml's error, and its value is broken; of a value in brackets, the items before the error are kept.
 *
 * `text` is a copy of the source in which everything around the present block is blank: the `-` before it, and lines
 * that were reported. Offsets and columns in it are those of the source.
 *
 * The cost is linear: a text is read at most twice as a whole (again if it has conflicts), and then once for each level
 * of blocks around an error, and a block deeper than TREE_RECOVERY_DEPTH is not divided. Items that were read before
 * the first error are not read again.
 */
#include "adl/source/source.h"
#include "adl/tree/conflict.h"
#include "adl/tree/tree_arena.h"
#include "adl/tree/yaml_block.h"
#include "adl/tree/yaml_read.h"
#include "adl/tree/yaml_reuse.h"
#include "adl/value/memory.h"
#include <string.h>

#define ROWS_KEPT_LEVELS 2u /* levels whose items before the first error are kept: sections, and items of a section */

struct recovery {
    struct builder *builder;
    char *text;
    uint32_t last_end; /* end of the last value */
    uint32_t reports;
    bool ended; /* reading ends here */
};

/* ---- Reports ---- */

static uint32_t trimmed_end(const struct recovery *recovery, uint32_t start, uint32_t end) {
    while (end > start && yaml_ends_word(recovery->text, end - 1)) end--;
    return end;
}

static void recovery_report(struct recovery *recovery, struct span range, const struct yaml_problem *problem) {
    yaml_problem_report(recovery->builder->found, recovery->builder->source, range, problem);
    recovery->builder->lost_sections = true;
    recovery->builder->tree->whole = false;
    recovery->reports++;
}

static void report_misfit(struct recovery *recovery, const struct yaml_block *block, uint32_t at, uint32_t column) {
    struct yaml_problem problem = {YAML_PROBLEM_MISFIT, "while parsing a block mapping", at, block->start, 0};
    if (block->kind == TN_ARRAY)
        problem.problem = column > block->column ? YAML_PROBLEM_LOST_DASH : YAML_PROBLEM_NO_DASH;
    if (block->kind == TN_ARRAY && yaml_is_dash(recovery->text, at)) problem.problem = YAML_PROBLEM_DASH_COLUMN;
    recovery_report(recovery, block->lines, &problem);
    builder_incomplete(recovery->builder);
}

static enum yaml_result recovery_read(struct recovery *recovery, struct span lines, int kind,
                                      struct yaml_problem *problem) {
    uint32_t last_end = lines.start;
    enum yaml_result result = yaml_read_range(recovery->builder, recovery->text, lines, kind, &last_end, problem);
    if (result == YAML_READ && last_end > recovery->last_end) recovery->last_end = last_end;
    if (result == YAML_ENDED) recovery->ended = true;
    return result;
}

/* Reports the stray lines between the lines of a piece, and makes them blank. */
static void fill_holes(struct recovery *recovery, const struct yaml_block *block, const struct yaml_piece *piece) {
    struct yaml_row row;
    uint32_t at = piece->lines.start;
    while (yaml_next_row(recovery->text, at, piece->lines.end, &row)) {
        at = row.next;
        if (row.text == piece->text || row.text - row.start > block->column || yaml_has_item_form(recovery->text, &row))
            continue;
        struct yaml_problem problem = {YAML_PROBLEM_NO_COLON, NULL, row.text, 0, 0}, own;
        struct builder_mark mark = builder_mark(recovery->builder);
        struct span line = {row.start, row.end};
        bool failed = recovery_read(recovery, line, block->kind, &own) == YAML_FAILED;
        builder_rewind(recovery->builder, &mark, line);
        recovery_report(recovery, line, failed && block->kind == TN_OBJECT ? &own : &problem);
        builder_incomplete(recovery->builder);
        memset(recovery->text + row.text, ' ', row.end - row.text);
    }
}

/* ---- Dividing ---- */

static void recover_block(struct recovery *recovery, const struct yaml_block *block, const struct yaml_problem *first);

/* What a piece consists of: a key, or the `-` of an item, and a value. */
struct parts {
    struct span key; /* without quotes; empty in lists */
    uint32_t after;  /* behind the `-` or the colon; 0 if the piece has neither */
    uint32_t value;  /* start of the value; the end of the piece if it is absent */
    struct span anchor;
    bool below;          /* the value starts below the line of the key or `-` */
    struct yaml_row row; /* the line of the value */
};

static uint32_t skip_anchor(const struct recovery *recovery, uint32_t at, struct span *anchor) {
    uint32_t end = at;
    if (recovery->text[at] != '&') return at;
    do end++;
    while (!yaml_ends_word(recovery->text, end) && !strchr("{}[],", recovery->text[end]));
    uint32_t next = yaml_skip_spaces(recovery->text, end);
    if (end == at + 1) return at;
    if (!strchr("\n\r#{[", recovery->text[next])) return at; /* also at the NUL: nothing follows */
    *anchor = (struct span){at, end};
    return next;
}

static struct parts parts_of(const struct recovery *recovery, const struct yaml_block *block,
                             const struct yaml_piece *piece) {
    struct parts parts = {.value = piece->lines.end,
                          .row = yaml_row_at(recovery->text, piece->lines.start, piece->lines.end)};
    parts.after = block->kind == TN_ARRAY ? piece->text + 1 : yaml_key_at(recovery->text, piece->text, &parts.key);
    if (parts.after == 0 || piece->stray) return parts;
    uint32_t at = skip_anchor(recovery, yaml_skip_spaces(recovery->text, parts.after), &parts.anchor);
    if (at < parts.row.end && recovery->text[at] != '#') {
        parts.value = at;
    } else if (yaml_next_row(recovery->text, parts.row.next, piece->lines.end, &parts.row)) {
        parts.value = parts.row.text;
        parts.below = true;
    }
    return parts;
}

/* Fills *inner if the value of the piece is a list or mapping by indentation. */
static bool find_inner(const struct recovery *recovery, const struct yaml_block *block, const struct yaml_piece *piece,
                       const struct parts *parts, struct yaml_block *inner) {
    if (parts->value >= piece->lines.end || block->level >= TREE_RECOVERY_DEPTH ||
        recovery->builder->depth >= recovery->builder->limits.depth)
        return false;
    bool dash = yaml_is_dash(recovery->text, parts->value);
    uint32_t column = parts->value - parts->row.start;
    bool list_beside_key = dash && block->kind == TN_OBJECT && column == block->column;
    if (parts->below ? column <= block->column && !list_beside_key : block->kind == TN_OBJECT || parts->anchor.end > 0)
        return false;
    *inner = (struct yaml_block){
        dash ? TN_ARRAY : TN_OBJECT, column, {parts->row.start, piece->lines.end}, parts->value, block->level + 1};
    if (dash || yaml_starts_item(recovery->text, TN_OBJECT, parts->value)) return true;
    struct yaml_row below; /* a first line that is not finished, above keys */
    return !strchr("{[|>", recovery->text[parts->value]) &&
           yaml_next_row(recovery->text, parts->row.next, piece->lines.end, &below) &&
           below.text - below.start == column && yaml_starts_item(recovery->text, TN_OBJECT, below.text);
}

/* Keeps the items of a value in brackets that were read before the text with the error. */
static bool keep_flow(struct recovery *recovery, const struct yaml_piece *piece, uint32_t depth, uint32_t value,
                      const struct yaml_problem *problem) {
    struct builder *builder = recovery->builder;
    if (builder->depth <= depth || builder->skip > 0 || builder->frames[depth].style != TREE_FLOW ||
        builder->frames[depth].start != value || strcmp(problem->problem, YAML_PROBLEM_DEPTH) == 0)
        return false;
    uint32_t last = trimmed_end(recovery, value, piece->lines.end);
    uint32_t end = trimmed_end(recovery, value, problem->at < last ? problem->at : last);
    uint32_t from = problem->at < last ? yaml_flow_start(builder->source, piece->lines, problem->at) : end;
    builder_drop(builder, depth, from < end ? from : end); /* an absent value is behind the end */
    builder_cut(builder, depth, end);
    recovery->last_end = end;
    return true;
}

/*
 * libyaml delivers nothing of a line in brackets before it has seen the whole line, which can be a key. Without the
 * part with the error, it delivers what is before.
 */
static bool keep_flow_line(struct recovery *recovery, const struct yaml_block *block, const struct yaml_piece *piece,
                           const struct builder_mark *mark, const struct parts *parts,
                           const struct yaml_problem *problem) {
    if (parts->after == 0 || piece->stray || parts->value >= piece->lines.end ||
        !strchr("{[", recovery->text[parts->value]))
        return false;
    if (keep_flow(recovery, piece, mark->depth, parts->value, problem)) return true;
    struct yaml_problem shorter;
    bool inside = problem->context && problem->context_at > parts->value && problem->context_at < problem->at;
    uint32_t end = inside ? problem->context_at : problem->at;
    builder_rewind(recovery->builder, mark, piece->lines);
    struct span lines = {piece->lines.start, end < piece->lines.end ? end : piece->lines.end};
    return end > parts->value && recovery_read(recovery, lines, block->kind, &shorter) == YAML_FAILED &&
           keep_flow(recovery, piece, mark->depth, parts->value, &shorter);
}

static bool is_plain_word(const struct recovery *recovery, uint32_t at, uint32_t end) {
    uint32_t start = at;
    while (at < end) {
        char c = recovery->text[at];
        bool word = c == '_' || c == '-' || c == '.' || c == '/' || c == ':' || (c >= '0' && c <= '9') ||
                    (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
        if (!word) break;
        at++;
    }
    uint32_t next = yaml_skip_spaces(recovery->text, at);
    return at > start && (next >= end || (next > at && recovery->text[next] == '#'));
}

/* `type: llm` above lines that do not fit: the word is the value, as a text in quotes or a value in brackets is. */
static bool keep_line(struct recovery *recovery, const struct yaml_block *block, const struct parts *parts,
                      const struct yaml_problem *problem) {
    if (parts->below || parts->value >= parts->row.end || problem->at < parts->row.next ||
        !(strchr("\"'{[", recovery->text[parts->value]) || is_plain_word(recovery, parts->value, parts->row.end)))
        return false;
    struct yaml_problem other;
    struct builder_mark mark = builder_mark(recovery->builder);
    struct span line = {parts->row.start, parts->row.end};
    if (recovery_read(recovery, line, block->kind, &other) == YAML_READ) return true;
    builder_rewind(recovery->builder, &mark, line);
    return false;
}

static void recovery_key(struct recovery *recovery, struct span key) {
    const char *text = recovery->text + key.start;
    if (key.end - key.start == 2 && memcmp(text, "<<", 2) == 0)
        builder_bad_key(recovery->builder);
    else
        builder_key(recovery->builder, text, key.end - key.start, key);
}

static void recovery_broken(struct recovery *recovery, const struct yaml_piece *piece, const struct parts *parts) {
    uint32_t start = parts->value < piece->lines.end ? parts->value : parts->after;
    uint32_t end = trimmed_end(recovery, start, piece->lines.end);
    builder_broken(recovery->builder, (struct span){start, end});
    if (end > recovery->last_end) recovery->last_end = end;
}

/* Reads the items of the inner block; its collection is open in the builder. */
static void finish_inner(struct recovery *recovery, const struct yaml_piece *piece, const struct yaml_block *inner,
                         const struct yaml_problem *problem, bool resumed) {
    uint32_t reports = recovery->reports;
    recover_block(recovery, inner, resumed ? problem : NULL);
    if (recovery->ended) return;
    if (recovery->reports == reports) { /* every item is correct on its own */
        recovery_report(recovery, piece->lines, problem);
        builder_incomplete(recovery->builder);
    }
    if (recovery->last_end < inner->start) recovery->last_end = inner->start;
    builder_close(recovery->builder, recovery->last_end);
}

/* Opens the collection that is the value of the piece. */
static void open_inner(struct recovery *recovery, const struct yaml_block *block, const struct yaml_piece *piece,
                       const struct parts *parts, const struct yaml_block *inner) {
    if (block->kind == TN_OBJECT)
        recovery_key(recovery, parts->key);
    else
        recovery->text[piece->text] = ' ';
    if (parts->anchor.end > 0) {
        uint32_t start = parts->anchor.start + 1;
        char *name = mem_text_n(recovery->text + start, parts->anchor.end - start);
        builder_anchor(recovery->builder, name, parts->anchor);
        mem_free(name);
    }
    builder_open(recovery->builder, inner->kind, TREE_BLOCK, inner->start);
}

/* Divides a piece that libyaml could not read. The builder has what was read of it since the mark. */
static void divide_piece(struct recovery *recovery, const struct yaml_block *block, const struct yaml_piece *piece,
                         const struct builder_mark *mark, const struct yaml_problem *problem) {
    struct builder *builder = recovery->builder;
    struct parts parts = parts_of(recovery, block, piece);
    if (keep_flow_line(recovery, block, piece, mark, &parts, problem)) {
        recovery_report(recovery, piece->lines, problem);
        return;
    }
    builder_rewind(builder, mark, piece->lines);
    struct yaml_block inner;
    bool item = parts.after > 0 && !piece->stray;
    if (item && find_inner(recovery, block, piece, &parts, &inner)) {
        open_inner(recovery, block, piece, &parts, &inner);
        finish_inner(recovery, piece, &inner, problem, false);
        return;
    }
    bool kept = item && keep_line(recovery, block, &parts, problem);
    recovery_report(recovery, piece->lines, problem);
    if (kept || !item) {
        builder_incomplete(builder);
    } else {
        if (block->kind == TN_OBJECT) recovery_key(recovery, parts.key);
        recovery_broken(recovery, piece, &parts);
    }
}

static void read_stray(struct recovery *recovery, const struct yaml_block *block, const struct yaml_piece *piece) {
    uint32_t column = piece->text - piece->lines.start;
    struct yaml_problem problem;
    struct builder_mark mark = builder_mark(recovery->builder);
    enum yaml_result result = recovery_read(recovery, piece->lines, block->kind, &problem);
    if (result == YAML_FAILED) builder_rewind(recovery->builder, &mark, piece->lines);
    if (column != block->column) report_misfit(recovery, block, piece->text, column);
    if (result != YAML_FAILED) return;
    bool items = yaml_starts_item(recovery->text, block->kind, piece->text) && block->level < TREE_RECOVERY_DEPTH;
    if (items) {
        struct yaml_block own = {block->kind, column, piece->lines, piece->text, block->level + 1};
        recover_block(recovery, &own, NULL);
    } else if (column == block->column) {
        recovery_report(recovery, piece->lines, &problem);
        builder_incomplete(recovery->builder);
    }
}

/* Takes the piece from an earlier version of the text. */
static bool reuse_piece(struct recovery *recovery, const struct yaml_block *block, const struct yaml_piece *piece) {
    struct builder *builder = recovery->builder;
    if (!builder->reuse || !yaml_reuse_item(builder->reuse, block, piece->lines)) return false;
    if (builder->stopped) {
        recovery->ended = true;
        return true;
    }
    uint32_t end = builder->stack[builder->stack_count - 1].node->span.end;
    if (end > recovery->last_end) recovery->last_end = end;
    return true;
}

static void recovery_read_piece(struct recovery *recovery, const struct yaml_block *block,
                                const struct yaml_piece *piece) {
    if (piece->holed) fill_holes(recovery, block, piece);
    if (piece->stray) {
        read_stray(recovery, block, piece);
        return;
    }
    if (!piece->holed && reuse_piece(recovery, block, piece)) return;
    struct yaml_problem problem;
    struct builder_mark mark = builder_mark(recovery->builder);
    if (recovery_read(recovery, piece->lines, block->kind, &problem) == YAML_FAILED)
        divide_piece(recovery, block, piece, &mark, &problem);
}

/* ---- Blocks ---- */

static bool item_is_inside(const struct tree_item *item, struct span lines) {
    struct span span = item->node->span;
    if (item->key && (item->key_span.start < lines.start || item->key_span.end > lines.end)) return false;
    bool alias = item->key && span.start < item->key_span.end;
    return alias || (span.start >= lines.start && span.end <= lines.end);
}

/* Where reading went wrong: libyaml notices a quote that is not closed only far below it. */
static uint32_t place_of_problem(const struct yaml_problem *problem) {
    bool quote = problem->context && strcmp(problem->context, "while scanning a quoted scalar") == 0;
    return quote ? problem->context_at : problem->at;
}

/* Continues in the collection that is the value of the piece and is still open from the first reading. */
static bool resume_piece(struct recovery *recovery, const struct yaml_block *block, const struct yaml_piece *piece,
                         uint32_t depth, const struct yaml_problem *problem) {
    struct builder *builder = recovery->builder;
    struct parts parts = parts_of(recovery, block, piece);
    struct yaml_block inner;
    uint32_t at = place_of_problem(problem);
    if (builder->depth <= depth || builder->skip > 0 || piece->stray || piece->holed || at < piece->lines.start ||
        at >= piece->lines.end || block->level + 1 >= ROWS_KEPT_LEVELS)
        return false;
    const struct builder_frame *frame = &builder->frames[depth];
    if (!find_inner(recovery, block, piece, &parts, &inner) || frame->kind != inner.kind ||
        frame->style != TREE_BLOCK || frame->start != inner.start)
        return false;
    if (block->kind == TN_ARRAY) recovery->text[piece->text] = ' ';
    finish_inner(recovery, piece, &inner, problem, true);
    return true;
}

/*
 * The builder has what was read of the block until the first problem. Keeps the items that are before it, and returns
 * where to continue.
 */
static uint32_t keep_items(struct recovery *recovery, const struct yaml_block *block, uint32_t depth,
                           const struct yaml_problem *problem) {
    struct builder *builder = recovery->builder;
    size_t base = builder->frames[depth - 1].base, kept = 0;
    size_t count = (builder->depth > depth ? builder->frames[depth].base : builder->stack_count) - base;
    uint32_t at = block->lines.start, start = at;
    struct yaml_piece piece;
    bool more;
    while ((more = yaml_next_piece(recovery->text, block, &at, &piece))) {
        if (kept == count || piece.stray || piece.holed || piece.lines.end > place_of_problem(problem) ||
            !item_is_inside(&builder->stack[base + kept], piece.lines))
            break;
        kept++;
        start = at;
    }
    if (kept > 0 && builder->stack[base + kept - 1].node->span.end > recovery->last_end &&
        builder->stack[base + kept - 1].node->span.end <= start)
        recovery->last_end = builder->stack[base + kept - 1].node->span.end;
    if (more && kept == count && resume_piece(recovery, block, &piece, depth, problem)) return at;
    uint32_t total = kept > 0 ? builder->totals[base + kept - 1] : builder->frames[depth - 1].total_before;
    struct builder_mark mark = {depth, total, base + kept, 0};
    builder_rewind(builder, &mark, (struct span){start, block->lines.end});
    return start;
}

/* Reads the items of a block whose collection is open. `first` is the problem that ended the first reading in it. */
static void recover_block(struct recovery *recovery, const struct yaml_block *block, const struct yaml_problem *first) {
    uint32_t at = block->lines.start;
    struct yaml_piece piece;
    if (first) at = keep_items(recovery, block, block->level + 1, first);
    while (!recovery->ended && yaml_next_piece(recovery->text, block, &at, &piece))
        recovery_read_piece(recovery, block, &piece);
}

/* ---- The document ---- */

/* The whole document is a block: of keys if any line in column 0 has one; else what its first text is. */
static bool find_root(const struct recovery *recovery, struct span whole, struct yaml_block *root) {
    struct yaml_row row, first;
    if (!yaml_next_row(recovery->text, whole.start, whole.end, &first)) return false;
    *root = (struct yaml_block){TN_OBJECT, 0, whole, first.text, 0};
    for (uint32_t at = whole.start; yaml_next_row(recovery->text, at, whole.end, &row); at = row.next) {
        if (yaml_is_dash(recovery->text, row.text) && row.text == first.text) break;
        if (row.text == row.start && yaml_starts_item(recovery->text, TN_OBJECT, row.text)) return true;
    }
    root->column = first.text - first.start;
    if (yaml_is_dash(recovery->text, first.text)) root->kind = TN_ARRAY;
    return yaml_starts_item(recovery->text, root->kind, first.text);
}

static void recovery_read_root(struct recovery *recovery, struct span whole, const struct yaml_problem *problem) {
    struct builder *builder = recovery->builder;
    struct builder_mark none = {0};
    struct yaml_block root;
    if (!find_root(recovery, whole, &root)) {
        recovery_report(recovery, whole, problem);
        struct yaml_piece all = {.lines = whole};
        uint32_t start = builder->depth > 0 ? builder->frames[0].start : 0;
        if (!keep_flow(recovery, &all, 0, start, problem)) builder_rewind(builder, &none, (struct span){0, 0});
        return;
    }
    bool resumes = builder->depth > 0 && builder->frames[0].kind == root.kind &&
                   builder->frames[0].style == TREE_BLOCK && builder->frames[0].start == root.start;
    if (!resumes) {
        builder_rewind(builder, &none, whole);
        builder_open(builder, root.kind, TREE_BLOCK, root.start);
    }
    recover_block(recovery, &root, resumes ? problem : NULL);
    if (recovery->ended) return;
    if (recovery->reports == 0) { /* every item is correct on its own: the error is before or between them */
        recovery_report(recovery, whole, problem);
        builder_incomplete(builder);
    }
    if (recovery->last_end < root.start) recovery->last_end = root.start;
    builder_close(builder, recovery->last_end);
}

/* Hides what merge conflicts add, and reads the rest again. Returns false if the text has no conflicts. */
static bool read_without_conflicts(struct recovery *recovery, struct span whole, enum yaml_result *result,
                                   struct yaml_problem *problem) {
    if (!conflicts_hide(recovery->builder, recovery->text)) return false;
    yaml_reuse_free(recovery->builder->reuse); /* the text is not that of the source any more */
    recovery->builder->reuse = NULL;
    struct builder_mark none = {0};
    builder_rewind(recovery->builder, &none, whole);
    *result = recovery_read(recovery, whole, 0, problem);
    return true;
}

void yaml_recover(struct builder *builder, struct span whole, const struct yaml_problem *problem) {
    struct recovery recovery = {.builder = builder,
                                .text = mem_text_n(source_text(builder->source), source_length(builder->source)),
                                .last_end = whole.start};
    struct yaml_problem own = *problem;
    enum yaml_result result = YAML_FAILED;
    read_without_conflicts(&recovery, whole, &result, &own);
    builder->tree->whole = false;
    if (result == YAML_FAILED) recovery_read_root(&recovery, whole, &own);
    mem_free(recovery.text);
}
