/*
 * extract.c - `extract`: finds values in a text, or at JSON Pointers in data.
 *
 * It uses no model and no regular expressions. Each search of a text is one pass, except that `json` tries a limited
 * number of positions. So the time is linear in the length.
 */
#include <tenon/util/build.h>
#include <tenon/util/text.h>

struct search {
    const char *at, *end; /* the rest of the text */
    tn_builder *out;
    int64_t remaining; /* remaining results until the limit */
};

static void extract_add(struct search *search, const char *from, const char *to) {
    if (search->remaining-- > 0) tn_put_take(search->out, NULL, tn_text_n(from, (uint64_t)(to - from)));
}

static bool extract_is_digit(char c) { return c >= '0' && c <= '9'; }
static bool extract_is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool extract_is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* ---- Links, addresses, numbers ---- */

static void extract_find_links(struct search *search) {
    static const char *const schemes[] = {"https://", "http://"};
    while (search->at < search->end && search->remaining > 0) {
        size_t length = 0;
        for (size_t i = 0; i < 2 && length == 0; i++) {
            size_t need = strlen(schemes[i]);
            if ((size_t)(search->end - search->at) > need && memcmp(search->at, schemes[i], need) == 0) length = need;
        }
        if (length == 0) {
            search->at++;
            continue;
        }
        const char *stop = search->at + length;
        int open = 0;
        while (stop < search->end && !extract_is_space(*stop) && !strchr("<>\"`{}|\\^", *stop)) {
            open += *stop == '(';
            if (*stop == ')' && open-- == 0) break; /* it closes a bracket before the link, as in Markdown */
            stop++;
        }
        while (stop > search->at + length && strchr(".,;:!?'*_]", stop[-1])) stop--;
        if (stop > search->at + length) extract_add(search, search->at, stop);
        search->at = stop;
    }
}

static bool extract_in_address(char c) {
    return extract_is_letter(c) || extract_is_digit(c) || (c != 0 && strchr("._%+-", c) != NULL);
}

static void extract_find_emails(struct search *search) {
    const char *begin = search->at;
    for (const char *at = begin; at < search->end && search->remaining > 0; at++) {
        if (*at != '@') continue;
        const char *from = at, *to = at + 1, *dot = NULL;
        while (from > begin && extract_in_address(from[-1])) from--;
        while (to < search->end && (extract_is_letter(*to) || extract_is_digit(*to) || *to == '-' || *to == '.')) {
            if (*to == '.') dot = to;
            to++;
        }
        while (to > at + 1 && (to[-1] == '.' || to[-1] == '-')) to--;
        if (dot != NULL && dot >= to) { /* the dot ended the sentence: use an earlier dot */
            dot = to - 1;
            while (dot > at && *dot != '.') dot--;
            if (dot == at) dot = NULL;
        }
        if (from < at && dot != NULL && dot > at + 1 && to - dot > 2) extract_add(search, from, to);
        begin = at = to > at ? to - 1 : at;
    }
}

static void extract_find_numbers(struct search *search) {
    const char *at = search->at, *begin = at;
    while (at < search->end && search->remaining > 0) {
        if (!extract_is_digit(*at)) {
            at++;
            continue;
        }
        const char *from = at;
        if (from > begin && from[-1] == '-' &&
            (from - 1 == begin || (!extract_is_digit(from[-2]) && !extract_is_letter(from[-2]))))
            from--;
        while (at < search->end && extract_is_digit(*at)) at++;
        if (search->end - at > 1 && *at == '.' && extract_is_digit(at[1]))
            for (at++; at < search->end && extract_is_digit(*at);) at++;
        /* JSON has no leading zeros: such digits are an identifier, not a number. */
        tn_value number = tn_from_json(from, (uint64_t)(at - from));
        if (number != NULL && search->remaining-- > 0) tn_put(search->out, NULL, number);
        tn_release(number);
    }
}

/* ---- Lines ---- */

