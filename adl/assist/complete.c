/*
 * complete.c - the collector: which offers fit what is typed, how they are inserted, and their order.
 */
#include "adl/assist/complete_internal.h"
#include "adl/assist/edit.h"
#include "adl/value/json.h"
#include "adl/value/memory.h"
#include "adl/value/nearest.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NEAR_LOOKED_MAX 2000u /* names that are compared with a typing mistake */

const char *completion_kind_name(enum completion_kind kind) {
    static const char *const names[] = {
        [COMPLETION_KEY] = "key",           [COMPLETION_NODE_TYPE] = "node_type", [COMPLETION_WORD] = "word",
        [COMPLETION_VALUE] = "value",       [COMPLETION_CHANNEL] = "channel",     [COMPLETION_FIELD] = "field",
        [COMPLETION_VARIABLE] = "variable", [COMPLETION_FUNCTION] = "function",   [COMPLETION_OPERATOR] = "operator",
        [COMPLETION_NODE] = "node",         [COMPLETION_ROLE] = "role",           [COMPLETION_MODEL] = "model",
        [COMPLETION_TOOL] = "tool",         [COMPLETION_REDUCER] = "reducer",     [COMPLETION_PLUGIN] = "plugin",
        [COMPLETION_FILE] = "file",         [COMPLETION_FOLDER] = "folder",       [COMPLETION_DOCUMENT] = "document",
        [COMPLETION_ANCHOR] = "anchor",     [COMPLETION_SNIPPET] = "snippet"};
    return names[kind];
}

/* ---- Memory of the texts: blocks that are freed together ---- */

#define BLOCK_SIZE 16384u

struct text_block {
    struct text_block *next;
    size_t used, size;
    char bytes[];
};

static const char *list_keep(struct assist_completions *list, const char *text, size_t length) {
    struct text_block *block = list->memory;
    if (!block || block->size - block->used <= length) {
        size_t size = length + 1 > BLOCK_SIZE ? length + 1 : BLOCK_SIZE;
        block = mem_alloc(sizeof *block + size);
        *block = (struct text_block){list->memory, 0, size};
        list->memory = block;
    }
    char *kept = block->bytes + block->used;
    memcpy(kept, text, length);
    kept[length] = '\0';
    block->used += length + 1;
    return kept;
}

void assist_completions_free(struct assist_completions *list) {
    if (!list) return;
    for (struct text_block *block = list->memory, *next; block; block = next) {
        next = block->next;
        mem_free(block);
    }
    mem_free(list->items);
    mem_free(list);
}

/* ---- What fits ---- */

static bool has_prefix(const struct completer *completer, const char *label, size_t length) {
    return completer->prefix_length <= length && strncasecmp(completer->prefix, label, completer->prefix_length) == 0;
}

static char lower_case(char c) { return c >= 'A' && c <= 'Z' ? (char)(c | 32) : c; }

static bool label_starts_word(const char *label, size_t at) {
    if (at == 0) return true;
    bool upper = label[at] >= 'A' && label[at] <= 'Z', before = label[at - 1] >= 'A' && label[at - 1] <= 'Z';
    return strchr("_.-:/ ", label[at - 1]) || (upper && !before);
}

/* True if the characters of the prefix occur in the label, in order, from the start of a word on. */
static bool has_characters(const struct completer *completer, const char *label, size_t length) {
    size_t found = 0;
    for (size_t i = 0; i < length && found < completer->prefix_length; i++)
        found +=
            lower_case(label[i]) == lower_case(completer->prefix[found]) && (found > 0 || label_starts_word(label, i));
    return found == completer->prefix_length;
}

bool offer_fits(struct completer *completer, const char *label, size_t length) {
    if (completer->rank == RANK_PREFIX) return has_prefix(completer, label, length);
    if (completer->rank == RANK_INSIDE)
        return !has_prefix(completer, label, length) && has_characters(completer, label, length);
    if (completer->looked++ >= NEAR_LOOKED_MAX || length == 0) return false;
    struct nearest nearest;
    nearest_init(&nearest, completer->prefix, completer->prefix_length);
    nearest_add_candidate(&nearest, label, length);
    return nearest_result(&nearest) != NULL;
}

/* ---- How it is inserted ---- */

void complete_write_escaped(struct buffer *out, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (strchr("$}\\", text[i]) && text[i]) buffer_char(out, '\\');
        buffer_char(out, text[i]);
    }
}

