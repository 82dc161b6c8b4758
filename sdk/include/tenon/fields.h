/*
 * tenon/fields.h - the preprocessor code that expands the declared fields of a component, for tenon/easy.h.
 *
 * (INT, count, "how many") becomes a member of the body's struct, a row of the table that fills it, a property of the
 * JSON Schema in the manifest, and a place in its list of required names. A new kind of field needs one line in each
 * of the five blocks. Do not use it directly: the macros of tenon/easy.h call everything here.
 */
#ifndef TENON_FIELDS_H
#define TENON_FIELDS_H

/* clang-format off */

/* A declared field is first made uniform: TYPE, REQ | OR | OPT, name, default, description. */
#define TN_EASY_UNIFORM(kind, ...)      TN_EASY_OF_##kind(__VA_ARGS__)
#define TN_EASY_OF_INT(n, d)            INT, REQ, n, 0, d
#define TN_EASY_OF_INT_OR(n, v, d)      INT, OR, n, v, d
#define TN_EASY_OF_NUM(n, d)            NUM, REQ, n, 0, d
#define TN_EASY_OF_NUM_OR(n, v, d)      NUM, OR, n, v, d
#define TN_EASY_OF_BOOL(n, d)           BOOL, REQ, n, 0, d
#define TN_EASY_OF_BOOL_OR(n, v, d)     BOOL, OR, n, v, d
#define TN_EASY_OF_TEXT(n, d)           TEXT, REQ, n, NULL, d
#define TN_EASY_OF_TEXT_OR(n, v, d)     TEXT, OR, n, v, d
#define TN_EASY_OF_TEXT_OPT(n, d)       TEXT, OPT, n, NULL, d
#define TN_EASY_OF_FILE(n, d)           FILE, REQ, n, NULL, d
#define TN_EASY_OF_FILE_OR(n, v, d)     FILE, OR, n, v, d
#define TN_EASY_OF_FILE_OPT(n, d)       FILE, OPT, n, NULL, d
#define TN_EASY_OF_VALUE(n, d)          VALUE, REQ, n, NULL, d
#define TN_EASY_OF_VALUE_OPT(n, d)      VALUE, OPT, n, NULL, d
#define TN_EASY_OF_READ(n, d)           READ, REQ, n, NULL, d
#define TN_EASY_OF_READ_OR(n, v, d)     READ, OR, n, v, d
#define TN_EASY_OF_READ_OPT(n, d)       READ, OPT, n, NULL, d
#define TN_EASY_OF_WRITE(n, d)          WRITE, REQ, n, NULL, d
#define TN_EASY_OF_WRITE_OR(n, v, d)    WRITE, OR, n, v, d
#define TN_EASY_OF_WRITE_OPT(n, d)      WRITE, OPT, n, NULL, d
#define TN_EASY_OF_EXPR(n, d)           EXPR, REQ, n, NULL, d
#define TN_EASY_OF_EXPR_OR(n, v, d)     EXPR, OR, n, v, d
#define TN_EASY_OF_EXPR_OPT(n, d)       EXPR, OPT, n, NULL, d
#define TN_EASY_OF_TEMPLATE(n, d)       TEMPLATE, REQ, n, NULL, d
#define TN_EASY_OF_TEMPLATE_OR(n, v, d) TEMPLATE, OR, n, v, d
#define TN_EASY_OF_TEMPLATE_OPT(n, d)   TEMPLATE, OPT, n, NULL, d
#define TN_EASY_OF_MODEL(n, d)          MODEL, REQ, n, NULL, d
#define TN_EASY_OF_MODEL_OR(n, v, d)    MODEL, OR, n, v, d
#define TN_EASY_OF_MODEL_OPT(n, d)      MODEL, OPT, n, NULL, d
#define TN_EASY_OF_TOOL(n, d)           TOOL, REQ, n, NULL, d
#define TN_EASY_OF_TOOL_OR(n, v, d)     TOOL, OR, n, v, d
#define TN_EASY_OF_TOOL_OPT(n, d)       TOOL, OPT, n, NULL, d

