/*
 * draw_html.c - a document as an HTML page: its svg picture, which a person can move, enlarge and search.
 *
 * The page needs no network. Its policy allows only our own script and styles, by their hashes, so nothing that a
 * document contains could run or load anything, even if it got around the escapes.
 */
#include "adl/document/document.h"
#include "adl/draw/draw_internal.h"
#include "adl/value/base64.h"

/* adl/draw/page.css and page.js, which are compiled in. */
extern const char draw_page_css_text[];
extern const unsigned char draw_page_css_sha256[32];
extern const char draw_page_js_text[];
extern const unsigned char draw_page_js_sha256[32];

static void html_hash(struct buffer *out, const unsigned char sha256[32]) {
    buffer_text(out, "'sha256-");
    base64_write(out, sha256, 32);
    buffer_char(out, '\'');
}

static void html_policy(struct buffer *out) {
    buffer_text(out, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src ");
    html_hash(out, draw_page_js_sha256);
    buffer_text(out, "; style-src ");
    html_hash(out, draw_page_css_sha256);
    buffer_char(out, ' ');
    html_hash(out, draw_picture_css_sha256);
    buffer_text(out, "; base-uri 'none'; form-action 'none'\">\n");
}

static const char html_tools[] =
    "<div id=\"tools\">\n"
    "<input id=\"search\" type=\"search\" placeholder=\"Find a node (/)\" aria-label=\"Find a node\" "
    "autocomplete=\"off\" spellcheck=\"false\">\n"
    "<output id=\"count\" for=\"search\"></output>\n"
    "<button type=\"button\" data-key=\"-\" title=\"Zoom out (-)\" aria-label=\"Zoom out\">−</button>\n"
    "<button type=\"button\" data-key=\"+\" title=\"Zoom in (+)\" aria-label=\"Zoom in\">+</button>\n"
    "<button type=\"button\" data-key=\"0\" title=\"Fit to the window (0)\">Fit</button>\n"
    "</div>\n";

void draw_as_html(struct buffer *out, const struct document *document, const struct draw_inside *inside) {
    buffer_text(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html_policy(out);
    buffer_text(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
    draw_xml_text(out, value_chars(document->name, NULL));
    buffer_format(out, "</title>\n<style>%s</style>\n</head>\n<body>\n", draw_page_css_text);
    buffer_text(out, "<div id=\"view\" tabindex=\"0\">\n");
    draw_as_svg(out, document, inside);
    buffer_text(out, "</div>\n");
    buffer_text(out, html_tools);
    buffer_format(out, "<script>%s</script>\n</body>\n</html>\n", draw_page_js_text);
}
