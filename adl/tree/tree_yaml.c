/*
 * tree_yaml.c - YAML to a tree, from the events of libyaml. YAML features that documents may not use are refused here.
 *
 * yaml_read_range parses a range of the text: the whole document, or, after a syntax error, one item of a list or
 * mapping that is open in the builder (yaml_recover.c).
 *
 * The text was checked before (tree.c): it is UTF-8 without characters that libyaml refuses.
 */
#include "adl/tree/tree_arena.h"
#include "adl/tree/tree_build.h"
#include "adl/tree/yaml_problem.h"
#include "adl/tree/yaml_read.h"
#include "adl/tree/yaml_reuse.h"
#include "adl/value/memory.h"
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct reader {
    struct builder *builder;
    const char *text;
    yaml_parser_t parser;
    uint32_t from, to;
    uint32_t mark_index, mark_offset; /* one place, in characters and in bytes */
    uint32_t level;                   /* open collections in this range, including the joined one */
    uint32_t outer;                   /* open collections around the range */
    uint32_t documents;
    uint32_t last_end; /* end of the last scalar, alias or bracket; block collections end there */
    int joins;         /* TN_ARRAY or TN_OBJECT if the range continues an open block collection; else 0 */
    struct yaml_problem *problem;
};

/* ---- Places ---- */

/* libyaml counts characters. Events are nearly in order, so the distance from the last one is short. */
static uint32_t yaml_offset_of(struct reader *reader, size_t index) {
    if (reader->builder->ascii) return reader->from + (uint32_t)index;
    while (reader->mark_index < index && reader->mark_offset < reader->to) {
        do reader->mark_offset++;
        while (((unsigned char)reader->text[reader->mark_offset] & 0xc0) == 0x80);
        reader->mark_index++;
    }
    while (reader->mark_index > index && reader->mark_offset > reader->from) {
        do reader->mark_offset--;
        while (((unsigned char)reader->text[reader->mark_offset] & 0xc0) == 0x80);
        reader->mark_index--;
    }
    return reader->mark_offset;
}

static bool tree_yaml_is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/* The end of the anchor or tag at `at`, by libyaml's alphabet of names. A blank need not follow. */
static uint32_t property_end(const struct reader *reader, uint32_t at) {
    const char *text = reader->text;
    bool anchor = text[at++] == '&';
    while (at < reader->to) {
        char c = text[at];
        bool name = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
        if (anchor ? !name : tree_yaml_is_blank(c) || strchr(",[]{}", c)) break;
        at++;
    }
    return at;
}

/* Returns the position after the blanks and comments at `at`. */
static uint32_t skip_blanks(const struct reader *reader, uint32_t at) {
    const char *text = reader->text;
    for (;;) {
        while (at < reader->to && tree_yaml_is_blank(text[at])) at++;
        if (at >= reader->to || text[at] != '#' || !tree_yaml_is_blank(text[at - 1])) return at;
        while (at < reader->to && text[at] != '\n' && text[at] != '\r') at++;
    }
}

struct properties {
    struct span anchor, tag; /* empty if absent */
    uint32_t start;          /* start of the node itself */
};

static struct properties find_properties(struct reader *reader, uint32_t start, bool anchored, bool tagged) {
    struct properties found = {{0, 0}, {0, 0}, start};
    for (int i = 0; i < (anchored ? 1 : 0) + (tagged ? 1 : 0) && found.start < reader->to; i++) {
        uint32_t end = property_end(reader, found.start);
        if (reader->text[found.start] == '&')
            found.anchor = (struct span){found.start, end};
        else if (reader->text[found.start] == '!')
            found.tag = (struct span){found.start, end};
        else
            break;
        found.start = skip_blanks(reader, end);
    }
    return found;
}

/* ---- Events ---- */

