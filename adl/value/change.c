/*
 * change.c - the difference of two values.
 *
 * Arrays are walked from the front, side by side. Where the items differ, the next common item is searched in a window;
 * if there is none, the two items are a pair, of which one became the other. Members of objects keep their order, so
 * two objects are walked in the same way; an object whose keys have another order is replaced.
 */
#include "adl/value/change.h"
#include "adl/value/block.h"
#include <string.h>

#define CHANGE_DEPTH_MAX  16   /* nesting up to which a change descends; what is deeper is replaced */
#define CHANGE_WINDOW     64   /* items that are searched for the next common item */
#define CHANGE_SEARCH_MIN 1024 /* comparisons for searching in an array, besides four for each item */
#define CHANGE_TEXT_MIN   32   /* bytes; a shorter text is replaced */

static tn_value change_between(tn_value before, tn_value after, int depth);

static bool change_is_same(tn_value a, tn_value b) { return a == b || value_identical(a, b); }

static tn_value change_set(tn_value after) { return value_set_take(value_object_reserve(1), "set", value_ref(after)); }

/* ---- Texts ---- */

static tn_value change_text(tn_value before, tn_value after) {
    size_t length, longer;
    const char *old = value_chars(before, &length), *new = value_chars(after, &longer);
    if (length < CHANGE_TEXT_MIN || longer <= length || memcmp(old, new, length) != 0) return change_set(after);
    return value_set_take(value_object_reserve(1), "append", value_text_n(new + length, longer - length));
}

/* ---- Arrays ---- */

struct array_walk {
    tn_value before, after;
    size_t from, to; /* the next item of each */
    size_t kept;     /* items that are in both */
    size_t budget;   /* comparisons that are left for searching */
    tn_value edits;
    int depth;
};

static void walk_replace(struct array_walk *walk, size_t removed, size_t added) {
    tn_value edit = value_push_take(value_array_reserve(3), value_int((int64_t)walk->from));
    edit = value_push_take(edit, value_int((int64_t)removed));
    edit = value_push_take(edit, value_slice(walk->after, walk->to, walk->to + added));
    walk->edits = value_push_take(walk->edits, edit);
    walk->from += removed;
    walk->to += added;
}

static void walk_change_item(struct array_walk *walk) {
    tn_value old = value_at(walk->before, walk->from), new = value_at(walk->after, walk->to);
    tn_value edit = value_push_take(value_array_reserve(2), value_int((int64_t)walk->from));
    walk->edits = value_push_take(walk->edits, value_push_take(edit, change_between(old, new, walk->depth + 1)));
    walk->from++;
    walk->to++;
}

/* The distance to the first item of `array`, from `at`, that is the same as `item`; 0 if it is not in the window. */
static size_t walk_distance(struct array_walk *walk, tn_value array, size_t at, tn_value item) {
    size_t left = value_count(array) - at, end = left < CHANGE_WINDOW ? left : CHANGE_WINDOW;
    for (size_t i = 1; i < end && walk->budget > 0; i++, walk->budget--)
        if (change_is_same(value_at(array, at + i), item)) return i;
    return 0;
}

/* The next items differ: some were removed, some were inserted, or one became the other. */
static void walk_difference(struct array_walk *walk) {
    tn_value old = value_at(walk->before, walk->from), new = value_at(walk->after, walk->to);
    size_t removed = walk_distance(walk, walk->before, walk->from, new);
    size_t added = walk_distance(walk, walk->after, walk->to, old);
    if (removed && (!added || removed <= added))
        walk_replace(walk, removed, 0);
    else if (added)
        walk_replace(walk, 0, added);
    else
        walk_change_item(walk);
}

static tn_value change_keep(tn_value after, size_t kept) {
    tn_value change = value_set_take(value_object_reserve(2), "keep", value_int((int64_t)kept));
    return value_set_take(change, "add", value_slice(after, kept, value_count(after)));
}

static tn_value change_array(tn_value before, tn_value after, int depth) {
    size_t count = value_count(before), length = value_count(after), kept = value_common_prefix(before, after);
    if (kept < count) /* equal items that are not shared */
        while (kept < count && kept < length && change_is_same(value_at(before, kept), value_at(after, kept))) kept++;
    if (kept == count && kept == length) return NULL;
    if (kept && (kept == count || kept == length)) return change_keep(after, kept);
    size_t budget = CHANGE_SEARCH_MIN + 4 * (count + length);
    struct array_walk walk = {before, after, kept, kept, kept, budget, value_array(), depth};
    while (walk.from < count && walk.to < length) {
        if (change_is_same(value_at(before, walk.from), value_at(after, walk.to)))
            walk.kept++, walk.from++, walk.to++;
        else
            walk_difference(&walk);
    }
    if (walk.from < count || walk.to < length) walk_replace(&walk, count - walk.from, length - walk.to);
    /* One item that became another may have most of its parts in common; of several, some must be kept. */
    if (walk.kept || (count == 1 && length == 1)) return value_set_take(value_object_reserve(1), "edit", walk.edits);
    value_unref(walk.edits);
    return change_set(after);
}