/* Returns the next line without its line end. False at the end of the text. */
static bool extract_next_line(struct search *search, const char **from, const char **to) {
    if (search->at >= search->end) return false;
    const char *end = memchr(search->at, '\n', (size_t)(search->end - search->at));
    *from = search->at;
    *to = end != NULL ? end : search->end;
    search->at = end != NULL ? end + 1 : search->end;
    if (*to > *from && (*to)[-1] == '\r') --*to;
    return true;
}

static const char *extract_skip_blanks(const char *from, const char *to) {
    while (from < to && (*from == ' ' || *from == '\t')) from++;
    return from;
}

static bool extract_is_fence(const char *from, const char *to) {
    from = extract_skip_blanks(from, to);
    return to - from >= 3 && (memcmp(from, "```", 3) == 0 || memcmp(from, "~~~", 3) == 0);
}

static void extract_find_lines(struct search *search, bool headings) {
    const char *from, *to;
    bool fenced = false;
    while (search->remaining > 0 && extract_next_line(search, &from, &to)) {
        if (extract_is_fence(from, to)) fenced = !fenced;
        if (fenced) continue;
        const char *at = headings ? from : extract_skip_blanks(from, to), *mark = at;
        if (headings) {
            while (at < to && *at == '#') at++;
            if (at == mark || at - mark > 6) continue;
        } else if (at < to && strchr("-*+", *at)) {
            at++;
        } else {
            while (at < to && extract_is_digit(*at)) at++;
            if (at == mark || at == to || (*at != '.' && *at != ')')) continue;
            at++;
        }
        if (at == to || *at != ' ') continue;
        at = extract_skip_blanks(at, to);
        while (to > at && (extract_is_space(to[-1]) || (headings && to[-1] == '#'))) to--;
        if (to > at) extract_add(search, at, to);
    }
}

static void extract_find_code(struct search *search) {
    const char *from, *to;
    while (search->remaining > 0 && extract_next_line(search, &from, &to)) {
        if (!extract_is_fence(from, to)) continue;
        const char *language = extract_skip_blanks(from, to) + 3, *begin = search->at, *end = begin;
        const char *word = language;
        while (word < to && !extract_is_space(*word)) word++;
        while (extract_next_line(search, &from, &to) && !extract_is_fence(from, to)) end = to;
        if (search->remaining-- <= 0) return;
        tn.value->begin(search->out, TN_OBJECT);
        tn_put_take(search->out, "language", tn_text_n(language, (uint64_t)(word - language)));
        tn_put_take(search->out, "text", tn_text_n(begin, (uint64_t)(end - begin)));
        tn.value->end(search->out);
    }
}

/* ---- JSON ---- */

/* Returns the end of the array or object at `at`. NULL if its bracket is not closed. */
static const char *extract_json_end(const char *at, const char *end) {
    int64_t depth = 0;
    bool quoted = false;
    for (; at < end; at++) {
        if (quoted) {
            if (*at == '\\') at++;
            if (at < end && *at == '"') quoted = false;
        } else if (*at == '"') {
            quoted = true;
        } else if (*at == '{' || *at == '[') {
            depth++;
        } else if ((*at == '}' || *at == ']') && --depth == 0) {
            return at + 1;
        }
    }
    return NULL;
}

#define JSON_TRIES_MAX 100 /* positions at which a value could begin */

/* Returns the first JSON value in a text, a new reference. NULL if there is none. */
static tn_value extract_find_json(const char *text, uint64_t length) {
    const char *end = text + length;
    tn_value value = tn_from_json(text, length);
    for (int tries = 0; value == NULL && text < end && tries < JSON_TRIES_MAX; text++) {
        if (*text != '{' && *text != '[') continue;
        const char *stop = extract_json_end(text, end);
        tries++;
        if (stop != NULL) value = tn_from_json(text, (uint64_t)(stop - text));
    }
    return value;
}

/* ---- Paths ---- */

