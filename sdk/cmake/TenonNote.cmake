# Writes OUTPUT, a C file that embeds the JSON file INPUT as a note of a plugin's manifest (see <tenon/note.h>).
# As bytes, so that neither the compiler's limits on literals nor its escapes matter.
cmake_minimum_required(VERSION 3.25)
file(READ ${INPUT} json)
string(JSON kind ERROR_VARIABLE error TYPE "${json}")
if(error)
  message(FATAL_ERROR "${INPUT}: not JSON: ${error}")
elseif(NOT kind STREQUAL OBJECT)
  message(FATAL_ERROR "${INPUT}: a manifest is an object; found ${kind}")
endif()
file(READ ${INPUT} hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR size "${digits} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REPEAT "0x[0-9a-f][0-9a-f]," 20 line)
string(REGEX REPLACE "(${line})" "\\1\n    " bytes "${bytes}")
file(WRITE ${OUTPUT} "/* Made from ${INPUT}. */
#include <tenon/note.h>

static const struct {
    uint32_t name_size, json_size, type;
    char owner[8];
    unsigned char json[(${size}u + 3u) & ~3u];
} note __attribute__((section(TN_NOTE_SECTION), used, aligned(4))) TN_NOTE_UNPADDED = {
    sizeof(TN_NOTE_OWNER), ${size}u, TN_NOTE_TYPE, TN_NOTE_OWNER, {
    ${bytes}}};
")
