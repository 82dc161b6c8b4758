/*
 * tenon/note.h - pieces of a plugin's manifest, as ELF notes that are read without running any of its code.
 *
 * A plugin's manifest is the merge of all notes of owner "Tenon", type 1, in its shared object. Each contains one JSON
 * object, {"plugin": {...}} or {"component": {...}}; components are merged by kind and id, so one may be described in
 * several notes. tenon/easy.h makes the notes for what it declares. Use this macro for other members, and without
 * tenon/easy.h:
 *
 *     TN_NOTE("{\"plugin\": {\"licence\": \"MIT\", \"homepage\": \"https://acme.example/calc\"}}")
 *
 * At file scope, one for each line, in C99 and C++11. Between U+0001 and U+0002 a note may contain a string as it is,
 * without quotes and escapes: TN_NOTE_RAW makes one of a literal, which may have any escapes and may be several joined
 * literals or macros, but no U+0000 to U+0002.
 */
#ifndef TENON_NOTE_H
#define TENON_NOTE_H

#include <stdint.h>

#define TN_NOTE_OWNER   "Tenon"
#define TN_NOTE_TYPE    1
#define TN_NOTE_SECTION ".note.tenon"

#define TN_NOTE_RAW_BEGIN    "\001"
#define TN_NOTE_RAW_END      "\002"
#define TN_NOTE_RAW(literal) TN_NOTE_RAW_BEGIN literal TN_NOTE_RAW_END

/* Address sanitizers pad the variables they guard, which would tear the section apart. */
#if defined(__clang__)
#define TN_NOTE_UNPADDED __attribute__((no_sanitize("address")))
#else
#define TN_NOTE_UNPADDED
#endif

#define TN_NOTE_JOIN_(a, b) a##b
#define TN_NOTE_JOIN(a, b)  TN_NOTE_JOIN_(a, b)

/* `json` is a string literal, whose NUL is part of the note: readers drop NULs at the end. `name` makes the variable's
 * name unique in its file. */
#define TN_NOTE_AS(name, json)                                                                                         \
    __extension__ static const struct {                                                                                \
        uint32_t name_size, json_size, type;                                                                           \
        char owner[(sizeof(TN_NOTE_OWNER) + 3u) & ~3u];                                                                \
        char text[(sizeof(json) + 3u) & ~3u];                                                                          \
    } tn_note_##name __attribute__((section(TN_NOTE_SECTION), used, aligned(4)))                                       \
    TN_NOTE_UNPADDED = {sizeof(TN_NOTE_OWNER), sizeof(json), TN_NOTE_TYPE, TN_NOTE_OWNER, json}

#define TN_NOTE_LINE(line, json) TN_NOTE_AS(line, json)
#define TN_NOTE(json)            TN_NOTE_LINE(__LINE__, json);

#endif
