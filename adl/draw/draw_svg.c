/*
 * draw_svg.c - a document as SVG: a picture for documents and editors.
 *
 * The attributes of the elements are those of the light form, because many viewers know no style sheets; the style
 * element has only the differences of the dark form. Arrow heads are paths, not markers: every viewer draws them, and
 * there are no identifiers that several pictures on one page would share. Lines are below the boxes, labels above.
 */
#include "adl/document/document.h"
#include "adl/draw/picture.h"
#include "adl/draw/text_width.h"
#include "adl/source/source.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include <stdlib.h>
#include <string.h>

#define SVG_MARGIN    200 /* around everything */
#define SVG_RADIUS    80  /* of the corners of lines */
#define SVG_HEAD      80  /* the length of an arrow head */
#define SVG_HEAD_HALF 38  /* half of its width */
#define SVG_SANS      "Helvetica, Arial, 'Liberation Sans', sans-serif"
#define SVG_MONO      "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace"

/* ---- Numbers and texts ---- */

/* Tenths of a pixel as a number of pixels. */
static void svg_number(struct buffer *out, int64_t tenths) {
    if (tenths < 0) buffer_char(out, '-');
    int64_t size = tenths < 0 ? -tenths : tenths;
    buffer_format(out, "%lld", (long long)(size / 10));
    if (size % 10) buffer_format(out, ".%d", (int)(size % 10));
}

static void svg_attribute(struct buffer *out, const char *name, int64_t tenths) {
    buffer_format(out, " %s=\"", name);
    svg_number(out, tenths);
    buffer_char(out, '"');
}

static void svg_text_attribute(struct buffer *out, const char *name, const char *text) {
    buffer_format(out, " %s=\"", name);
    draw_xml_text(out, text);
    buffer_char(out, '"');
}

/* The line of the text in which the span begins, counted from 1. */
static void svg_line_attribute(struct buffer *out, const struct document *document, struct span span) {
    buffer_format(out, " data-line=\"%u\"", (unsigned)source_locate(document->source, span.start).line + 1);
}

/* True if XML 1.0 allows the character. */
static bool svg_allows(uint32_t point) {
    if (point < 0x20) return point == '\t' || point == '\n' || point == '\r';
    if (point >= 0x7f && point <= 0x9f) return false;
    return (point & 0xfffe) != 0xfffe;
}

/* True if the character is written as its number: it has a meaning in XML, or changes how the source reads. */
static bool svg_is_written_as_number(uint32_t point) {
    if (point < 0x80) return point < 0x20 || strchr("<>&\"'", (int)point) != NULL;
    return point == 0x061c || (point >= 0x200b && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2060 && point <= 0x206f) || point == 0xfeff || (point >= 0xfff9 && point <= 0xfffb) ||
           (point >= 0xe0000 && point <= 0xe007f);
}

void draw_xml_text(struct buffer *out, const char *text) {
    size_t length = strlen(text);
    for (size_t at = 0; at < length;) {
        uint32_t point;
        size_t size = utf8_decode(text + at, length - at, &point);
        if (size == 0 || !svg_allows(point))
            buffer_text(out, "\xef\xbf\xbd");
        else if (svg_is_written_as_number(point))
            buffer_format(out, "&#%u;", (unsigned)point);
        else
            buffer_append(out, text + at, size);
        at += size ? size : 1;
    }
}

/* ---- Lines ---- */

struct svg_kind {
    const char *name, *colour, *style;
};

/* [draw_kind] */
static const struct svg_kind svg_kinds[] = {
    [DRAW_PLAIN] = {"plain", "#57606a", ""},
    [DRAW_JOIN] = {"join", "#57606a", ""},
    [DRAW_CONDITION] = {"condition", "#57606a", ""},
    [DRAW_OTHERWISE] = {"otherwise", "#57606a", ""},
    [DRAW_MAP] = {"map", "#0969da", " stroke-width=\"1.8\""},
    [DRAW_EMPTY] = {"empty", "#57606a", ""},
    [DRAW_ERROR] = {"error", "#cf222e", " stroke-dasharray=\"6 4\""},
    [DRAW_CHOSEN] = {"chosen", "#8250df", " stroke-dasharray=\"0.1 5\" stroke-linecap=\"round\" stroke-width=\"2.2\""},
};

static void svg_point(struct buffer *out, const char *command, int64_t x, int64_t y) {
    buffer_text(out, command);
    svg_number(out, x);
    buffer_char(out, ' ');
    svg_number(out, y);
}

