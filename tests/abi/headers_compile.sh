#!/bin/sh
# Every header of the SDK compiles without a warning: alone, with the oldest standard of each language, and all together with
# every standard and every compiler that it supports.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
tried=0
common="-fsyntax-only -I$SOURCE/sdk/include -Werror -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
    -Wpointer-arith -Wcast-qual -Wcast-align -Wwrite-strings -Wformat=2 -Wundef -Wvla -Wmissing-declarations"
c="-Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wdeclaration-after-statement"
cxx="-Wold-style-cast -Wnon-virtual-dtor -Woverloaded-virtual"

try() { # compiler, standard, warnings of the language, file, what it is
    tried=$((tried + 1))
    $1 -std=$2 $common $3 "$4" 2>"$work/errors" && return
    echo "$5 with $1 -std=$2:"
    cat "$work/errors"
    status=1
}

# The standards that the compiler knows, of those given: compiler, language, standards
known() {
    for standard in $3; do
        echo 'int main(void) { return 0; }' | $1 -x "$2" -std="$standard" -fsyntax-only - 2>/dev/null && echo "$standard"
    done
    true
}

# Twice, to test the include guards. The typedef: an empty translation unit is not ISO C.
headers=$(cd "$SOURCE/sdk/include" && find . -name '*.h' | sed 's|^\./||' | sort)
for header in $headers; do
    printf '#include <%s>\n#include <%s>\ntypedef int unit;\n' "$header" "$header" >"$work/$(echo "$header" | tr / _).c"
done
printf '#include <%s>\n' $headers >"$work/all"
cp "$work/all" "$work/all.cc"
mv "$work/all" "$work/all.c"

# each: compiler, language, suffix, warnings, standards of each header alone, standards of all together
each() {
    command -v "$1" >/dev/null || return 0
    for standard in $(known "$1" "$2" "$5"); do
        for header in $headers; do
            file=$work/$(echo "$header" | tr / _)
            [ "$3" = .c ] || cp "$file.c" "$file$3"
            try "$1" "$standard" "$4" "$file$3" "$header"
        done
    done
    for standard in $(known "$1" "$2" "$6"); do try "$1" "$standard" "$4" "$work/all$3" "all headers"; done
}
each gcc c .c "$c" c99 "c99 c11 c17 c2x"
each clang c .c "$c" "" "c99 c11 c17 c2x"
each g++ c++ .cc "$cxx" "" "c++11 c++17 c++20"
each clang++ c++ .cc "$cxx" "" "c++11 c++17 c++20"

# The same for what the macros of easy.h expand to.
cp "$SOURCE/tests/abi/fields.c" "$work/fields.cc"
for compiler in gcc clang; do
    command -v $compiler >/dev/null || continue
    for standard in $(known $compiler c "c99 c11 c17 c2x"); do
        try $compiler $standard "$c" "$SOURCE/tests/abi/fields.c" "the macros of easy.h"
    done
    for standard in $(known $compiler c++ "c++11 c++20"); do
        try "$compiler" $standard "$cxx" "$work/fields.cc" "the macros of easy.h"
    done
done
# What a manifest cannot hold is rejected with a message, also where libc has a macro _Static_assert.
cat >"$work/wrong.c" <<'C'
#include <tenon/easy.h>
TN_PLUGIN("test.wrong", "1.0.0", TITLE)
TN_TOOL(wrong, ID, "One", EFFECT, (INT_OR, count, COUNT, "d"), (NUM_OR, ratio, RATIO, "d")) { return tn_done(task); }
C
cp "$work/wrong.c" "$work/wrong.cc"
rejects() { # message, definitions: every compiler rejects it; without a message, none does
    local message=$1 compiler file
    shift
    for compiler in "gcc -std=c99" "gcc -std=c11" "clang -std=c99" "clang -std=c17" "g++ -std=c++11" "clang++ -std=c++20"; do
        command -v ${compiler%% *} >/dev/null || continue
        file=wrong.c
        case $compiler in *++*) file=wrong.cc ;; esac
        tried=$((tried + 1))
        if $compiler -fsyntax-only -I"$SOURCE/sdk/include" '-DTITLE="T"' '-DID="test.one"' -DEFFECT=TN_PURE -DCOUNT=1 \
            -DRATIO=0.5 "$@" "$work/$file" 2>"$work/errors"; then
            [ -z "$message" ] || { echo "$compiler accepts: $*"; status=1; }
        else
            grep -qF "${message:-no error}" "$work/errors" || { echo "$compiler $*:"; cat "$work/errors"; status=1; }
        fi
    done
}
rejects "" -UCOUNT -DCOUNT=9223372036854775807 -URATIO -DRATIO=1.7e308 -UEFFECT '-DEFFECT=TN_EFFECTS("clock", "fs.read:/a b")'
rejects "" -UCOUNT -DCOUNT=-9223372036854775807 -URATIO -DRATIO=-5
for number in 9223372036854775808 -9223372036854775808 9999999999999999999 12345678901234567890; do
    rejects "the default of an INT is from -9223372036854775807" -UCOUNT -DCOUNT=$number
done
rejects "write the default of an INT as a decimal number" -UCOUNT -DCOUNT=0x10
rejects "the default of a NUM is at most" -URATIO -DRATIO=1e999
rejects "a title has no U+0000" -UTITLE '-DTITLE="a\0b"'
rejects "an id has no U+0000" -UID '-DID="a.b\0c"'
rejects "an effect has no U+0000" -UEFFECT '-DEFFECT=TN_EFFECTS("a\0b")'

[ $tried -gt 0 ] || { echo "no compiler was found"; exit 1; }
echo "$tried compilations"
exit $status