static void report_tag(struct reader *reader, struct span span, const yaml_char_t *tag) {
    const char *name = (const char *)tag;
    size_t length = span.end - span.start;
    struct diagnostic *it = diagnostics_add(reader->builder->found, ADL_E006, reader->builder->source, span,
                                            "found the tag `%.*s`; documents must not contain tags", (int)length,
                                            reader->text + span.start);
    if (strcmp(name, "tag:yaml.org,2002:str") == 0)
        diagnostic_suggest(it, "put the text in quotes instead");
    else
        diagnostic_suggest(it, "remove the tag, or put the text in quotes");
}

/* Applies the anchor and tag of a value node. Returns false if the node must not be read. */
static bool take_properties(struct reader *reader, const struct properties *properties, const yaml_char_t *anchor,
                            const yaml_char_t *tag) {
    if (anchor) builder_anchor(reader->builder, (const char *)anchor, properties->anchor);
    if (tag) report_tag(reader, properties->tag, tag);
    return !tag;
}

static enum tree_style scalar_style(yaml_scalar_style_t style) {
    if (style == YAML_PLAIN_SCALAR_STYLE) return TREE_PLAIN;
    return style == YAML_LITERAL_SCALAR_STYLE || style == YAML_FOLDED_SCALAR_STYLE ? TREE_BLOCK : TREE_QUOTED;
}

static void yaml_read_key(struct reader *reader, const char *text, size_t length, enum tree_style style,
                          struct span span) {
    struct builder *builder = reader->builder;
    if (style == TREE_PLAIN && length == 2 && memcmp(text, "<<", 2) == 0) {
        diagnostics_add(builder->found, ADL_E007, builder->source, span,
                        "found the merge key `<<`; expected the keys themselves: YAML 1.2 has no merge keys");
        builder_bad_key(builder);
    } else if (style == TREE_PLAIN && length == 0) {
        diagnostics_add(builder->found, ADL_E010, builder->source, span,
                        "found no key here; expected a name, or quotes around the text");
        builder_bad_key(builder);
    } else {
        builder_key(builder, text, length, span);
    }
}

static void read_plain(struct reader *reader, const char *text, size_t length, struct span span) {
    struct builder *builder = reader->builder;
    tn_value value = scalar_plain(text, length);
    if (value) {
        builder_scalar(builder, value, TREE_PLAIN, span);
        return;
    }
    diagnostics_add(
        builder->found, ADL_E015, builder->source, span,
        "found `%.*s`, which is not a finite number; expected a number up to about 1.8e308, or quotes around "
        "the text",
        (int)(length > 40 ? 40 : length), text);
    builder_broken(builder, span);
}

/* The end mark of a block scalar is the start of the next line; blank lines after the text are excluded here. */
static uint32_t trim_end(const struct reader *reader, uint32_t start, uint32_t end) {
    while (end > start && tree_yaml_is_blank(reader->text[end - 1])) end--;
    return end;
}

static void read_scalar(struct reader *reader, const yaml_event_t *event) {
    struct builder *builder = reader->builder;
    const yaml_char_t *anchor = event->data.scalar.anchor, *tag = event->data.scalar.tag;
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    enum tree_style style = scalar_style(event->data.scalar.style);
    uint32_t start = yaml_offset_of(reader, event->start_mark.index),
             end = yaml_offset_of(reader, event->end_mark.index);
    struct properties properties = find_properties(reader, start, anchor != NULL, tag != NULL);
    if (properties.start > end) properties.start = end;
    if (style == TREE_BLOCK) end = trim_end(reader, properties.start, end);
    struct span span = {properties.start, end};
    if (end > reader->last_end) reader->last_end = end;
    if (builder->skip > 0) return;
    if (builder_wants_key(builder)) {
        bool allowed = take_properties(reader, &properties, NULL, tag);
        if (allowed)
            yaml_read_key(reader, text, length, style, span);
        else
            builder_bad_key(builder);
        return;
    }
    bool allowed = take_properties(reader, &properties, anchor, tag);
    if (!allowed || !builder_length_allowed(builder, length, span))
        builder_broken(builder, span);
    else if (style == TREE_PLAIN)
        read_plain(reader, text, length, span);
    else
        builder_scalar(builder, value_string(text, length), style, span);
}