static bool svg_is_straight(struct layered_point a, struct layered_point b) { return a.x == b.x || a.y == b.y; }

static int64_t svg_length(struct layered_point a, struct layered_point b) {
    return llabs(a.x - b.x) + llabs(a.y - b.y);
}

/* The point that is `distance` before `to` on a straight part. */
static struct layered_point svg_before(struct layered_point from, struct layered_point to, int64_t distance) {
    if (from.x == to.x) return (struct layered_point){to.x, from.y < to.y ? to.y - distance : to.y + distance};
    return (struct layered_point){from.x < to.x ? to.x - distance : to.x + distance, to.y};
}

/* A corner between two straight parts is rounded. */
static void svg_corner(struct buffer *out, struct layered_point a, struct layered_point b, struct layered_point c) {
    int64_t radius = SVG_RADIUS, first = svg_length(a, b) / 2, second = svg_length(b, c) / 2;
    if (first < radius) radius = first;
    if (second < radius) radius = second;
    struct layered_point start = svg_before(a, b, radius), end = svg_before(c, b, radius);
    svg_point(out, "L", start.x, start.y);
    svg_point(out, "Q", b.x, b.y);
    svg_point(out, " ", end.x, end.y);
}

static void svg_path(struct buffer *out, const struct layered_point *points, uint32_t count) {
    svg_point(out, "M", points[0].x, points[0].y);
    for (uint32_t i = 1; i < count; i++) {
        struct layered_point a = points[i - 1], b = points[i];
        if (!svg_is_straight(a, b)) {
            int64_t middle = (a.y + b.y) / 2;
            svg_point(out, "C", a.x, middle);
            svg_point(out, " ", b.x, middle);
            svg_point(out, " ", b.x, b.y);
        } else if (i + 1 < count && svg_is_straight(b, points[i + 1])) {
            svg_corner(out, a, b, points[i + 1]);
        } else {
            svg_point(out, "L", b.x, b.y);
        }
    }
}

/* The direction in which a line arrives: one of the two is 1 or -1. */
struct svg_direction {
    int x, y;
};

static struct svg_direction svg_arrival(struct layered_point before, struct layered_point tip) {
    if (before.y == tip.y) return (struct svg_direction){before.x < tip.x ? 1 : -1, 0};
    return (struct svg_direction){0, before.y < tip.y ? 1 : -1};
}

static void svg_head(struct buffer *out, struct layered_point tip, struct svg_direction to) {
    int64_t back_x = tip.x - to.x * SVG_HEAD, back_y = tip.y - to.y * SVG_HEAD;
    svg_point(out, "M", tip.x, tip.y);
    svg_point(out, "L", back_x - to.y * SVG_HEAD_HALF, back_y - to.x * SVG_HEAD_HALF);
    svg_point(out, "L", back_x + to.y * SVG_HEAD_HALF, back_y + to.x * SVG_HEAD_HALF);
    buffer_char(out, 'Z');
}

/* Shortens a line, so that it ends inside of its arrow head. Returns the number of points that are left. */
static uint32_t svg_shorten(struct layered_point *points, uint32_t count, struct svg_direction to, int64_t length) {
    struct layered_point tip = points[count - 1];
    while (count > 2 && svg_is_straight(points[count - 2], tip) && svg_length(points[count - 2], tip) <= length)
        count--;
    points[count - 1] = (struct layered_point){tip.x - to.x * length, tip.y - to.y * length};
    return count;
}

static const char *svg_end_name(const struct picture *picture, int32_t end) {
    return end == DOCUMENT_NOWHERE ? "" : draw_end_name(picture->document, end);
}

/* What a viewer shows beside the pointer, and a screen reader reads. */
static void svg_line_title(struct buffer *out, const struct picture *picture, const struct draw_arrow *arrow) {
    const char *hole = strstr(arrow->says, "%s");
    char *label = draw_one_line(arrow->label);
    buffer_text(out, "<title>");
    draw_xml_text(out, svg_end_name(picture, arrow->from));
    buffer_text(out, " → ");
    draw_xml_text(out, svg_end_name(picture, arrow->to));
    if (*label) {
        buffer_text(out, ": ");
        buffer_append(out, arrow->says, hole ? (size_t)(hole - arrow->says) : strlen(arrow->says));
        if (hole) draw_xml_text(out, label);
        if (hole) buffer_text(out, hole + 2);
    }
    buffer_text(out, "</title>");
    mem_free(label);
}