/* ---- Objects ---- */

static tn_value change_object(tn_value before, tn_value after, int depth) {
    size_t count = value_count(before), length = value_count(after), to = 0, kept = 0;
    tn_value members = value_object(), removed = value_array();
    for (size_t from = 0; from < count; from++) {
        tn_value key = value_key_at(before, from), old = value_value_at(before, from);
        if (to < length && change_is_same(key, value_key_at(after, to))) {
            tn_value new = value_value_at(after, to++), change = change_between(old, new, depth + 1);
            kept += !change || !value_get(change, "set");
            if (change) members = value_set_key_take(members, value_ref(key), change);
        } else if (!value_get_key(after, key)) {
            removed = value_push_take(removed, value_ref(key));
        } else { /* another order */
            kept = 0;
            break;
        }
    }
    if (!kept) { /* or nothing in common */
        bool identical = value_identical(before, after);
        value_unref(members);
        value_unref(removed);
        return identical ? NULL : change_set(after);
    }
    for (; to < length; to++)
        members =
            value_set_key_take(members, value_ref(value_key_at(after, to)), change_set(value_value_at(after, to)));
    if (!value_count(members) && !value_count(removed)) return NULL;
    tn_value change = value_set_take(value_object_reserve(2), "members", members);
    return value_count(removed) ? value_set_take(change, "remove", removed) : change;
}

/* ---- Any values ---- */

static tn_value change_between(tn_value before, tn_value after, int depth) {
    if (before == after) return NULL;
    int kind = value_kind(after);
    if (value_kind(before) != kind) return change_set(after);
    if (kind == TN_ARRAY && depth < CHANGE_DEPTH_MAX) return change_array(before, after, depth);
    if (kind == TN_OBJECT && depth < CHANGE_DEPTH_MAX) return change_object(before, after, depth);
    if (value_identical(before, after)) return NULL;
    return kind == TN_STRING ? change_text(before, after) : change_set(after);
}

tn_value value_change(tn_value before, tn_value after) { return change_between(before, after, 0); }

/* ---- Applying: each function takes `before`, also if it fails ---- */

static bool apply_take(tn_value before, tn_value change, int depth, tn_value *out);

static bool change_misfits_take(tn_value before) {
    value_unref(before);
    return false;
}

static bool change_number(tn_value value, size_t max, size_t *out) {
    int64_t number;
    if (!value_is_number(value) || !value_as_int(value, &number) || number < 0 || (uint64_t)number > max) return false;
    *out = (size_t)number;
    return true;
}

static bool apply_append_take(tn_value before, tn_value text, tn_value *out) {
    if (!value_is(before, TN_STRING) || !value_is(text, TN_STRING)) return change_misfits_take(before);
    size_t length, added;
    const char *old = value_chars(before, &length), *more = value_chars(text, &added);
    if (length + added > STRING_LENGTH_MAX) return change_misfits_take(before);
    struct string *joined = string_new(TN_STRING, length + added);
    memcpy(joined->chars, old, length);
    memcpy(joined->chars + length, more, added);
    value_unref(before);
    *out = &joined->header;
    return true;
}

static bool apply_keep_take(tn_value before, tn_value keep, tn_value add, tn_value *out) {
    size_t kept;
    if (!value_is(before, TN_ARRAY) || !value_is(add, TN_ARRAY) || !change_number(keep, value_count(before), &kept))
        return change_misfits_take(before);
    tn_value start = kept == value_count(before) ? before : value_slice(before, 0, kept);
    if (start != before) value_unref(before);
    *out = value_concat_take(start, value_ref(add));
    return true;
}

/* An edit of one item has two parts. An array whose items are only changed is changed in place if it is not shared. */
static bool apply_items_take(tn_value array, tn_value edits, int depth, tn_value *out) {
    size_t count = value_count(array), next = 0, at;
    for (size_t i = 0; i < value_count(edits); i++) {
        tn_value edit = value_at(edits, i), item;
        if (!change_number(value_at(edit, 0), count, &at) || at < next || at >= count ||
            !apply_take(value_ref(value_at(array, at)), value_at(edit, 1), depth + 1, &item))
            return change_misfits_take(array);
        array = value_replace_take(array, at, item);
        next = at + 1;
    }
    *out = array;
    return true;
}

