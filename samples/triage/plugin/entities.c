/*
 * entities.c - `text.entities`: finds the entities in a text, as a list of {kind, text}.
 *
 * At the start of every word, the recognisers are tried in order; the first match consumes its characters. Recognised:
 * e-mail addresses, web addresses, dates (2024-05-31), sums of money (€ 12,50; 30 USD) and reference numbers
 * (ORD-20391). Each is reported once.
 */
#include "text.h"
#include <tenon/easy.h>

#define ENTITIES_MAX 100
#define ENTITY_BYTES 200

static bool is_word_char(char c) { return is_letter(c) || is_digit(c); }

static size_t digits(const char *at) {
    size_t count = 0;
    while (is_digit(at[count])) count++;
    return count;
}

/* Each recogniser returns the length of the entity at `at` in bytes, or 0 if there is no match. */

static size_t web_address(const char *at) {
    size_t length = strncmp(at, "https://", 8) == 0 ? 8 : strncmp(at, "http://", 7) == 0 ? 7 : 0, start = length;
    if (length == 0) return 0;
    while (at[length] > ' ' && at[length] < 0x7f && strchr("<>\"'", at[length]) == NULL) length++;
    while (length > start && strchr(".,;:!?)]", at[length - 1]) != NULL) length--;
    return length > start ? length : 0;
}

static size_t mail_address(const char *at) {
    size_t name = 0, length;
    while (is_word_char(at[name]) || (name > 0 && at[name] != '\0' && strchr("._+-", at[name]) != NULL)) name++;
    if (name == 0 || at[name] != '@') return 0;
    length = name + 1;
    while (is_word_char(at[length]) || at[length] == '-' || at[length] == '.') length++;
    while (at[length - 1] == '.' || at[length - 1] == '-') length--;
    return memchr(at + name, '.', length - name) != NULL ? length : 0;
}

static size_t date(const char *at) {
    bool fits = digits(at) == 4 && at[4] == '-' && digits(at + 5) == 2 && at[7] == '-' && digits(at + 8) == 2;
    return fits ? 10 : 0;
}

static size_t amount_number(const char *at) {
    size_t length = digits(at);
    while (length > 0 && (at[length] == '.' || at[length] == ',') && digits(at + length + 1) > 0)
        length += 1 + digits(at + length + 1);
    return length;
}

static size_t currency(const char *at) {
    static const char *const signs[] = {"€", "$", "£", "¥", "EUR", "USD", "GBP", "JPY", "CHF", "円"};
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        size_t length = strlen(signs[i]);
        if (strncmp(at, signs[i], length) == 0 && !(is_letter(signs[i][0]) && is_word_char(at[length]))) return length;
    }
    return 0;
}

static size_t money(const char *at) {
    size_t sign = currency(at), blank = at[sign] == ' ', number = amount_number(at + sign + blank);
    if (sign > 0) return number > 0 ? sign + blank + number : 0;
    number = amount_number(at);
    if (number == 0) return 0;
    blank = at[number] == ' ';
    sign = currency(at + number + blank);
    return sign > 0 ? number + blank + sign : 0;
}

static size_t reference(const char *at) {
    size_t letters = 0;
    while (at[letters] >= 'A' && at[letters] <= 'Z') letters++;
    if (letters < 2 || letters > 5 || at[letters] != '-') return 0;
    size_t count = digits(at + letters + 1);
    return count >= 3 && !is_letter(at[letters + 1 + count]) ? letters + 1 + count : 0;
}

static const struct {
    const char *kind;
    size_t (*match)(const char *at);
} recognisers[] = {
    {"url", web_address}, {"email", mail_address}, {"date", date}, {"amount", money}, {"reference", reference},
};

static bool known(char (*found)[ENTITY_BYTES], int count, const char *at, size_t length) {
    for (int i = 0; i < count; i++)
        if (strlen(found[i]) == length && memcmp(found[i], at, length) == 0) return true;
    return false;
}

static void add_entities(tn_builder *list, const char *text) {
    char found[ENTITIES_MAX][ENTITY_BYTES];
    int count = 0;
    for (const char *at = text; *at != '\0' && count < ENTITIES_MAX;) {
        size_t length = 0, i = 0;
        bool starts = at == text || !is_word_char(at[-1]);
        while (starts && i < sizeof(recognisers) / sizeof(recognisers[0]) && (length = recognisers[i].match(at)) == 0)
            i++;
        if (length == 0 || length >= ENTITY_BYTES) {
            at += length > 0 ? length : 1;
            continue;
        }
        if (!known(found, count, at, length)) {
            memcpy(found[count], at, length);
            found[count][length] = '\0';
            tn_put_begin(list, NULL, TN_OBJECT);
            tn_put_text(list, "kind", recognisers[i].kind);
            tn_put_text(list, "text", found[count++]);
            tn.value->end(list);
        }
        at += length;
    }
}

TN_NODE(entities, "text.entities", "Finds addresses, dates, sums of money and reference numbers.", TN_PURE,
        (READ, input_key, "the text's channel"), (WRITE, output_key, "gets a list of {kind, text}")) {
    tn_value text = tn_read_text(task, config->input_key);
    if (text == NULL) return TN_FAILED;
    tn_builder *list = tn_builder_new();
    tn.value->begin(list, TN_ARRAY);
    add_entities(list, tn_chars(text, NULL));
    tn.value->end(list);
    tn_release(text);
    return tn_done_written(task, tn_write_take(task, config->output_key, tn_finish(list)));
}
