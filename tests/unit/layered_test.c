/*
 * layered_test.c - what holds for every layered layout, for generated graphs and for some special ones.
 *
 * Boxes and labels do not overlap. Lines end at their boxes, lead down if they can, and cross neither boxes nor the
 * labels of other lines. Everything is inside of the drawing.
 */
#include "adl/draw/layered.h"
#include "adl/value/memory.h"
#include "tests/unit/corpus.h"

struct rect {
    int64_t left, top, right, bottom;
};

static uint64_t seed;

static uint32_t chance(uint32_t below) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % below;
}

static struct rect box_rect(const struct layered_box *box) {
    return (struct rect){box->x - box->width / 2, box->y - box->height / 2, box->x + box->width / 2,
                         box->y + box->height / 2};
}

static struct rect label_rect(const struct layered_line *line) {
    return (struct rect){line->label_x - line->label_width / 2, line->label_y - line->label_height / 2,
                         line->label_x + line->label_width / 2, line->label_y + line->label_height / 2};
}

/* True if they share more than a border. */
static bool overlap(struct rect a, struct rect b) {
    return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

/* A part of a line; a curve stays between its ends. It is one unit wide, so that a line on a border is not on it. */
static struct rect part_rect(struct layered_point a, struct layered_point b) {
    struct rect part = {a.x < b.x ? a.x : b.x, a.y < b.y ? a.y : b.y, a.x < b.x ? b.x : a.x, a.y < b.y ? b.y : a.y};
    if (part.left == part.right) part.left--, part.right++;
    if (part.top == part.bottom) part.top--, part.bottom++;
    return part;
}

static bool touches(struct layered_point point, const struct layered_box *box) {
    struct rect rect = box_rect(box);
    bool at_side = (point.x == rect.left || point.x == rect.right) && point.y >= rect.top && point.y <= rect.bottom;
    return at_side ||
           ((point.y == rect.top || point.y == rect.bottom) && point.x >= rect.left && point.x <= rect.right);
}

static void check_inside(const struct layered *layered, struct rect rect) {
    assert_true(rect.left >= -1 && rect.top >= -1);
    assert_true(rect.right <= layered->width + 1 && rect.bottom <= layered->height + 1);
}

static void check_boxes(const struct layered *layered) {
    for (uint32_t a = 0; a < layered->box_count; a++) {
        check_inside(layered, box_rect(&layered->boxes[a]));
        for (uint32_t b = 0; b < a; b++)
            assert_false(overlap(box_rect(&layered->boxes[a]), box_rect(&layered->boxes[b])));
    }
}

static void check_labels(const struct layered *layered) {
    for (uint32_t i = 0; i < layered->line_count; i++) {
        const struct layered_line *line = &layered->lines[i];
        assert_int_equal(line->labelled, line->label_width > 0 && line->way < LAYERED_MARGIN);
        if (!line->labelled) continue;
        check_inside(layered, label_rect(line));
        for (uint32_t b = 0; b < layered->box_count; b++)
            assert_false(overlap(label_rect(line), box_rect(&layered->boxes[b])));
        for (uint32_t k = 0; k < i; k++)
            if (layered->lines[k].labelled) assert_false(overlap(label_rect(line), label_rect(&layered->lines[k])));
    }
}

static void check_part(const struct layered *layered, uint32_t index, struct layered_point a, struct layered_point b) {
    struct rect part = part_rect(a, b);
    check_inside(layered, part);
    for (uint32_t i = 0; i < layered->box_count; i++) {
        if (!overlap(part, box_rect(&layered->boxes[i]))) continue;
        /* A straight part that ends at its own box may touch its border. */
        assert_true(i == layered->lines[index].from || i == layered->lines[index].to);
        assert_true(touches(a, &layered->boxes[i]) || touches(b, &layered->boxes[i]));
        assert_true(part.right - part.left <= 2 || part.bottom - part.top <= 2);
    }
    if (layered->lines[index].way >= LAYERED_MARGIN) return;
    for (uint32_t i = 0; i < layered->line_count; i++) {
        const struct layered_line *other = &layered->lines[i];
        if (i == index || !other->labelled) continue;
        /* If a box has loops and lines at both sides, a line can pass behind the label of a loop. */
        bool same = other->from == layered->lines[index].from || other->from == layered->lines[index].to;
        if (other->way == LAYERED_LOOP && same && a.y == b.y) continue;
        assert_false(overlap(part, label_rect(other)));
    }
}

/* The end of a joined line is on a line to the same box that is not joined. */
static void check_junction(const struct layered *layered, const struct layered_line *line, struct layered_point end) {
    for (uint32_t i = 0; i < layered->line_count; i++) {
        const struct layered_line *trunk = &layered->lines[i];
        if (trunk->to != line->to || trunk->joined || !trunk->merged) continue;
        for (uint32_t p = 1; p < trunk->point_count; p++) {
            const struct layered_point *part = &layered->points[trunk->first_point + p - 1];
            if ((end.x == part[0].x && end.y >= part[0].y && end.y <= part[1].y) ||
                (end.x == part[1].x && end.y == part[1].y))
                return;
        }
    }
    fail_msg("a line joins nothing");
}

static void check_direction(const struct layered *layered, const struct layered_line *line) {
    const struct layered_box *from = &layered->boxes[line->from], *to = &layered->boxes[line->to];
    const struct layered_point *first = &layered->points[line->first_point];
    const struct layered_point *last = &first[line->point_count - 1];
    assert_true(touches(*first, from));
    if (line->joined) {
        assert_true(line->merged && line->way == LAYERED_DOWN && from->rank < to->rank);
        check_junction(layered, line, *last);
        return;
    }
    assert_true(touches(*last, to));
    if (line->way == LAYERED_LOOP) assert_int_equal(line->from, line->to);
    if (line->way == LAYERED_DOWN || line->way == LAYERED_MARGIN) {
        assert_true(from->rank < to->rank);
        assert_int_equal(first->y, from->y + from->height / 2);
        assert_int_equal(last->y, to->y - to->height / 2);
    }
    if (line->way == LAYERED_UP || line->way == LAYERED_MARGIN_UP) assert_true(from->rank > to->rank);
    if (line->way == LAYERED_UP) { /* both ends are horizontal, at a side */
        assert_int_equal(first[0].y, first[1].y);
        assert_int_equal(last[0].y, last[-1].y);
    }
}

static void check_lines(const struct layered *layered) {
    for (uint32_t i = 0; i < layered->line_count; i++) {
        const struct layered_line *line = &layered->lines[i];
        assert_true(line->point_count >= 2);
        check_direction(layered, line);
        for (uint32_t p = 1; p < line->point_count; p++)
            check_part(layered, i, layered->points[line->first_point + p - 1], layered->points[line->first_point + p]);
    }
}

static void check_layout(const struct layered *layered) {
    check_boxes(layered);
    check_labels(layered);
    check_lines(layered);
}

/* ---- Generated graphs ---- */

#define BOXES 24u
#define LINES 40u

struct graph {
    struct layered_box boxes[BOXES];
    struct layered_line lines[LINES];
    struct layered layered;
};

static void generate(struct graph *graph, uint64_t start) {
    *graph = (struct graph){.layered = {.boxes = graph->boxes, .lines = graph->lines}};
    seed = start;
    graph->layered.box_count = 1 + chance(BOXES);
    graph->layered.line_count = chance(LINES);
    graph->layered.end = chance(graph->layered.box_count);
    uint32_t labels = chance(3), tall = chance(4), minors = chance(5);
    for (uint32_t i = 0; i < graph->layered.box_count; i++)
        graph->boxes[i] = (struct layered_box){.width = 401 + chance(1500), .height = chance(4) < tall ? 3001 : 440};
    for (uint32_t i = 0; i < graph->layered.line_count; i++) {
        graph->lines[i] = (struct layered_line){.from = chance(graph->layered.box_count),
                                                .to = chance(graph->layered.box_count),
                                                .minor = chance(4) < minors,
                                                .merged = chance(4) < minors};
        if (chance(2) < labels) {
            graph->lines[i].label_width = 301 + chance(2000);
            graph->lines[i].label_height = 201 + chance(300);
        }
    }
}

static void holds_for_generated_graphs(void **state) {
    (void)state;
    for (uint64_t start = 0; start < 400; start++) {
        struct graph graph, again;
        generate(&graph, start);
        layered_place(&graph.layered);
        check_layout(&graph.layered);
        generate(&again, start); /* the same input, the same layout */
        layered_place(&again.layered);
        assert_int_equal(graph.layered.point_count, again.layered.point_count);
        for (uint32_t b = 0; b < graph.layered.box_count; b++) {
            assert_int_equal(graph.boxes[b].x, again.boxes[b].x);
            assert_int_equal(graph.boxes[b].y, again.boxes[b].y);
        }
        if (again.layered.point_count)
            assert_memory_equal(graph.layered.points, again.layered.points,
                                again.layered.point_count * sizeof *again.layered.points);
        layered_finish(&graph.layered);
        layered_finish(&again.layered);
    }
}

/* ---- Special graphs ---- */

/* Boxes of the same size, and lines without labels between them. */
static void place_with_end(struct graph *graph, uint32_t boxes, uint32_t lines, const uint32_t (*ends)[2],
                           uint32_t end) {
    *graph = (struct graph){
        .layered = {.boxes = graph->boxes, .box_count = boxes, .end = end, .lines = graph->lines, .line_count = lines}};
    for (uint32_t i = 0; i < boxes; i++) graph->boxes[i] = (struct layered_box){.width = 1000, .height = 400};
    for (uint32_t i = 0; i < lines; i++) graph->lines[i] = (struct layered_line){.from = ends[i][0], .to = ends[i][1]};
    layered_place(&graph->layered);
    check_layout(&graph->layered);
}

static void place(struct graph *graph, uint32_t boxes, uint32_t lines, const uint32_t (*ends)[2]) {
    place_with_end(graph, boxes, lines, ends, 0);
}

static void a_chain_is_straight(void **state) {
    (void)state;
    static const uint32_t ends[][2] = {{0, 2}, {2, 1}, {1, 3}};
    struct graph graph;
    place(&graph, 4, 3, ends);
    assert_int_equal(graph.layered.width, 1000);
    assert_int_equal(graph.layered.point_count, 6);
    for (uint32_t i = 0; i < 6; i++) assert_int_equal(graph.layered.points[i].x, 500);
    assert_int_equal(graph.boxes[1].rank, 2);
    layered_finish(&graph.layered);
}

static void a_box_is_between_its_successors(void **state) {
    (void)state;
    static const uint32_t ends[][2] = {{0, 1}, {0, 2}, {1, 3}, {2, 3}};
    struct graph graph;
    place(&graph, 4, 4, ends);
    assert_int_equal(graph.boxes[0].x, graph.boxes[3].x);
    assert_int_equal(2 * graph.boxes[0].x, graph.boxes[1].x + graph.boxes[2].x);
    layered_finish(&graph.layered);
}

/* The lines from 1 and 2 would cross if 3 and 4 stayed in the order of the input. */
static void crossings_are_removed(void **state) {
    (void)state;
    static const uint32_t ends[][2] = {{0, 1}, {0, 2}, {1, 4}, {2, 3}, {3, 5}, {4, 5}};
    struct graph graph;
    place(&graph, 6, 6, ends);
    assert_int_equal(graph.boxes[1].x < graph.boxes[2].x, graph.boxes[4].x < graph.boxes[3].x);
    layered_finish(&graph.layered);
}

static void loops_lead_up(void **state) {
    (void)state;
    static const uint32_t ends[][2] = {{0, 1}, {1, 2}, {2, 1}, {2, 3}, {3, 0}, {2, 2}};
    static const enum layered_way ways[] = {LAYERED_DOWN, LAYERED_DOWN, LAYERED_UP,
                                            LAYERED_DOWN, LAYERED_UP,   LAYERED_LOOP};
    struct graph graph;
    place(&graph, 4, 6, ends);
    for (uint32_t i = 0; i < 6; i++) assert_int_equal(graph.lines[i].way, ways[i]);
    layered_finish(&graph.layered);
}

/* The agent that calls tools: the line back must not be on the side of the line to the end. */
static void lines_that_lead_up_choose_their_side(void **state) {
    (void)state;
    static const uint32_t ends[][2] = {{0, 1}, {1, 2}, {1, 3}, {2, 1}, {2, 3}};
    struct graph graph;
    place(&graph, 4, 5, ends);
    int64_t up = graph.layered.points[graph.lines[3].first_point + 1].x;
    int64_t down = graph.layered.points[graph.lines[2].first_point + 1].x;
    assert_int_equal(up<graph.boxes[2].x, down> graph.boxes[2].x);
    layered_finish(&graph.layered);
}

/* The loop is at the other side than the line that leads up. */
static void a_loop_keeps_its_label_free(void **state) {
    (void)state;
    struct graph graph = {.layered = {.boxes = graph.boxes, .box_count = 2, .lines = graph.lines, .line_count = 3}};
    for (uint32_t i = 0; i < 2; i++) graph.boxes[i] = (struct layered_box){.width = 1000, .height = 400};
    graph.lines[0] = (struct layered_line){.from = 0, .to = 1};
    graph.lines[1] = (struct layered_line){.from = 1, .to = 0};
    graph.lines[2] = (struct layered_line){.from = 1, .to = 1, .label_width = 1200, .label_height = 200};
    layered_place(&graph.layered);
    check_layout(&graph.layered);
    int64_t up = graph.layered.points[graph.lines[1].first_point + 1].x;
    assert_int_equal(up > graph.boxes[1].x, graph.lines[2].label_x < graph.boxes[1].x);
    layered_finish(&graph.layered);
}

/* A chain of four boxes, each with a merged line to the last one: the chain is straight, and the merged lines are one.
 */
static void merged_lines_are_joined(void **state) {
    (void)state;
    struct graph graph = {.layered = {.boxes = graph.boxes, .box_count = 5, .lines = graph.lines, .line_count = 7}};
    for (uint32_t i = 0; i < 5; i++) graph.boxes[i] = (struct layered_box){.width = 1000, .height = 400};
    for (uint32_t i = 0; i < 3; i++) graph.lines[i] = (struct layered_line){.from = i, .to = i + 1};
    for (uint32_t i = 0; i < 4; i++)
        graph.lines[3 + i] = (struct layered_line){
            .from = 3 - i, .to = 4, .minor = true, .merged = true, .label_width = 600, .label_height = 200};
    layered_place(&graph.layered);
    check_layout(&graph.layered);
    for (uint32_t i = 1; i < 4; i++) assert_int_equal(graph.boxes[i].x, graph.boxes[0].x);
    assert_false(graph.lines[3].joined); /* from the last box of the chain: there is no layer to join in */
    assert_true(graph.lines[4].joined);
    assert_true(graph.lines[5].joined);
    assert_false(graph.lines[6].joined); /* the longest one: the others join it */
    layered_finish(&graph.layered);
}

/* A box that is chosen while a graph runs has no line to it: it is below the box to which it returns. */
static void unreached_boxes_are_below(void **state) {
    (void)state;
    static const uint32_t ends[][2] = {{0, 1}, {1, 4}, {2, 1}, {3, 4}};
    struct graph graph;
    place_with_end(&graph, 5, 4, ends, 4);
    assert_int_equal(graph.lines[2].way, LAYERED_UP);
    assert_true(graph.boxes[2].rank > graph.boxes[1].rank);
    assert_int_equal(graph.lines[3].way, LAYERED_DOWN);
    assert_true(graph.boxes[3].rank > 0); /* nothing is beside the first box */
    layered_finish(&graph.layered);
}

static void nothing_to_place(void **state) {
    (void)state;
    struct graph graph;
    place(&graph, 1, 0, NULL);
    assert_int_equal(graph.layered.width, 1000);
    assert_int_equal(graph.layered.height, 400);
    layered_finish(&graph.layered);
    place(&graph, 5, 0, NULL);
    assert_int_equal(graph.boxes[4].rank, 1);
    layered_finish(&graph.layered);
}

/* Every box of a long chain leads to the last one: that many bends are not made. */
static void long_lines_run_in_the_margin(void **state) {
    (void)state;
    enum { COUNT = 700 };
    struct layered_box *boxes = mem_zalloc(COUNT * sizeof *boxes);
    struct layered_line *lines = mem_zalloc(2 * (size_t)COUNT * sizeof *lines);
    struct layered layered = {.boxes = boxes, .box_count = COUNT, .lines = lines};
    for (uint32_t i = 0; i < COUNT; i++) boxes[i].width = boxes[i].height = 500;
    for (uint32_t i = 0; i + 1 < COUNT; i++) {
        lines[layered.line_count++] = (struct layered_line){.from = i, .to = i + 1};
        lines[layered.line_count++] =
            i % 2 ? (struct layered_line){.from = i, .to = COUNT - 1, .label_width = 800, .label_height = 200}
                  : (struct layered_line){.from = COUNT - 1, .to = i};
    }
    layered_place(&layered);
    uint32_t down = 0, up = 0;
    for (uint32_t i = 0; i < layered.line_count; i++) {
        if (lines[i].way == LAYERED_MARGIN) down++;
        if (lines[i].way == LAYERED_MARGIN_UP) up++;
    }
    assert_true(down > 100 && up > 100);
    check_boxes(&layered);
    check_labels(&layered);
    for (uint32_t i = 0; i < layered.line_count; i++) check_direction(&layered, &lines[i]);
    layered_finish(&layered);
    mem_free(boxes);
    mem_free(lines);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_for_generated_graphs),
        cmocka_unit_test(a_chain_is_straight),
        cmocka_unit_test(a_box_is_between_its_successors),
        cmocka_unit_test(crossings_are_removed),
        cmocka_unit_test(loops_lead_up),
        cmocka_unit_test(lines_that_lead_up_choose_their_side),
        cmocka_unit_test(merged_lines_are_joined),
        cmocka_unit_test(a_loop_keeps_its_label_free),
        cmocka_unit_test(unreached_boxes_are_below),
        cmocka_unit_test(nothing_to_place),
        cmocka_unit_test(long_lines_run_in_the_margin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
