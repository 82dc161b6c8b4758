/*
 * picture.c - the boxes and lines of a document, their texts and sizes.
 */
#include "adl/draw/picture.h"
#include "adl/document/document.h"
#include "adl/draw/text_width.h"
#include "adl/value/memory.h"
#include "adl/value/terminal.h"
#include <string.h>

#define NAME_WIDTH_MAX  2400 /* longer names and types are cut */
#define LABEL_WIDTH_MAX 2160
#define LABEL_LINES_MAX 3
#define LABEL_PADDING   60
#define BOX_PADDING     160
#define BOX_WIDTH_MIN   880
#define PILL_PADDING    160
#define PILL_HEIGHT     260
#define BAR_HEIGHT      50
#define BAR_WIDTH_MIN   480
#define BAR_PORT        180 /* of a bar, for each line at one of its sides */

/* A text as it is shown: on one line, without control characters. Free it with mem_free. */
static char *picture_safe(const char *text) {
    struct buffer safe;
    buffer_init(&safe, SIZE_MAX);
    terminal_text(&safe, text, strlen(text), TERMINAL_LINE);
    return buffer_detach(&safe, NULL);
}

static char *picture_fit(enum text_font font, uint32_t size, const char *text) {
    char *safe = picture_safe(text);
    struct buffer fit;
    buffer_init(&fit, SIZE_MAX);
    text_fit(&fit, font, size, safe, NAME_WIDTH_MAX);
    mem_free(safe);
    return buffer_detach(&fit, NULL);
}

/* ---- Boxes ---- */

static uint32_t picture_add_box(struct picture *picture, struct picture_box box, int64_t width, int64_t height) {
    struct layered *layered = &picture->layered;
    if (layered->box_count >= picture->box_capacity) {
        MEM_DOUBLE(picture->box_capacity);
        picture->boxes = mem_array(picture->boxes, picture->box_capacity, sizeof *picture->boxes);
        layered->boxes = mem_array(layered->boxes, picture->box_capacity, sizeof *layered->boxes);
    }
    picture->boxes[layered->box_count] = box;
    layered->boxes[layered->box_count] = (struct layered_box){.width = width, .height = height};
    return layered->box_count++;
}

static void picture_add_pill(struct picture *picture, enum picture_kind kind, const char *name) {
    int64_t width = text_width(TEXT_BOLD, PICTURE_TYPE_SIZE, name, strlen(name)) + 2 * PILL_PADDING;
    (void)picture_add_box(picture, (struct picture_box){.kind = kind, .name = mem_text(name)}, width, PILL_HEIGHT);
}

/* The second line of a box: the type, and what is special. */
static char *picture_describe(const struct document_node *node) {
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    buffer_text(&text, value_chars(node->type, NULL));
    if (node->defer) buffer_text(&text, " · deferred");
    if (node->interrupt_before || node->interrupt_after)
        buffer_format(&text, " · pauses %s%s%s", node->interrupt_before ? "before" : "",
                      node->interrupt_before && node->interrupt_after ? " and " : "",
                      node->interrupt_after ? "after" : "");
    char *shown = picture_fit(TEXT_SANS, PICTURE_TYPE_SIZE, buffer_cstr(&text));
    buffer_finish(&text);
    return shown;
}

/* Adds the documents inside the node, and the space that they need. */
static void picture_add_inside(struct picture_box *box, const struct draw_inside *inside, int64_t *width,
                               int64_t *height) {
    const struct document *inner;
    struct draw_inside in_inner;
    int64_t across = 2 * PICTURE_INSIDE_LEFT - PICTURE_INSIDE_GAP, down = 0;
    for (uint32_t k = 0; (inner = draw_find_inside(inside, box->node, k, &in_inner)) != NULL; k++) {
        struct picture *picture = picture_new(inner, &in_inner);
        MEM_EXTEND(box->inside, box->inside_count);
        box->inside[box->inside_count++] = picture;
        across += picture->layered.width + 2 * PICTURE_FRAME + PICTURE_INSIDE_GAP;
        if (picture->layered.height > down) down = picture->layered.height;
    }
    if (!box->inside_count) return;
    if (across > *width) *width = across;
    *height += down + 2 * PICTURE_FRAME + PICTURE_INSIDE_LEFT;
}