/* True if the text means another value, or nothing, when it is written without quotes. */
static bool needs_quotes(const char *text, size_t length, bool flow) {
    static const char *const words[] = {"true", "false", "null", "True", "False", "Null", "TRUE", "FALSE", "NULL", "~"};
    if (length == 0 || strchr("-?:,[]{}#&*!|>'\"%@`.+ ", text[0]) || text[length - 1] == ' ' || text[length - 1] == ':')
        return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && memcmp(words[i], text, length) == 0) return true;
    bool number = text[0] >= '0' && text[0] <= '9';
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)text[i] < ' ') return true;
        if (i + 1 < length && text[i] == ':' && text[i + 1] == ' ') return true;
        if (i > 0 && text[i] == '#' && text[i - 1] == ' ') return true;
        if (flow && strchr(",[]{}", text[i])) return true;
        if (!strchr("0123456789.eExoabcdfABCDF_+-", text[i])) number = false;
    }
    return number;
}

void complete_write_value(const struct completer *completer, const char *text, size_t length, struct buffer *out) {
    const struct cursor *cursor = &completer->meaning.cursor;
    bool plain = cursor->quote == CURSOR_PLAIN || cursor->quote == CURSOR_BLOCK;
    if ((plain && cursor->json) || cursor->quote == CURSOR_DOUBLE) {
        struct buffer quoted;
        buffer_init(&quoted, SIZE_MAX);
        json_write_string(&quoted, text, length);
        if (plain)
            buffer_append(out, quoted.data, quoted.length);
        else
            buffer_append(out, quoted.data + 1, quoted.length - 2);
        buffer_finish(&quoted);
        return;
    }
    bool quote = plain && needs_quotes(text, length, cursor->flow);
    if (quote) buffer_char(out, '"');
    for (size_t i = 0; i < length; i++) {
        if (quote && (text[i] == '"' || text[i] == '\\')) buffer_char(out, '\\');
        if (cursor->quote == CURSOR_SINGLE && text[i] == '\'') buffer_char(out, '\'');
        buffer_char(out, text[i]);
    }
    if (quote) buffer_char(out, '"');
}

void complete_set_span(struct completer *completer, struct span span) {
    uint32_t offset = completer->meaning.cursor.offset;
    if (offset < span.start) span.start = offset;
    if (span.end < offset) span.end = offset;
    completer->span = span;
    completer->prefix = source_text(completer->assist->source) + span.start;
    completer->prefix_length = offset - span.start;
}

/* Keeps an inserted text: with a space in front if the place needs one, and with the line ends of the document. */
static const char *keep_inserted(struct completer *completer, const char *text) {
    struct buffer out;
    bool crlf = strchr(text, '\n') && *assist_line_end(completer->assist->source) == '\r';
    buffer_init(&out, SIZE_MAX);
    if (completer->meaning.cursor.space && !completer->raw) buffer_char(&out, ' ');
    for (; *text; text++) {
        if (crlf && *text == '\n') buffer_char(&out, '\r');
        buffer_char(&out, *text);
    }
    const char *kept = list_keep(completer->list, buffer_cstr(&out), out.length);
    buffer_finish(&out);
    return kept;
}

static const char *keep_optional(struct completer *completer, const char *text) {
    return text && *text ? list_keep(completer->list, text, strlen(text)) : NULL;
}

/* Appends a snippet without its placeholders: ${1:name} is `name`, ${1|a,b|} is `a`, $0 is nothing. */
static void write_plain(struct buffer *out, const char *snippet) {
    for (const char *at = snippet; *at; at++) {
        if (*at == '\\' && at[1]) {
            buffer_char(out, *++at);
            continue;
        }
        if (*at != '$') {
            buffer_char(out, *at);
            continue;
        }
        bool braces = at[1] == '{';
        at += braces ? 2 : 1;
        at += strspn(at, "0123456789");
        const char *from = at + 1, *end = !braces ? at : strchr(at, '}');
        if (braces && (*at == ':' || *at == '|') && end)
            buffer_append(out, from, *at == '|' ? strcspn(from, ",|") : (size_t)(end - from));
        at = braces && end ? end : at - 1;
    }
}