static void svg_line(struct buffer *out, const struct picture *picture, uint32_t index, const char *path) {
    const struct layered_line *line = &picture->layered.lines[index];
    const struct draw_arrow *arrow = &picture->lines[index].arrow;
    const struct svg_kind *kind = &svg_kinds[arrow->kind];
    uint32_t count = line->point_count;
    struct layered_point *points = mem_array(NULL, count, sizeof *points);
    memcpy(points, &picture->layered.points[line->first_point], count * sizeof *points);
    struct layered_point tip = points[count - 1];
    struct svg_direction to = svg_arrival(points[count - 2], tip);
    bool head = arrow->to != DOCUMENT_NOWHERE && !line->joined, twice = arrow->kind == DRAW_MAP;
    buffer_format(out, "<g class=\"edge %s\"", kind->name);
    svg_text_attribute(out, "data-from", svg_end_name(picture, arrow->from));
    svg_text_attribute(out, "data-to", svg_end_name(picture, arrow->to));
    if (!*path) svg_line_attribute(out, picture->document, arrow->span);
    buffer_char(out, '>');
    svg_line_title(out, picture, arrow);
    if (head) count = svg_shorten(points, count, to, SVG_HEAD - 10);
    buffer_format(out, "<path class=\"line\" fill=\"none\" stroke=\"%s\"%s d=\"", kind->colour, kind->style);
    svg_path(out, points, count);
    buffer_text(out, "\"/>");
    if (head) {
        buffer_format(out, "<path class=\"head\" fill=\"%s\" stroke=\"none\" d=\"", kind->colour);
        svg_head(out, tip, to);
        if (twice)
            svg_head(out, (struct layered_point){tip.x - to.x * (SVG_HEAD - 10), tip.y - to.y * (SVG_HEAD - 10)}, to);
        buffer_text(out, "\"/>");
    }
    buffer_text(out, "</g>\n");
    mem_free(points);
}

/* ---- Texts of the picture ---- */

static void svg_text(struct buffer *out, const char *class, int64_t x, int64_t baseline, const char *style,
                     const char *text, size_t length) {
    char *copy = mem_text_n(text, length);
    buffer_format(out, "<text class=\"%s\"", class);
    svg_attribute(out, "x", x);
    svg_attribute(out, "y", baseline);
    buffer_format(out, " %s>", style);
    draw_xml_text(out, copy);
    buffer_text(out, "</text>");
    mem_free(copy);
}

static void svg_label(struct buffer *out, const struct picture *picture, uint32_t index) {
    const struct layered_line *line = &picture->layered.lines[index];
    const char *label = picture->lines[index].label;
    const struct draw_arrow *arrow = &picture->lines[index].arrow;
    if (!line->labelled || !label) return;
    int64_t top = line->label_y - line->label_height / 2, baseline = top + 30 + 105;
    buffer_format(out, "<g class=\"label %s\"", svg_kinds[arrow->kind].name);
    svg_text_attribute(out, "data-from", svg_end_name(picture, arrow->from));
    svg_text_attribute(out, "data-to", svg_end_name(picture, arrow->to));
    buffer_text(out, " font-family=\"" SVG_MONO "\" font-size=\"11\" stroke-width=\"1\">");
    svg_line_title(out, picture, arrow);
    buffer_text(out, "<rect class=\"tag\" fill=\"#ffffff\" stroke=\"#d0d7de\" rx=\"4\"");
    svg_attribute(out, "x", line->label_x - line->label_width / 2);
    svg_attribute(out, "y", top);
    svg_attribute(out, "width", line->label_width);
    svg_attribute(out, "height", line->label_height);
    buffer_text(out, "/>");
    const char *style = arrow->kind == DRAW_ERROR ? "fill=\"#cf222e\""
                        : arrow->kind == DRAW_MAP ? "fill=\"#0969da\""
                                                  : "fill=\"#424a53\"";
    for (const char *at = label; *at; baseline += PICTURE_LABEL_LINE) {
        size_t length = strcspn(at, "\n");
        svg_text(out, "words", line->label_x, baseline, style, at, length);
        at += length;
        if (*at) at++;
    }
    buffer_text(out, "</g>\n");
}

/* ---- Boxes ---- */

