/*
 * language.c - `text.language`: guesses the language of a text, as {language, confidence}.
 *
 * If the script decides, it is used: kana is Japanese, Hangul Korean, Cyrillic counts as Russian, Han without kana as
 * Chinese. Otherwise the words of the text are compared with the commonest words of each language. The result is good
 * for a paragraph and a guess for a line. It is "und" if the language cannot be determined.
 */
#include "text.h"
#include <tenon/easy.h>

/* Words that are common in one language and rare in the others, separated by blanks. */
static const struct {
    const char *code, *words;
} languages[] = {
    {"en", " the and you your is are was for with not this that have has my our please from been can would it i we "},
    {"de", " der die das und ist nicht ich sie mit für auf eine einen mein meine wir bitte habe haben wurde zu den dem "
           "von es "},
    {"es", " el los las una por para con que no mi su es está pero desde he hemos gracias quiero ha muy del me se "},
    {"fr",
     " le les des une est pour avec dans je vous nous pas que sur mon ma votre merci ai été bonjour ne ce du et "},
    {"it", " il gli una per con che non mio sono è ho grazie della nel questo di ma anche vorrei "},
    {"pt", " os uma para com que não meu minha é está obrigado você por foi mas ainda do da em "},
};
#define LANGUAGES (sizeof(languages) / sizeof(languages[0]))

/* Searches the word with a blank at both ends, so that only whole words match. */
static void count_word(const struct text *word, int counts[LANGUAGES]) {
    struct text spaced = {0};
    text_add_byte(&spaced, ' ');
    text_add(&spaced, text_string(word), word->length);
    text_add_byte(&spaced, ' ');
    for (size_t i = 0; i < LANGUAGES && !spaced.failed; i++)
        if (strstr(languages[i].words, spaced.at) != NULL) counts[i]++;
    text_free(&spaced);
}

static bool is_word(uint32_t c) {
    return (c < 0x80 && is_letter((char)c)) || (c >= 0xc0 && c <= 0x24f && c != 0xd7 && c != 0xf7);
}

static const char *guess(const char *text, size_t length, double *confidence) {
    struct {
        int letters, kana, han, hangul, cyrillic;
    } seen = {0};
    int counts[LANGUAGES] = {0}, total = 0;
    struct text word = {0};
    size_t size;
    for (size_t i = 0; i < length; i += size) {
        uint32_t c = utf8_lower(utf8_at(text + i, length - i, &size));
        seen.kana += c >= 0x3041 && c <= 0x30ff;
        seen.han += c >= 0x4e00 && c <= 0x9fff;
        seen.hangul += c >= 0xac00 && c <= 0xd7a3;
        seen.cyrillic += c >= 0x400 && c <= 0x4ff;
        if (is_word(c)) {
            seen.letters++;
            text_add_code_point(&word, c);
        }
        if ((!is_word(c) || i + size >= length) && word.length > 0) {
            count_word(&word, counts);
            word.length = 0;
        }
    }
    text_free(&word);
    int others = seen.kana + seen.han + seen.hangul + seen.cyrillic;
    if (others * 3 > seen.letters && others > 0) {
        *confidence = (double)others / (others + seen.letters);
        if (seen.hangul * 2 > others) return "ko";
        if (seen.cyrillic * 2 > others) return "ru";
        return seen.kana > 0 ? "ja" : "zh";
    }
    size_t best = 0;
    for (size_t i = 0; i < LANGUAGES; i++) {
        total += counts[i];
        if (counts[i] > counts[best]) best = i;
    }
    *confidence = total > 0 ? (double)counts[best] / total : 0;
    return total > 0 ? languages[best].code : "und";
}

TN_NODE(language, "text.language", "Guesses the language of a text.", TN_PURE, (READ, input_key, "the text's channel"),
        (WRITE, output_key, "gets {language, confidence}: a code of ISO 639-1 or und, and 0 to 1")) {
    uint64_t length;
    double confidence;
    tn_value text = tn_read_text(task, config->input_key);
    if (text == NULL) return TN_FAILED;
    const char *chars = tn_chars(text, &length);
    const char *code = guess(chars, length, &confidence);
    tn_release(text);
    tn_builder *result = tn_builder_new();
    tn.value->begin(result, TN_OBJECT);
    tn_put_text(result, "language", code);
    tn_put_num(result, "confidence", (double)(int)(confidence * 100 + 0.5) / 100);
    tn.value->end(result);
    return tn_done_written(task, tn_write_take(task, config->output_key, tn_finish(result)));
}