static void picture_add_node(struct picture *picture, uint32_t index, const struct draw_inside *inside) {
    const struct document_node *node = &picture->document->nodes[index];
    struct picture_box box = {.kind = PICTURE_NODE, .node = index};
    box.name = picture_fit(TEXT_BOLD, PICTURE_NAME_SIZE, value_chars(node->id, NULL));
    box.type = picture_describe(node);
    int64_t name = text_width(TEXT_BOLD, PICTURE_NAME_SIZE, box.name, strlen(box.name));
    int64_t type = text_width(TEXT_SANS, PICTURE_TYPE_SIZE, box.type, strlen(box.type));
    int64_t width = (name > type ? name : type) + 2 * BOX_PADDING, height = PICTURE_HEADER;
    if (width < BOX_WIDTH_MIN) width = BOX_WIDTH_MIN;
    picture_add_inside(&box, inside, &width, &height);
    (void)picture_add_box(picture, box, width, height);
}

/* ---- Lines ---- */

static uint32_t picture_box_of(const struct picture *picture, int32_t end) {
    if (end == DOCUMENT_START) return 0;
    if (end == DOCUMENT_END) return picture->document->node_count + 1;
    return (uint32_t)end + 1;
}

/* The label of an arrow in one line; NULL when it has no label. Free it with mem_free. */
static char *picture_say(const struct draw_arrow *arrow) {
    if (arrow->kind == DRAW_PLAIN || arrow->kind == DRAW_JOIN || arrow->kind == DRAW_CHOSEN) return NULL;
    if (arrow->kind == DRAW_OTHERWISE) return mem_text("otherwise");
    if (arrow->kind == DRAW_EMPTY) return mem_text("if empty");
    char *line = draw_one_line(arrow->label);
    if (arrow->kind == DRAW_MAP) {
        tn_value each = value_format("each of %s", line);
        mem_free(line);
        line = mem_text(value_chars(each, NULL));
        value_unref(each);
    }
    char *safe = picture_safe(line);
    mem_free(line);
    return safe;
}

/* Sets the label of a line, and the space that it needs. */
static void picture_set_label(struct picture_line *line, struct layered_line *place) {
    char *text = picture_say(&line->arrow);
    if (!text) return;
    struct buffer label;
    buffer_init(&label, SIZE_MAX);
    uint32_t lines = text_wrap(&label, TEXT_MONO, PICTURE_LABEL_SIZE, text, LABEL_WIDTH_MAX, LABEL_LINES_MAX);
    mem_free(text);
    line->label = buffer_detach(&label, NULL);
    for (const char *at = line->label; *at; at += strspn(at, "\n")) {
        size_t length = strcspn(at, "\n");
        int64_t width = text_width(TEXT_MONO, PICTURE_LABEL_SIZE, at, length) + 2 * LABEL_PADDING;
        if (width > place->label_width) place->label_width = width;
        at += length;
    }
    place->label_height = (int64_t)lines * PICTURE_LABEL_LINE + LABEL_PADDING;
}

static void picture_add_line(struct picture *picture, const struct draw_arrow *arrow, uint32_t from, uint32_t to) {
    struct layered *layered = &picture->layered;
    if (layered->line_count >= picture->line_capacity) {
        MEM_DOUBLE(picture->line_capacity);
        picture->lines = mem_array(picture->lines, picture->line_capacity, sizeof *picture->lines);
        layered->lines = mem_array(layered->lines, picture->line_capacity, sizeof *layered->lines);
    }
    picture->lines[layered->line_count] = (struct picture_line){.arrow = *arrow};
    layered->lines[layered->line_count] =
        (struct layered_line){.from = from,
                              .to = to,
                              .minor = arrow->kind == DRAW_ERROR || arrow->kind == DRAW_EMPTY,
                              .merged = arrow->kind == DRAW_ERROR};
    picture_set_label(&picture->lines[layered->line_count], &layered->lines[layered->line_count]);
    layered->line_count++;
}