static void read_alias(struct reader *reader, const yaml_event_t *event) {
    struct builder *builder = reader->builder;
    const char *name = (const char *)event->data.alias.anchor;
    struct span span = {yaml_offset_of(reader, event->start_mark.index), yaml_offset_of(reader, event->end_mark.index)};
    reader->last_end = span.end;
    if (builder->skip > 0) return;
    if (!builder_wants_key(builder)) {
        builder_alias(builder, name, span);
        return;
    }
    size_t length;
    const char *text = builder_alias_key(builder, name, span, &length);
    if (text) {
        builder_key(builder, text, length, span);
        return;
    }
    if (!builder->lost_sections)
        diagnostics_add(builder->found, ADL_E010, builder->source, span,
                        "found the alias `*%s` as a key; expected a name, or an alias of an earlier string", name);
    builder_bad_key(builder);
}

static void yaml_open(struct reader *reader, const yaml_event_t *event, int kind, bool flow, const yaml_char_t *anchor,
                      const yaml_char_t *tag) {
    struct builder *builder = reader->builder;
    uint32_t start = yaml_offset_of(reader, event->start_mark.index);
    reader->level++;
    if (builder->skip == 0) {
        struct properties properties = find_properties(reader, start, anchor != NULL, tag != NULL);
        start = properties.start;
        if (builder_wants_key(builder)) {
            struct diagnostic *it =
                diagnostics_add(builder->found, ADL_E010, builder->source, (struct span){start, start + 1},
                                "found a %s as a key; expected a name", kind == TN_ARRAY ? "list" : "mapping");
            diagnostic_suggest(it, "put the text in quotes, if it is text");
            builder_bad_key(builder);
            builder_skip(builder);
            return;
        }
        take_properties(reader, &properties, anchor, tag);
    }
    builder_open(builder, kind, flow ? TREE_FLOW : TREE_BLOCK, start);
}

static void yaml_close(struct reader *reader, const yaml_event_t *event) {
    struct builder *builder = reader->builder;
    uint32_t end = yaml_offset_of(reader, event->end_mark.index);
    bool flow = end > reader->last_end && strchr("]}", reader->text[end - 1]) &&
                event->start_mark.index != event->end_mark.index;
    if (flow) reader->last_end = end;
    reader->level--;
    if (reader->joins && reader->level == 0) return;
    if (builder->skip == 0 && reader->last_end < builder->frames[builder->depth - 1].start)
        reader->last_end = builder->frames[builder->depth - 1].start;
    builder_close(builder, reader->last_end);
}

static enum yaml_result refuse_document(struct reader *reader, const yaml_event_t *event) {
    struct builder *builder = reader->builder;
    uint32_t start = yaml_offset_of(reader, event->start_mark.index);
    diagnostics_add(builder->found, ADL_E005, builder->source, (struct span){start, start + 3},
                    "found a second document; expected one document in a file: the rest is not read");
    return YAML_ENDED;
}

/* True if the range's first collection is the one that is open in the builder. */
static bool continues_block(const struct reader *reader, const yaml_event_t *event) {
    if (reader->joins == TN_ARRAY)
        return event->type == YAML_SEQUENCE_START_EVENT &&
               event->data.sequence_start.style != YAML_FLOW_SEQUENCE_STYLE && !event->data.sequence_start.anchor &&
               !event->data.sequence_start.tag;
    return event->type == YAML_MAPPING_START_EVENT && event->data.mapping_start.style != YAML_FLOW_MAPPING_STYLE &&
           !event->data.mapping_start.anchor && !event->data.mapping_start.tag;
}

static void set_problem(struct reader *reader, const char *problem, size_t at, const char *context, size_t context_at) {
    reader->problem->problem = problem;
    reader->problem->at = yaml_offset_of(reader, at);
    reader->problem->context = context;
    reader->problem->context_at = context ? yaml_offset_of(reader, context_at) : 0;
}

