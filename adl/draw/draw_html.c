#include "adl/draw/draw_internal.h"
void draw_as_html(struct buffer *out, const struct document *document, const struct draw_inside *inside) {
    draw_as_svg(out, document, inside);
}