static void svg_rect(struct buffer *out, const char *class, const char *style, int64_t x, int64_t y, int64_t width,
                     int64_t height) {
    buffer_format(out, "<rect class=\"%s\" %s", class, style);
    svg_attribute(out, "x", x);
    svg_attribute(out, "y", y);
    svg_attribute(out, "width", width);
    svg_attribute(out, "height", height);
    buffer_text(out, "/>");
}

static void svg_pill(struct buffer *out, const struct picture_box *box, const struct layered_box *place) {
    buffer_format(out, "<g class=\"%s\">", box->kind == PICTURE_START ? "start" : "end");
    svg_rect(out, "pill", "rx=\"13\" fill=\"#424a53\" stroke=\"none\"", place->x - place->width / 2,
             place->y - place->height / 2, place->width, place->height);
    svg_text(out, "pill-name", place->x, place->y + 39, "font-size=\"11\" font-weight=\"bold\" fill=\"#ffffff\"",
             box->name, strlen(box->name));
    buffer_text(out, "</g>\n");
}

static void svg_bar(struct buffer *out, const struct picture *picture, const struct layered_box *place) {
    (void)picture;
    buffer_text(out, "<g class=\"bar\"><title>waits for all</title>");
    svg_rect(out, "bar-box", "rx=\"2.5\" fill=\"#424a53\" stroke=\"none\"", place->x - place->width / 2,
             place->y - place->height / 2, place->width, place->height);
    buffer_text(out, "</g>\n");
}

/* The identifier of a node: its path, with other characters than letters, digits, '-' and '_' replaced. */
static void svg_identifier(struct buffer *out, const char *name) {
    for (; *name; name++) {
        unsigned char byte = (unsigned char)*name;
        bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
                     byte == '-' || byte == '_';
        if (plain)
            buffer_char(out, (char)byte);
        else
            buffer_format(out, ":%02x", byte);
    }
}

static void svg_inside(struct buffer *out, const struct picture *picture, const struct picture_box *box, int64_t x,
                       int64_t y, const char *path);

static void svg_node_title(struct buffer *out, const struct document_node *node) {
    buffer_text(out, "<title>");
    draw_xml_text(out, value_chars(node->id, NULL));
    buffer_text(out, " (");
    draw_xml_text(out, value_chars(node->type, NULL));
    buffer_text(out, ")</title>");
}

static void svg_node(struct buffer *out, const struct picture *picture, uint32_t index, const char *path) {
    const struct picture_box *box = &picture->boxes[index];
    const struct layered_box *place = &picture->layered.boxes[index];
    const struct document_node *node = &picture->document->nodes[box->node];
    int64_t stack = box->stacked ? PICTURE_STACK : 0, width = place->width - stack, height = place->height - stack;
    int64_t x = place->x - place->width / 2, y = place->y - place->height / 2, middle = x + width / 2;
    buffer_format(out, "<g class=\"node\" id=\"node-%s", path);
    svg_identifier(out, value_chars(node->id, NULL));
    buffer_char(out, '"');
    svg_text_attribute(out, "data-node", value_chars(node->id, NULL));
    svg_text_attribute(out, "data-type", value_chars(node->type, NULL));
    if (!*path) svg_line_attribute(out, picture->document, node->id_span);
    buffer_char(out, '>');
    svg_node_title(out, node);
    static const char style[] = "rx=\"8\" fill=\"#f6f8fa\" stroke=\"#8c959f\"";
    for (int64_t sheet = stack; sheet > 0; sheet -= PICTURE_STACK / 2)
        svg_rect(out, "box sheet", style, x + sheet, y + sheet, width, height);
    svg_rect(out, "box", style, x, y, width, height);
    svg_text(out, "name", middle, y + 190, "font-size=\"13\" font-weight=\"bold\" fill=\"#1f2328\"", box->name,
             strlen(box->name));
    svg_text(out, "type", middle, y + 340, "font-size=\"11\" fill=\"#656d76\"", box->type, strlen(box->type));
    buffer_text(out, "</g>\n");
    svg_inside(out, picture, box, x, y, path);
}