/* Ends the section, because libyaml's cost grows with the square of the depth. */
static bool is_too_deep(struct reader *reader, const yaml_event_t *event) {
    bool opens = event->type == YAML_SEQUENCE_START_EVENT || event->type == YAML_MAPPING_START_EVENT;
    if (!opens || reader->outer + reader->level < reader->builder->limits.depth) return false;
    set_problem(reader, YAML_PROBLEM_DEPTH, event->start_mark.index, NULL, 0);
    reader->problem->limit = reader->builder->limits.depth;
    return true;
}

static enum yaml_result read_event(struct reader *reader, const yaml_event_t *event) {
    if (is_too_deep(reader, event)) return YAML_FAILED;
    bool node = event->type == YAML_SCALAR_EVENT || event->type == YAML_ALIAS_EVENT ||
                event->type == YAML_SEQUENCE_START_EVENT || event->type == YAML_MAPPING_START_EVENT;
    if (reader->joins && node && reader->level == 0) {
        if (continues_block(reader, event)) {
            reader->level = 1;
            return YAML_READ;
        }
        set_problem(reader, reader->joins == TN_ARRAY ? YAML_PROBLEM_NO_DASH : YAML_PROBLEM_NO_COLON,
                    event->start_mark.index, NULL, 0);
        return YAML_FAILED;
    }
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (++reader->documents > 1) return refuse_document(reader, event);
        break;
    case YAML_SCALAR_EVENT: read_scalar(reader, event); break;
    case YAML_ALIAS_EVENT: read_alias(reader, event); break;
    case YAML_SEQUENCE_START_EVENT:
        yaml_open(reader, event, TN_ARRAY, event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE,
                  event->data.sequence_start.anchor, event->data.sequence_start.tag);
        break;
    case YAML_MAPPING_START_EVENT:
        yaml_open(reader, event, TN_OBJECT, event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE,
                  event->data.mapping_start.anchor, event->data.mapping_start.tag);
        break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: yaml_close(reader, event); break;
    default: break;
    }
    return reader->builder->stopped ? YAML_ENDED : YAML_READ;
}

enum yaml_result yaml_read_range(struct builder *builder, const char *text, struct span range, int joins,
                                 uint32_t *last_end, struct yaml_problem *problem) {
    struct reader reader = {.builder = builder,
                            .text = text,
                            .from = range.start,
                            .to = range.end,
                            .mark_offset = range.start,
                            .outer = joins ? builder->depth - 1 : 0,
                            .last_end = range.start,
                            .joins = joins,
                            .problem = problem};
    if (!yaml_parser_initialize(&reader.parser)) mem_exhausted(0);
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text + range.start, range.end - range.start);
    enum yaml_result result = YAML_READ;
    for (bool end = false; result == YAML_READ && !end;) {
        yaml_event_t event;
        if (!yaml_parser_parse(&reader.parser, &event)) {
            if (reader.parser.error == YAML_MEMORY_ERROR) mem_exhausted(0);
            set_problem(&reader, reader.parser.problem, reader.parser.problem_mark.index, reader.parser.context,
                        reader.parser.context_mark.index);
            result = YAML_FAILED;
            break;
        }
        end = event.type == YAML_STREAM_END_EVENT;
        result = read_event(&reader, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&reader.parser);
    *last_end = reader.last_end;
    return result;
}

void tree_read_yaml(struct builder *builder, const struct tree *before) {
    struct span whole = {source_line_span(builder->source, 0).start, (uint32_t)source_length(builder->source)};
    struct yaml_problem problem;
    uint32_t last_end;
    enum yaml_result result;
    builder->reuse = before ? yaml_reuse_new(builder, before) : NULL;
    if (!builder->reuse || !yaml_reuse_read(builder->reuse, &result, &problem))
        result = yaml_read_range(builder, source_text(builder->source), whole, 0, &last_end, &problem);
    if (result == YAML_FAILED) yaml_recover(builder, whole, &problem);
    yaml_reuse_free(builder->reuse);
    if (!builder->tree->root && builder->depth == 0 && builder->tree->whole)
        builder_scalar(builder, value_null(), TREE_PLAIN, (struct span){whole.end, whole.end}); /* only comments */
}