void offer(struct completer *completer, const struct offer *made) {
    struct assist_completions *list = completer->list;
    size_t length = made->label_length ? made->label_length : strlen(made->label);
    if (!offer_fits(completer, made->label, length)) return;
    if (list->count == COMPLETE_ITEMS_MAX) {
        list->incomplete = true;
        return;
    }
    MEM_GROW(list->items, list->count, list->capacity);
    struct assist_completion *item = &list->items[list->count++];
    *item = (struct assist_completion){.kind = made->kind, .span = completer->span};
    item->deprecated = made->deprecated;
    item->again = made->again;
    item->label = item->filter = list_keep(list, made->label, length);
    item->detail = keep_optional(completer, made->detail);
    item->documentation = keep_optional(completer, made->documentation);
    struct buffer text;
    buffer_init(&text, SIZE_MAX);
    const char *inserted = made->text ? made->text : item->label;
    if (made->snippet && made->written && !made->text)
        write_plain(&text, made->snippet);
    else if (made->written || completer->raw)
        buffer_text(&text, inserted);
    else
        complete_write_value(completer, inserted, strlen(inserted), &text);
    item->text = keep_inserted(completer, buffer_cstr(&text));
    item->snippet = made->snippet && strchr(made->snippet, '$') ? keep_inserted(completer, made->snippet) : NULL;
    buffer_clear(&text);
    buffer_format(&text, "%c%c", "012"[completer->rank], made -> deprecated ? '9' : made->group ? made->group : '5');
    if (made->ordered)
        buffer_format(&text, "%05u", completer->order++);
    else
        buffer_text(&text, item->label);
    item->sort = list_keep(list, buffer_cstr(&text), text.length);
    buffer_finish(&text);
}

/* ---- Other items of the list ---- */

static bool list_item(void *user, uint32_t value) {
    struct completer *completer = user;
    const struct cursor *cursor = &completer->meaning.cursor;
    if (value == cursor->span.start) return true;
    cursor_text_at(cursor->source, value, cursor->flow, &completer->listed[completer->listed_count]);
    return ++completer->listed_count < LISTED_MAX;
}

bool complete_is_listed(const struct completer *completer, const char *text, size_t length) {
    for (uint32_t i = 0; i < completer->listed_count; i++)
        if (completer->listed[i].length == length && memcmp(completer->listed[i].text, text, length) == 0) return true;
    return false;
}

/* ---- The call ---- */

static bool on_one_line(const struct completer *completer) {
    const struct source *source = completer->assist->source;
    return cursor_line_of(source, completer->span.start) == cursor_line_of(source, completer->span.end);
}

static void complete_place(struct completer *completer) {
    const struct meaning *meaning = &completer->meaning;
    const struct cursor *cursor = &meaning->cursor;
    completer->raw = false;
    completer->order = 0;
    if (cursor->kind == CURSOR_ALIAS) {
        complete_set_span(completer, cursor->inner);
        complete_anchors(completer);
        return;
    }
    if (complete_is_empty_json(completer)) {
        complete_set_span(completer, (struct span){cursor->offset, cursor->offset});
        complete_empty_json(completer);
        return;
    }
    if (cursor->kind == CURSOR_NOTHING || meaning->kind == MEANING_NOTHING) return;
    complete_set_span(completer, cursor->inner);
    if (meaning->language != LANGUAGE_NONE) {
        complete_expression(completer);
        return;
    }
    bool ended = completer->prefix_length > 0 && completer->prefix[completer->prefix_length - 1] == ' ';
    if (cursor->quote == CURSOR_BLOCK || ended || !on_one_line(completer)) return;
    if (cursor->kind == CURSOR_KEY) {
        complete_keys(completer);
        return;
    }
    complete_value(completer);
    complete_items(completer);
}

static int compare_items(const void *a, const void *b) {
    const struct assist_completion *x = a, *y = b;
    int order = strcmp(x->sort, y->sort);
    return order ? order : strcmp(x->label, y->label);
}

/* Removes items with the label and text of another one. */
static void drop_duplicates(struct assist_completions *list) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const struct assist_completion *item = &list->items[i];
        bool again = false;
        for (uint32_t j = kept; j-- > 0 && kept - j <= 2 && !again;)
            again = strcmp(list->items[j].label, item->label) == 0 && strcmp(list->items[j].text, item->text) == 0;
        if (!again) list->items[kept++] = *item;
    }
    list->count = kept;
}

struct assist_completions *assist_complete(const struct assist *assist, uint32_t offset) {
    struct completer completer = {.assist = assist};
    completer.list = mem_zalloc(sizeof *completer.list);
    meaning_find(assist, offset, &completer.meaning);
    if (completer.meaning.cursor.kind == CURSOR_VALUE && completer.meaning.cursor.depth > 0)
        cursor_each_item(&completer.meaning.cursor, completer.meaning.cursor.depth - 1, list_item, &completer);
    for (int rank = RANK_PREFIX; rank < RANKS; rank++) {
        if (rank == RANK_NEAR && completer.list->count > 0) break;
        completer.rank = (enum complete_rank)rank;
        complete_place(&completer);
        if (completer.prefix_length == 0) break; /* everything begins with it */
    }
    meaning_finish(&completer.meaning);
    for (uint32_t i = 0; i < completer.listed_count; i++) cursor_text_finish(&completer.listed[i]);
    if (completer.list->count > 1)
        qsort(completer.list->items, completer.list->count, sizeof *completer.list->items, compare_items);
    drop_duplicates(completer.list);
    return completer.list;
}
