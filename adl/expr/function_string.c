/*
 * function_string.c - the extension library `strings` of CEL: parts of strings, joining and splitting.
 *
 * Indexes count characters (code points) from 0. Strings are valid UTF-8, so characters are found by their first bytes.
 */
#include "adl/expr/function.h"
#include "adl/value/json.h"
#include <string.h>

/* Returns the byte position of the character `index`, or SIZE_MAX if the string is shorter. */
static size_t character_at(const char *chars, size_t length, int64_t index) {
    size_t at = 0;
    for (; index > 0 && at < length; index--) {
        at++;
        while (at < length && ((unsigned char)chars[at] & 0xc0) == 0x80) at++;
    }
    return index == 0 ? at : SIZE_MAX;
}

static int64_t characters_in(const char *chars, size_t length) {
    int64_t count = 0;
    for (size_t i = 0; i < length; i++) count += ((unsigned char)chars[i] & 0xc0) != 0x80;
    return count;
}

/* The integer of an argument; false for one that is too large. */
static bool argument_index(const struct cell *argument, int64_t *out) {
    return argument->kind != TN_DOUBLE && cell_to_index(argument, out);
}

HANDLER(char_at) {
    size_t length;
    int64_t index;
    const char *chars = cell_chars(arguments, &length);
    if (!charge_bytes(machine, length)) return stopped(machine);
    if (!argument_index(&arguments[1], &index) || index < 0) return out_of_range(machine, &arguments[1]);
    size_t from = character_at(chars, length, index);
    if (from == SIZE_MAX) return out_of_range(machine, &arguments[1]);
    size_t size = from < length ? character_at(chars + from, length - from, 1) : 0;
    return build_text(machine, TN_STRING, chars + from, size);
}

HANDLER(substring) {
    size_t length;
    int64_t start, end;
    const char *chars = cell_chars(arguments, &length);
    if (!charge_bytes(machine, length)) return stopped(machine);
    if (!argument_index(&arguments[1], &start) || start < 0) return out_of_range(machine, &arguments[1]);
    size_t from = character_at(chars, length, start), to = length;
    if (from == SIZE_MAX) return out_of_range(machine, &arguments[1]);
    if (count == 3) {
        if (!argument_index(&arguments[2], &end)) return no_overload(machine);
        to = end < start ? SIZE_MAX : character_at(chars, length, end);
        if (to == SIZE_MAX) return out_of_range(machine, &arguments[2]);
    }
    return build_text(machine, TN_STRING, chars + from, to - from);
}

HANDLER(index_of) {
    size_t length, part_length, at = 0;
    int64_t from = 0;
    const char *chars = cell_chars(&arguments[0], &length), *part = cell_chars(&arguments[1], &part_length);
    if (!charge_bytes(machine, length)) return stopped(machine);
    if (count == 3) {
        if (!argument_index(&arguments[2], &from)) return no_overload(machine);
        if (from < 0) return out_of_range(machine, &arguments[2]);
        if (part_length == 0) return cell_int(from);
        at = character_at(chars, length, from);
        if (at == SIZE_MAX) return cell_int(-1);
    }
    const char *found = memmem(chars + at, length - at, part, part_length);
    return cell_int(found ? characters_in(chars, (size_t)(found - chars)) : -1);
}

HANDLER(last_index_of) {
    size_t length, part_length;
    const char *chars = cell_chars(&arguments[0], &length), *part = cell_chars(&arguments[1], &part_length);
    if (!charge_bytes(machine, length)) return stopped(machine);
    size_t last = length;
    if (count == 3) {
        int64_t limit;
        if (!argument_index(&arguments[2], &limit)) return no_overload(machine);
        if (limit < 0) return out_of_range(machine, &arguments[2]);
        if (part_length == 0) return cell_int(limit);
        last = character_at(chars, length, limit);
        if (last == SIZE_MAX || (last == length && part_length > 0 && length > 0)) return cell_int(-1);
    }
    if (part_length == 0) return cell_int(characters_in(chars, last));
    if (part_length > length) return cell_int(-1);
    if (last > length - part_length) last = length - part_length;
    /* Compares the part at every position, so the cost is that of all these comparisons. */
    for (size_t at = last + 1; at-- > 0;) {
        if (memcmp(chars + at, part, part_length) == 0) return cell_int(characters_in(chars, at));
        if (at % 64 == 0 && !charge_bytes(machine, 64 * part_length)) return stopped(machine);
    }
    return cell_int(-1);
}

static struct cell ascii_mapped(struct machine *machine, const struct cell *argument, char first, char last, int by) {
    size_t length;
    const char *chars = cell_chars(argument, &length);
    struct buffer text;
    if (!charge_bytes(machine, length)) return stopped(machine);
    text_begin(machine, &text);
    for (size_t i = 0; i < length && !text.overflow; i++)
        buffer_char(&text, (char)(chars[i] >= first && chars[i] <= last ? chars[i] + by : chars[i]));
    return text_cell(machine, &text);
}

HANDLER(lower_ascii) { return ascii_mapped(machine, arguments, 'A', 'Z', 'a' - 'A'); }

HANDLER(upper_ascii) { return ascii_mapped(machine, arguments, 'a', 'z', 'A' - 'a'); }