/* What a field is in the struct; */
#define TN_EASY_MEMBER(state, field)           TN_EASY_CALL(TN_EASY_MEMBER_OF, TN_EASY_UNIFORM field)
#define TN_EASY_MEMBER_OF(type, need, n, v, d) TN_EASY_MEMBER_##type(n)
#define TN_EASY_MEMBER_INT(n)                  int64_t n;
#define TN_EASY_MEMBER_NUM(n)                  double n;
#define TN_EASY_MEMBER_BOOL(n)                 int32_t n;
#define TN_EASY_MEMBER_TEXT(n)                                                                                         \
    const char *n;                                                                                                     \
    uint64_t n##_length;
#define TN_EASY_MEMBER_FILE(n)     TN_EASY_MEMBER_TEXT(n)
#define TN_EASY_MEMBER_VALUE(n)    tn_value n;
#define TN_EASY_MEMBER_READ(n)     uint32_t n;
#define TN_EASY_MEMBER_WRITE(n)    uint32_t n;
#define TN_EASY_MEMBER_EXPR(n)     uint32_t n;
#define TN_EASY_MEMBER_TEMPLATE(n) uint32_t n;
#define TN_EASY_MEMBER_MODEL(n)    uint32_t n;
#define TN_EASY_MEMBER_TOOL(n)     uint32_t n;

