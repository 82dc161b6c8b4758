# Writes OUTPUT, a C file with the bytes of the file INPUT: `const char NAME_text[]` (NUL-terminated) and
# `const unsigned NAME_length`. As bytes, so that neither escapes nor the longest literal matter.
cmake_minimum_required(VERSION 3.25)
file(READ ${INPUT} hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR size "${digits} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
string(REPEAT "0x[0-9a-f][0-9a-f]," 20 line)
string(REGEX REPLACE "(${line})" "\\1\n    " bytes "${bytes}")
file(WRITE ${OUTPUT} "/* Made from ${INPUT}. */
extern const char ${NAME}_text[];
extern const unsigned ${NAME}_length;
const char ${NAME}_text[] = {
    ${bytes}0};
const unsigned ${NAME}_length = ${size};
")