/* Reads one segment of a JSON Pointer into `name`, unescaped, and moves *at behind it. False if it does not fit. */
static bool extract_pointer_read_segment(const char **at, char *name, size_t size) {
    size_t length = 0;
    for (++*at; **at != '\0' && **at != '/'; ++*at) {
        char c = **at;
        if (c == '~' && ((*at)[1] == '0' || (*at)[1] == '1')) c = *++*at == '0' ? '~' : '/';
        if (length + 1 >= size) return false;
        name[length++] = c;
    }
    name[length] = '\0';
    return true;
}

/* Returns the value, borrowed. NULL if it does not exist. */
static tn_value extract_pointer_lookup(tn_value value, const char *pointer) {
    char name[1024];
    while (*pointer != '\0' && value != NULL) {
        if (!extract_pointer_read_segment(&pointer, name, sizeof name)) return NULL;
        if (tn.value->kind(value) == TN_ARRAY) {
            uint64_t index = 0, digits = 0;
            for (; extract_is_digit(name[digits]) && digits < 10; digits++)
                index = index * 10 + (uint64_t)(name[digits] - '0');
            value = digits > 0 && name[digits] == '\0' ? tn.value->at(value, index) : NULL;
        } else {
            value = tn_get(value, name);
        }
    }
    return value;
}

static int32_t extract_paths(tn_task task, tn_value from, tn_value paths) {
    uint64_t length = 0;
    const char *text = tn_chars(from, &length);
    tn_value data = text != NULL ? extract_find_json(text, length) : tn_retain(from), key, path;
    if (data == NULL)
        return tn_fail(task, "PARSE", "`from` is a text without JSON; `paths` need data: use `what` instead");
    tn_builder *out = tn_builder_new();
    tn.value->begin(out, TN_OBJECT);
    for (uint64_t i = 0; tn.value->entry(paths, i, &key, &path) == TN_OK; i++) {
        tn_value value = extract_pointer_lookup(data, tn_chars(path, NULL));
        tn_put_key_take(out, key, value != NULL ? tn_retain(value) : tn_null());
    }
    tn.value->end(out);
    tn_release(data);
    return tn_done_take(task, tn_finish(out));
}

/* ---- The tool ---- */

static void extract_find_headings(struct search *search) { extract_find_lines(search, true); }
static void extract_find_items(struct search *search) { extract_find_lines(search, false); }

static const struct {
    const char *what;
    void (*find)(struct search *search);
} searches[] = {{"links", extract_find_links},       {"emails", extract_find_emails}, {"numbers", extract_find_numbers},
                {"headings", extract_find_headings}, {"items", extract_find_items},   {"code", extract_find_code}};

static int32_t extract_create(tn_value config, tn_binder *binder, void **self) {
    (void)config, (void)binder;
    *self = NULL;
    return TN_OK;
}

static int32_t extract_start(void *self, tn_task task, tn_value input) {
    tn_value from = tn_get(input, "from"), paths = tn_get(input, "paths");
    const char *what = tn_get_text(input, "what", "");
    uint64_t length = 0;
    const char *text = tn_chars(from, &length);
    char message[128];
    (void)self;
    if (tn.value->kind(paths) == TN_OBJECT) return extract_paths(task, from, paths);
    if (text == NULL) {
        (void)snprintf(message, sizeof message, "`what` needs a text, but `from` is %s; use `paths` instead",
                       tn_kind_name(from));
        return tn_fail(task, "INVALID_INPUT", message);
    }
    if (strcmp(what, "json") == 0) {
        tn_value value = extract_find_json(text, length);
        return tn_done_take(task, value != NULL ? value : tn_null());
    }
    for (size_t i = 0; i < sizeof searches / sizeof *searches; i++) {
        if (strcmp(searches[i].what, what) != 0) continue;
        struct search search = {text, text + length, tn_builder_new(), tn_get_int(input, "limit", 1000)};
        tn.value->begin(search.out, TN_ARRAY);
        searches[i].find(&search);
        tn.value->end(search.out);
        return tn_done_take(task, tn_finish(search.out));
    }
    return tn_fail(task, "INVALID_INPUT", "`what` or `paths` is missing; expected one of them");
}

TN_COMPONENT(extract, "extract", extract_create, extract_start, NULL, NULL, NULL)