/*
 * Adds what an arrow of an edge from several nodes adds: its bar, if it is the first one of the edge; a line from its
 * node to the bar, if it is the node's first one; a line from the bar, if it is one of the first node.
 */
static void picture_add_join(struct picture *picture, const struct draw_arrow *arrow) {
    const struct document_edge *edge = &picture->document->edges[arrow->edge];
    struct draw_arrow part = *arrow;
    if (picture->last_edge != arrow->edge) {
        uint32_t ports = edge->from_count > edge->to_count ? edge->from_count : edge->to_count;
        int64_t width = (int64_t)(ports + 1) * BAR_PORT;
        picture->last_edge = arrow->edge;
        picture->last_from = DOCUMENT_NOWHERE;
        (void)picture_add_box(picture, (struct picture_box){.kind = PICTURE_JOIN},
                              width > BAR_WIDTH_MIN ? width : BAR_WIDTH_MIN, BAR_HEIGHT);
    }
    uint32_t bar = picture->layered.box_count - 1;
    if (picture->last_from != arrow->from) {
        picture->last_from = arrow->from;
        part.to = DOCUMENT_NOWHERE;
        picture_add_line(picture, &part, picture_box_of(picture, arrow->from), bar);
    }
    if (arrow->from != edge->from[0]) return;
    part.from = DOCUMENT_NOWHERE;
    part.to = arrow->to;
    picture_add_line(picture, &part, bar, picture_box_of(picture, arrow->to));
}

static void picture_add_arrow(void *user, const struct document *document, const struct draw_arrow *arrow) {
    struct picture *picture = user;
    (void)document;
    if (arrow->kind == DRAW_JOIN) {
        picture_add_join(picture, arrow);
        return;
    }
    uint32_t to = picture_box_of(picture, arrow->to);
    picture_add_line(picture, arrow, picture_box_of(picture, arrow->from), to);
    if (arrow->kind != DRAW_MAP || picture->boxes[to].stacked || arrow->to == DOCUMENT_END) return;
    picture->boxes[to].stacked = true;
    picture->layered.boxes[to].width += PICTURE_STACK;
    picture->layered.boxes[to].height += PICTURE_STACK;
}

static void picture_see_end(void *user, const struct document *document, const struct draw_arrow *arrow) {
    (void)document;
    if (arrow->to == DOCUMENT_END) *(bool *)user = true;
}

/* ---- The picture ---- */

struct picture *picture_new(const struct document *document, const struct draw_inside *inside) {
    struct picture *picture = mem_zalloc(sizeof *picture);
    bool ends = false;
    picture->document = document;
    picture->last_edge = UINT32_MAX;
    picture_add_pill(picture, PICTURE_START, "START");
    for (uint32_t i = 0; i < document->node_count; i++) picture_add_node(picture, i, inside);
    draw_each_arrow(document, picture_see_end, &ends);
    if (ends) {
        picture_add_pill(picture, PICTURE_END, "END");
        picture->layered.end = picture->layered.box_count - 1;
    }
    draw_each_arrow(document, picture_add_arrow, picture);
    layered_place(&picture->layered);
    return picture;
}

void picture_free(struct picture *picture) {
    if (!picture) return;
    for (uint32_t i = 0; i < picture->layered.box_count; i++) {
        struct picture_box *box = &picture->boxes[i];
        for (uint32_t k = 0; k < box->inside_count; k++) picture_free(box->inside[k]);
        mem_free(box->inside);
        mem_free(box->name);
        mem_free(box->type);
    }
    for (uint32_t i = 0; i < picture->layered.line_count; i++) mem_free(picture->lines[i].label);
    mem_free(picture->boxes);
    mem_free(picture->lines);
    mem_free(picture->layered.boxes);
    mem_free(picture->layered.lines);
    layered_finish(&picture->layered);
    mem_free(picture);
}