/* in the table of fields, with its default in the column of its type; */
#define TN_EASY_FIELD(owner, field) TN_EASY_CALL(TN_EASY_FIELD_OF, owner, TN_EASY_UNIFORM field)
#define TN_EASY_FIELD_OF(owner, type, need, n, v, d)                                                                   \
    {TN_EASY_TEXT(n), TN_EASY_##type, TN_EASY_FROM(uint32_t, offsetof(owner, n)), TN_EASY_DEFAULT_##type(v)},
#define TN_EASY_DEFAULT_INT(v)      v, 0, NULL
#define TN_EASY_DEFAULT_NUM(v)      0, v, NULL
#define TN_EASY_DEFAULT_BOOL(v)     v, 0, NULL
#define TN_EASY_DEFAULT_TEXT(v)     0, 0, v
#define TN_EASY_DEFAULT_FILE(v)     0, 0, v
#define TN_EASY_DEFAULT_VALUE(v)    0, 0, v
#define TN_EASY_DEFAULT_READ(v)     0, 0, v
#define TN_EASY_DEFAULT_WRITE(v)    0, 0, v
#define TN_EASY_DEFAULT_EXPR(v)     0, 0, v
#define TN_EASY_DEFAULT_TEMPLATE(v) 0, 0, v
#define TN_EASY_DEFAULT_MODEL(v)    0, 0, v
#define TN_EASY_DEFAULT_TOOL(v)     0, 0, v

/*
 * and in the schema. Texts are written as they are (TN_NOTE_RAW). Numbers are made JSON by stringizing, so that one in
 * another form than JSON's is rejected by TN_EASY_CHECK below.
 */
#define TN_EASY_PROPERTY(comma, field) comma TN_EASY_CALL(TN_EASY_PROPERTY_OF, TN_EASY_UNIFORM field)
#define TN_EASY_PROPERTY_OF(type, need, n, v, d)                                                                       \
    "\"" TN_EASY_TEXT(n) "\":{\"description\":" TN_NOTE_RAW(d) TN_EASY_SCHEMA_##type TN_EASY_PRESET_##need(type, v) "}"
#define TN_EASY_SCHEMA_INT          ",\"type\":\"integer\""
#define TN_EASY_SCHEMA_NUM          ",\"type\":\"number\""
#define TN_EASY_SCHEMA_BOOL         ",\"type\":\"boolean\""
#define TN_EASY_SCHEMA_TEXT         ",\"type\":\"string\""
#define TN_EASY_SCHEMA_FILE         ",\"type\":\"string\",\"x-tenon\":\"file\""
#define TN_EASY_SCHEMA_VALUE        ""
#define TN_EASY_SCHEMA_READ         ",\"type\":\"string\",\"x-tenon\":\"channel-read\""
#define TN_EASY_SCHEMA_WRITE        ",\"type\":\"string\",\"x-tenon\":\"channel-write\""
#define TN_EASY_SCHEMA_EXPR         ",\"type\":\"string\",\"x-tenon\":\"expression\""
#define TN_EASY_SCHEMA_TEMPLATE     ",\"type\":\"string\",\"x-tenon\":\"template\""
#define TN_EASY_SCHEMA_MODEL        ",\"type\":\"string\",\"x-tenon\":\"model\""
#define TN_EASY_SCHEMA_TOOL         ",\"type\":\"string\",\"x-tenon\":\"tool\""
#define TN_EASY_PRESET_REQ(type, v) ""
#define TN_EASY_PRESET_OPT(type, v) ""
#define TN_EASY_PRESET_OR(type, v)  ",\"default\":" TN_EASY_PRESET_##type(v)
#define TN_EASY_PRESET_INT(v)       TN_EASY_TEXT(v)
#define TN_EASY_PRESET_NUM(v)       TN_EASY_TEXT(v)
#define TN_EASY_PRESET_BOOL(v)      TN_EASY_PASTE(TN_EASY_TRUTH_, v)
#define TN_EASY_PRESET_TEXT(v)      TN_NOTE_RAW(v)
#define TN_EASY_PRESET_FILE(v)      TN_NOTE_RAW(v)
#define TN_EASY_PRESET_READ(v)      TN_NOTE_RAW(v)
#define TN_EASY_PRESET_WRITE(v)     TN_NOTE_RAW(v)
#define TN_EASY_PRESET_EXPR(v)      TN_NOTE_RAW(v)
#define TN_EASY_PRESET_TEMPLATE(v)  TN_NOTE_RAW(v)
#define TN_EASY_PRESET_MODEL(v)     TN_NOTE_RAW(v)
#define TN_EASY_PRESET_TOOL(v)      TN_NOTE_RAW(v)
#define TN_EASY_TRUTH_0             "false"
#define TN_EASY_TRUTH_1             "true"
#define TN_EASY_TRUTH_false         "false"
#define TN_EASY_TRUTH_true          "true"

#define TN_EASY_REQUIRED(comma, field)                  TN_EASY_CALL(TN_EASY_REQUIRED_OF, comma, TN_EASY_UNIFORM field)
#define TN_EASY_REQUIRED_OF(comma, type, need, n, v, d) TN_EASY_REQUIRED_##need(comma, n)
#define TN_EASY_REQUIRED_REQ(comma, n)                  comma "\"" TN_EASY_TEXT(n) "\""
#define TN_EASY_REQUIRED_OR(comma, n)
#define TN_EASY_REQUIRED_OPT(comma, n)
#define TN_EASY_REQUIRED_NEXT(comma, field) TN_EASY_CALL(TN_EASY_REQUIRED_NEXT_OF, comma, TN_EASY_UNIFORM field)
#define TN_EASY_REQUIRED_NEXT_OF(comma, type, need, n, v, d) TN_EASY_REQUIRED_NEXT_##need(comma)
#define TN_EASY_REQUIRED_NEXT_REQ(comma)                     ","
#define TN_EASY_REQUIRED_NEXT_OR(comma)                      comma
#define TN_EASY_REQUIRED_NEXT_OPT(comma)                     comma

/*
 * The checks of a field, at compile time. C has no constant expression for a character of a literal, but both compilers
 * evaluate memcmp: TN_EASY_IN(t, i, a, b) is whether character i of the text t is one of a to b.
 */
#define TN_EASY_CHECK(state, field) TN_EASY_CALL(TN_EASY_CHECK_OF, TN_EASY_UNIFORM field)
#define TN_EASY_CHECK_OF(type, need, n, v, d)                                                                          \
    TN_EASY_ASSERT(__builtin_strlen(d) + 1 == sizeof(d), "a description has no U+0000");                               \
    TN_EASY_CHECK_##need(type, v)
/* Id and title. */
#define TN_EASY_CHECK_NAMES(id, title)                                                                                 \
    TN_EASY_CHECK_LINE(id, "an id")                                                                                    \
    TN_EASY_CHECK_LINE(title, "a title")
#define TN_EASY_CHECK_NUL(text, what)                                                                                  \
    TN_EASY_ASSERT(__builtin_strlen(text) + 1 == sizeof(text), what " has no U+0000");
/* A line has no control characters. clang cannot look for them at compile time; `tenon plugin check` does. */
#if defined(__clang__)
#define TN_EASY_CHECK_LINE(text, what) TN_EASY_CHECK_NUL(text, what)
#else
#define TN_EASY_CHECK_LINE(text, what)                                                                                 \
    TN_EASY_CHECK_NUL(text, what)                                                                                      \
    TN_EASY_ASSERT(__builtin_strcspn(text, TN_EASY_CONTROLS) == __builtin_strlen(text),                                \
                   what " has no line ends and no other control characters");
#define TN_EASY_CONTROLS                                                                                               \
    "\001\002\003\004\005\006\007\010\011\012\013\014\015\016\017\020\021\022\023\024\025\026\027\030\031\032\033"      \
    "\034\035\036\037\177"
#endif
#define TN_EASY_CHECK_REQ(type, v)
#define TN_EASY_CHECK_OPT(type, v)
#define TN_EASY_CHECK_OR(type, v) TN_EASY_CHECK_##type(v)
#define TN_EASY_CHECK_INT(v)                                                                                           \
    TN_EASY_ASSERT(TN_EASY_IS_INT(TN_EASY_TEXT(v)),                                                                    \
                   "write the default of an INT as a decimal number of at most 19 digits, or a macro that is one");    \
    TN_EASY_ASSERT(TN_EASY_FITS(TN_EASY_TEXT(v), TN_EASY_IS(TN_EASY_TEXT(v), 0, "-") ? 1 : 0),                         \
                   "the default of an INT is from -9223372036854775807 to 9223372036854775807");
#define TN_EASY_CHECK_NUM(v)                                                                                           \
    TN_EASY_ASSERT(TN_EASY_IS_NUM(TN_EASY_TEXT(v)),                                                                    \
                   "write the default of a NUM as JSON does: 0.5, not .5; 1.0, not 1. or 1.0f; 16, not 0x10");         \
    TN_EASY_ASSERT(__builtin_isfinite((v) + 0.0), "the default of a NUM is at most 1.7976931348623157e308");
#define TN_EASY_CHECK_BOOL(v)
#define TN_EASY_CHECK_TEXT(v)     TN_EASY_ASSERT(__builtin_strlen(v) + 1 == sizeof(v), "a default has no U+0000");
#define TN_EASY_CHECK_FILE(v)     TN_EASY_CHECK_TEXT(v)
#define TN_EASY_CHECK_READ(v)     TN_EASY_CHECK_TEXT(v)
#define TN_EASY_CHECK_WRITE(v)    TN_EASY_CHECK_TEXT(v)
#define TN_EASY_CHECK_EXPR(v)     TN_EASY_CHECK_TEXT(v)
#define TN_EASY_CHECK_TEMPLATE(v) TN_EASY_CHECK_TEXT(v)
#define TN_EASY_CHECK_MODEL(v)    TN_EASY_CHECK_TEXT(v)
#define TN_EASY_CHECK_TOOL(v)     TN_EASY_CHECK_TEXT(v)

/* Texts are padded, so that every index exists. */
#define TN_EASY_PAD(t)         (t "                        ")
#define TN_EASY_IN(t, i, a, b)                                                                                         \
    (__builtin_memcmp(&TN_EASY_PAD(t)[i], a, 1) >= 0 && __builtin_memcmp(&TN_EASY_PAD(t)[i], b, 1) <= 0)
#define TN_EASY_IS(t, i, c)    (__builtin_memcmp(&TN_EASY_PAD(t)[i], c, 1) == 0)
#define TN_EASY_DIGIT(t, i)    TN_EASY_IN(t, i, "0", "9")
#define TN_EASY_SIGN(t, i)     (TN_EASY_IS(t, i, "+") || TN_EASY_IS(t, i, "-"))
#define TN_EASY_EXP(t, i)      (TN_EASY_IS(t, i, "e") || TN_EASY_IS(t, i, "E"))
#define TN_EASY_PAST(t, i)     ((i) + 0u >= __builtin_strlen(t))
/* The digits begin at 0, or at 1 after a minus, and a leading 0 is the only digit before a point or an exponent. */
#define TN_EASY_STARTS(t)                                                                                              \
    (TN_EASY_IS(t, 0, "-") ? TN_EASY_LEADS(t, 1) : TN_EASY_LEADS(t, 0))
#define TN_EASY_LEADS(t, i)    (TN_EASY_DIGIT(t, i) && !(TN_EASY_IS(t, i, "0") && TN_EASY_DIGIT(t, (i) + 1)))
#define TN_EASY_INT_AT(t, i)   (TN_EASY_PAST(t, i) || TN_EASY_DIGIT(t, i))
#define TN_EASY_NUM_AT(t, i)                                                                                           \
    (TN_EASY_INT_AT(t, i) ||                                                                                           \
     (TN_EASY_IS(t, i, ".") && TN_EASY_DIGIT(t, (i) - 1) && TN_EASY_DIGIT(t, (i) + 1)) ||                              \
     (TN_EASY_EXP(t, i) && TN_EASY_DIGIT(t, (i) - 1) && (TN_EASY_DIGIT(t, (i) + 1) || TN_EASY_SIGN(t, (i) + 1))) ||    \
     (TN_EASY_SIGN(t, i) && TN_EASY_EXP(t, (i) - 1) && TN_EASY_DIGIT(t, (i) + 1)))
#define TN_EASY_ALL(at, t)                                                                                             \
    (at(t, 1) && at(t, 2) && at(t, 3) && at(t, 4) && at(t, 5) && at(t, 6) && at(t, 7) && at(t, 8) && at(t, 9) &&       \
     at(t, 10) && at(t, 11) && at(t, 12) && at(t, 13) && at(t, 14) && at(t, 15) && at(t, 16) && at(t, 17) &&           \
     at(t, 18) && at(t, 19))
#define TN_EASY_IS_INT(t) (TN_EASY_STARTS(t) && __builtin_strlen(t) <= 20 && TN_EASY_ALL(TN_EASY_INT_AT, t))
/* The number after the sign, which begins at i, is at most INT64_MAX. */
#define TN_EASY_FITS(t, i)                                                                                             \
    (__builtin_strlen(t) < 19u + (i) || (__builtin_strlen(t) == 19u + (i) &&                                           \
                                         __builtin_memcmp(&TN_EASY_PAD(t)[i], "9223372036854775807", 19) <= 0))
#define TN_EASY_IS_NUM(t) (TN_EASY_STARTS(t) && __builtin_strlen(t) <= 20 && TN_EASY_ALL(TN_EASY_NUM_AT, t))

/* Tools get arguments, not names of the graph. */
#define TN_EASY_PLAIN(state, field) TN_EASY_CALL(TN_EASY_PLAIN_OF, TN_EASY_UNIFORM field)
#define TN_EASY_PLAIN_OF(type, need, n, v, d)                                                                          \
    TN_EASY_ASSERT(TN_EASY_##type < TN_EASY_READ, "a tool's argument is INT, NUM, BOOL, TEXT, FILE or VALUE");

#define TN_EASY_STRING(comma, text) comma TN_NOTE_RAW(text)
#define TN_EASY_COMMA(state, item)  ","
#define TN_EASY_KEEP(state, item)   state
#define TN_EASY_TEXT(text)          TN_EASY_TEXT_(text)
#define TN_EASY_TEXT_(text)         #text
#define TN_EASY_PASTE(a, b)         TN_EASY_PASTE_(a, b)
#define TN_EASY_PASTE_(a, b)        a##b
#define TN_EASY_CALL(macro, ...)    macro(__VA_ARGS__)
#define TN_EASY_FIRST(first, ...)   first

/*
 * EACH(macro, next, state, skipped, items…): macro(state, item) for every item, state becoming next(state, item). The
 * first argument after state is skipped, so that the list is never empty.
 */
#define TN_EASY_EACH(m, next, s, ...)                                                                                  \
    TN_EASY_PASTE(TN_EASY_EACH_,                                                                                       \
                  TN_EASY_COUNT(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0))             \
    (m, next, s, __VA_ARGS__)
#define TN_EASY_COUNT(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, count, ...) count
#define TN_EASY_EACH_0(m, next, s, k)
#define TN_EASY_EACH_1(m, next, s, k, x)       m(s, x)
#define TN_EASY_EACH_2(m, next, s, k, x, ...)  m(s, x) TN_EASY_EACH_1(m, next, next(s, x), x, __VA_ARGS__)
#define TN_EASY_EACH_3(m, next, s, k, x, ...)  m(s, x) TN_EASY_EACH_2(m, next, next(s, x), x, __VA_ARGS__)
#define TN_EASY_EACH_4(m, next, s, k, x, ...)  m(s, x) TN_EASY_EACH_3(m, next, next(s, x), x, __VA_ARGS__)
#define TN_EASY_EACH_5(m, next, s, k, x, ...)  m(s, x) TN_EASY_EACH_4(m, next, next(s, x), x, __VA_ARGS__)
#define TN_EASY_EACH_6(m, next, s, k, x, ...)  m(s, x) TN_EASY_EACH_5(m, next, next(s, x), x, __VA_ARGS__)
#define TN_EASY_EACH_7(m, next, s, k, x, ...)  m(s, x) TN_EASY_EACH_6(m, next, next(s, x), x, __VA_ARGS__)
#define TN_EASY_EACH_8(m, next, s, k, x, ...)  m(s, x) TN_EASY_EACH_7(m, next, next(s, x), x, __VA_ARGS__)
#define TN_EASY_EACH_9(m, next, s, k, x, ...)  m(s, x) TN_EASY_EACH_8(m, next, next(s, x), x, __VA_ARGS__)
#define TN_EASY_EACH_10(m, next, s, k, x, ...) m(s, x) TN_EASY_EACH_9(m, next, next(s, x), x, __VA_ARGS__)
#define TN_EASY_EACH_11(m, next, s, k, x, ...) m(s, x) TN_EASY_EACH_10(m, next, next(s, x), x, __VA_ARGS__)
#define TN_EASY_EACH_12(m, next, s, k, x, ...) m(s, x) TN_EASY_EACH_11(m, next, next(s, x), x, __VA_ARGS__)
#define TN_EASY_EACH_13(m, next, s, k, x, ...) m(s, x) TN_EASY_EACH_12(m, next, next(s, x), x, __VA_ARGS__)
#define TN_EASY_EACH_14(m, next, s, k, x, ...) m(s, x) TN_EASY_EACH_13(m, next, next(s, x), x, __VA_ARGS__)
#define TN_EASY_EACH_15(m, next, s, k, x, ...) m(s, x) TN_EASY_EACH_14(m, next, next(s, x), x, __VA_ARGS__)
#define TN_EASY_EACH_16(m, next, s, k, x, ...) m(s, x) TN_EASY_EACH_15(m, next, next(s, x), x, __VA_ARGS__)

/* clang-format on */

#endif