static bool apply_edits_take(tn_value array, tn_value edits, int depth, tn_value *out) {
    size_t count = value_count(array), next = 0;
    tn_value made = value_array();
    for (size_t i = 0; i < value_count(edits); i++) {
        tn_value edit = value_at(edits, i), item = NULL;
        size_t at = 0, removed = 1;
        bool fits = change_number(value_at(edit, 0), count, &at) && at >= next;
        if (fits && value_count(edit) == 3)
            fits = change_number(value_at(edit, 1), count - at, &removed) && value_is(value_at(edit, 2), TN_ARRAY);
        else if (fits)
            fits = at < count && apply_take(value_ref(value_at(array, at)), value_at(edit, 1), depth + 1, &item);
        if (!fits) {
            value_unref(made);
            return change_misfits_take(array);
        }
        made = value_concat_take(made, value_slice(array, next, at));
        made = item ? value_push_take(made, item) : value_concat_take(made, value_ref(value_at(edit, 2)));
        next = at + removed;
    }
    *out = value_concat_take(made, value_slice(array, next, count));
    value_unref(array);
    return true;
}

static bool apply_edit_take(tn_value before, tn_value edits, int depth, tn_value *out) {
    bool items_only = true;
    if (!value_is(before, TN_ARRAY) || !value_is(edits, TN_ARRAY)) return change_misfits_take(before);
    for (size_t i = 0; i < value_count(edits); i++) {
        tn_value edit = value_at(edits, i);
        size_t parts = value_is(edit, TN_ARRAY) ? value_count(edit) : 0;
        if (parts != 2 && parts != 3) return change_misfits_take(before);
        items_only &= parts == 2;
    }
    return items_only ? apply_items_take(before, edits, depth, out) : apply_edits_take(before, edits, depth, out);
}

/* Copies what is left, so that the cost does not grow with the product of both numbers. */
static tn_value apply_remove_take(tn_value object, tn_value removed) {
    tn_value left = value_object_reserve(value_count(object)), gone = value_object_reserve(value_count(removed));
    for (size_t i = 0; i < value_count(removed); i++)
        gone = value_set_key_take(gone, value_ref(value_at(removed, i)), value_null());
    for (size_t i = 0; i < value_count(object); i++) {
        tn_value key = value_key_at(object, i);
        if (!value_get_key(gone, key))
            left = value_set_key_take(left, value_ref(key), value_ref(value_value_at(object, i)));
    }
    value_unref(gone);
    value_unref(object);
    return left;
}

static bool apply_members_take(tn_value object, tn_value change, int depth, tn_value *out) {
    tn_value members = value_get(change, "members"), removed = value_get(change, "remove"), made;
    if (!value_is(object, TN_OBJECT) || !value_is(members, TN_OBJECT) || (removed && !value_is(removed, TN_ARRAY)))
        return change_misfits_take(object);
    for (size_t i = 0; i < value_count(removed); i++)
        if (!value_is(value_at(removed, i), TN_STRING)) return change_misfits_take(object);
    if (removed) object = apply_remove_take(object, removed);
    for (size_t i = 0; i < value_count(members); i++) {
        tn_value key = value_key_at(members, i), old = value_get_key(object, key);
        if (!apply_take(old ? value_ref(old) : NULL, value_value_at(members, i), depth + 1, &made))
            return change_misfits_take(object);
        object = value_set_key_take(object, value_ref(key), made);
    }
    *out = object;
    return true;
}

/* `before` is NULL for a new member. */
static bool apply_take(tn_value before, tn_value change, int depth, tn_value *out) {
    tn_value set = value_get(change, "set"), part;
    if (depth > CHANGE_DEPTH_MAX) return change_misfits_take(before);
    if (set) {
        value_unref(before);
        *out = value_ref(set);
        return true;
    }
    if ((part = value_get(change, "append"))) return apply_append_take(before, part, out);
    if ((part = value_get(change, "keep"))) return apply_keep_take(before, part, value_get(change, "add"), out);
    if ((part = value_get(change, "edit"))) return apply_edit_take(before, part, depth, out);
    return apply_members_take(before, change, depth, out);
}

bool value_change_apply_take(tn_value before, tn_value change, tn_value *out) {
    return apply_take(before, change, 0, out);
}