static void svg_picture(struct buffer *out, const struct picture *picture, const char *path) {
    const struct layered *layered = &picture->layered;
    for (uint32_t i = 0; i < layered->line_count && !out->overflow; i++) svg_line(out, picture, i, path);
    for (uint32_t i = 0; i < layered->box_count && !out->overflow; i++) {
        const struct picture_box *box = &picture->boxes[i];
        if (box->kind == PICTURE_NODE)
            svg_node(out, picture, i, path);
        else if (box->kind == PICTURE_JOIN)
            svg_bar(out, picture, &layered->boxes[i]);
        else
            svg_pill(out, box, &layered->boxes[i]);
    }
    for (uint32_t i = 0; i < layered->line_count && !out->overflow; i++) svg_label(out, picture, i);
}

/* The documents inside a node, each in a frame. They are centred if the box is wider than they are. */
static void svg_inside(struct buffer *out, const struct picture *picture, const struct picture_box *box, int64_t x,
                       int64_t y, const char *path) {
    const char *id = value_chars(picture->document->nodes[box->node].id, NULL);
    const struct layered_box *place = &picture->layered.boxes[box - picture->boxes];
    int64_t wide = -PICTURE_INSIDE_GAP, left;
    for (uint32_t k = 0; k < box->inside_count; k++)
        wide += box->inside[k]->layered.width + 2 * PICTURE_FRAME + PICTURE_INSIDE_GAP;
    left = x + (place->width - (box->stacked ? PICTURE_STACK : 0) - wide) / 2;
    for (uint32_t k = 0; k < box->inside_count && !out->overflow; k++) {
        const struct picture *inner = box->inside[k];
        struct buffer prefix;
        buffer_init(&prefix, SIZE_MAX);
        buffer_text(&prefix, path);
        svg_identifier(&prefix, id);
        buffer_format(&prefix, ".%u.", (unsigned)k);
        buffer_text(out, "<g class=\"inside\"");
        svg_text_attribute(out, "data-inside", id);
        buffer_text(out, " transform=\"translate(");
        svg_number(out, left + PICTURE_FRAME);
        buffer_char(out, ' ');
        svg_number(out, y + PICTURE_INSIDE_TOP + PICTURE_FRAME);
        buffer_text(out, ")\">\n");
        svg_rect(out, "frame", "rx=\"6\" fill=\"#ffffff\" stroke=\"#d0d7de\"", -PICTURE_FRAME, -PICTURE_FRAME,
                 inner->layered.width + 2 * PICTURE_FRAME, inner->layered.height + 2 * PICTURE_FRAME);
        buffer_char(out, '\n');
        svg_picture(out, inner, buffer_cstr(&prefix));
        buffer_text(out, "</g>\n");
        buffer_finish(&prefix);
        left += inner->layered.width + 2 * PICTURE_FRAME + PICTURE_INSIDE_GAP;
    }
}

/* ---- The whole ---- */

static void svg_describe(struct buffer *out, const struct document *document) {
    buffer_text(out, "<title>");
    draw_xml_text(out, value_chars(document->name, NULL));
    buffer_text(out, "</title>\n<desc>");
    if (document->description && *value_chars(document->description, NULL)) {
        draw_xml_text(out, value_chars(document->description, NULL));
        buffer_char(out, ' ');
    }
    buffer_format(out, "(A graph of %u node%s.)</desc>\n", (unsigned)document->node_count,
                  document->node_count == 1 ? "" : "s");
}

void draw_as_svg(struct buffer *out, const struct document *document, const struct draw_inside *inside) {
    struct picture *picture = picture_new(document, inside);
    int64_t width = picture->layered.width + 2 * SVG_MARGIN, height = picture->layered.height + 2 * SVG_MARGIN;
    buffer_text(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"tenon-graph\" role=\"img\"");
    svg_attribute(out, "width", width);
    svg_attribute(out, "height", height);
    buffer_text(out, " viewBox=\"0 0 ");
    svg_number(out, width);
    buffer_char(out, ' ');
    svg_number(out, height);
    buffer_text(out, "\" font-family=\"" SVG_SANS "\" text-anchor=\"middle\" stroke-width=\"1.4\">\n");
    svg_describe(out, document);
    buffer_format(out, "<style>%s</style>\n", draw_picture_css_text); /* without characters that XML replaces */
    svg_rect(out, "page", "fill=\"#ffffff\" stroke=\"none\"", 0, 0, width, height);
    buffer_text(out, "\n<g transform=\"translate(");
    svg_number(out, SVG_MARGIN);
    buffer_char(out, ' ');
    svg_number(out, SVG_MARGIN);
    buffer_text(out, ")\">\n");
    svg_picture(out, picture, "");
    buffer_text(out, "</g>\n</svg>\n");
    picture_free(picture);
}