/* White space as Unicode defines it; zero-width characters are not. */
static bool is_white(uint32_t code) {
    return (code >= 9 && code <= 13) || code == ' ' || code == 0x85 || code == 0xa0 || code == 0x1680 ||
           (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 || code == 0x202f || code == 0x205f ||
           code == 0x3000;
}

HANDLER(trim) {
    size_t length, from = 0;
    const char *chars = cell_chars(arguments, &length);
    if (!charge_bytes(machine, length)) return stopped(machine);
    size_t to = 0; /* the end of the last character that is not white */
    bool begun = false;
    for (size_t at = 0; at < length;) {
        uint32_t code;
        size_t size = utf8_decode(chars + at, length - at, &code);
        if (size == 0) break;
        if (!is_white(code)) {
            if (!begun) from = at;
            begun = true;
            to = at + size;
        }
        at += size;
    }
    return build_text(machine, TN_STRING, chars + from, begun ? to - from : 0);
}

static struct cell reversed_list(struct machine *machine, const struct cell *list) {
    size_t count = cell_count(list);
    if (!charge_items(machine, count)) return stopped(machine);
    struct cell result = build_list(machine, count);
    for (size_t i = count; i-- > 0 && result.kind != CELL_ERROR;) {
        struct cell item = cell_item(list, i);
        build_list_add(machine, &result, &item);
    }
    return result;
}

HANDLER(reverse) {
    size_t length;
    struct buffer text;
    if (arguments->kind == TN_ARRAY) return reversed_list(machine, arguments);
    const char *chars = cell_chars(arguments, &length);
    if (!charge_bytes(machine, length)) return stopped(machine);
    text_begin(machine, &text);
    for (size_t end = length; end > 0 && !text.overflow;) {
        size_t start = end - 1;
        while (start > 0 && ((unsigned char)chars[start] & 0xc0) == 0x80) start--;
        buffer_append(&text, chars + start, end - start);
        end = start;
    }
    return text_cell(machine, &text);
}

/* ---- Parts ---- */

/* Returns where the separator begins at or after `from`; an empty one is after each character. SIZE_MAX: nowhere. */
static size_t find_part(const char *chars, size_t length, size_t from, const char *part, size_t part_length) {
    if (part_length == 0) return from < length ? from + character_at(chars + from, length - from, 1) : SIZE_MAX;
    const char *found = memmem(chars + from, length - from, part, part_length);
    return found ? (size_t)(found - chars) : SIZE_MAX;
}

HANDLER(replace) {
    size_t length, old_length, new_length, from = 0;
    int64_t limit = -1;
    const char *chars = cell_chars(&arguments[0], &length), *old = cell_chars(&arguments[1], &old_length);
    struct buffer text;
    if (arguments[2].kind != TN_STRING || (count == 4 && !argument_index(&arguments[3], &limit)))
        return no_overload(machine);
    const char *new = cell_chars(&arguments[2], &new_length);
    if (!charge_bytes(machine, length)) return stopped(machine);
    text_begin(machine, &text);
    if (old_length == 0 && limit != 0) {
        buffer_append(&text, new, new_length);
        limit--;
    }
    for (; limit != 0 && !text.overflow; limit -= limit > 0) {
        size_t at = find_part(chars, length, from, old, old_length);
        if (at == SIZE_MAX) break;
        buffer_append(&text, chars + from, at - from);
        buffer_append(&text, new, new_length);
        from = at + old_length;
    }
    buffer_append(&text, chars + from, length - from);
    return text_cell(machine, &text);
}

HANDLER(split) {
    size_t length, part_length, from = 0;
    int64_t limit = -1;
    const char *chars = cell_chars(&arguments[0], &length), *part = cell_chars(&arguments[1], &part_length);
    if (count == 3 && !argument_index(&arguments[2], &limit)) return no_overload(machine);
    if (!charge_bytes(machine, length)) return stopped(machine);
    struct cell list = build_list(machine, 0);
    if (limit == 0) return list;
    while (list.kind != CELL_ERROR && (limit < 0 || limit > 1)) {
        size_t at = find_part(chars, length, from, part, part_length);
        if (at == SIZE_MAX || (part_length == 0 && at == length)) break;
        struct cell item = build_text(machine, TN_STRING, chars + from, at - from);
        build_list_add(machine, &list, &item);
        from = at + part_length;
        limit -= limit > 0;
    }
    if (list.kind == CELL_ERROR || (part_length == 0 && length == 0)) return list;
    if (!charge_items(machine, cell_count(&list))) return stopped(machine);
    struct cell rest = build_text(machine, TN_STRING, chars + from, length - from);
    build_list_add(machine, &list, &rest);
    return list;
}

HANDLER(join) {
    size_t separator_length = 0, length, items = cell_count(arguments);
    const char *separator = count == 2 ? cell_chars(&arguments[1], &separator_length) : "";
    struct buffer text;
    if (!charge_items(machine, items)) return stopped(machine);
    text_begin(machine, &text);
    for (size_t i = 0; i < items && !text.overflow; i++) {
        struct cell item = cell_item(arguments, i);
        if (item.kind != TN_STRING) {
            buffer_finish(&text);
            return fault_cell(machine, FAULT_NOT_STRING, &item);
        }
        if (i) buffer_append(&text, separator, separator_length);
        const char *chars = cell_chars(&item, &length);
        buffer_append(&text, chars, length);
    }
    return text_cell(machine, &text);
}

/* ---- Quoting ---- */

HANDLER(quote) {
    static const char escapes[] = "\a\b\f\n\r\t\v\\\"", letters[] = "abfnrtv\\\"";
    size_t length;
    const char *chars = cell_chars(arguments, &length);
    struct buffer text;
    if (!charge_bytes(machine, length)) return stopped(machine);
    text_begin(machine, &text);
    buffer_char(&text, '"');
    for (size_t i = 0; i < length && !text.overflow; i++) {
        const char *escape = chars[i] ? strchr(escapes, chars[i]) : NULL;
        if (escape) buffer_char(&text, '\\');
        buffer_char(&text, escape ? letters[escape - escapes] : chars[i]);
    }
    buffer_char(&text, '"');
    return text_cell(machine, &text);
}
