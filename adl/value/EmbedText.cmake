# Writes OUTPUT, a C file with the bytes of the file INPUT: `const char NAME_text[]` (NUL-terminated), `const unsigned
# NAME_length`, and `const unsigned char NAME_sha256[32]`. It writes bytes, which avoids escapes and the limit on the
# length of literals.
cmake_minimum_required(VERSION 3.25)
file(READ ${INPUT} hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR size "${digits} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
string(REPEAT "'.x[0-9a-f][0-9a-f]'," 16 line)
string(REGEX REPLACE "(${line})" "\\1\n    " bytes "${bytes}")
file(SHA256 ${INPUT} sum)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," sum "${sum}")
file(WRITE ${OUTPUT} "/* Generated from ${INPUT}. */
extern const char ${NAME}_text[];
extern const unsigned ${NAME}_length;
extern const unsigned char ${NAME}_sha256[];
const char ${NAME}_text[] = {
    ${bytes}0};
const unsigned ${NAME}_length = ${size};
const unsigned char ${NAME}_sha256[] = {${sum}};
")
