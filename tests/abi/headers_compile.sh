#!/bin/sh
# Every header of the SDK compiles alone, in every language and with every compiler that it supports, without a warning.
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

knows() { echo 'int main(void) { return 0; }' | $1 -x "$3" -std="$2" -fsyntax-only - 2>/dev/null; }

for header in $(cd "$SOURCE/sdk/include" && find . -name '*.h' | sed 's|^\./||' | sort); do
    # Twice, to test the include guards. The typedef: an empty translation unit is not ISO C.
    printf '#include <%s>\n#include <%s>\ntypedef int unit;\n' "$header" "$header" >"$work/one.c"
    cp "$work/one.c" "$work/one.cc"
    for compiler in gcc clang; do
        command -v $compiler >/dev/null || continue
        for standard in c99 c11 c17 c2x; do
            knows $compiler $standard c && try $compiler $standard "$c" "$work/one.c" "$header"
        done
    done
    for compiler in g++ clang++; do
        command -v $compiler >/dev/null || continue
        for standard in c++11 c++17 c++20; do
            knows $compiler $standard c++ && try $compiler $standard "$cxx" "$work/one.cc" "$header"
        done
    done
done

# The same for what the macros of easy.h expand to.
cp "$SOURCE/tests/abi/fields.c" "$work/fields.cc"
for compiler in gcc clang; do
    command -v $compiler >/dev/null || continue
    for standard in c99 c11 c17 c2x; do
        knows $compiler $standard c && try $compiler $standard "$c" "$SOURCE/tests/abi/fields.c" "the macros of easy.h"
    done
    for standard in c++11 c++20; do
        knows $compiler $standard c++ && try "$compiler" $standard "$cxx" "$work/fields.cc" "the macros of easy.h"
    done
done
[ $tried -gt 0 ] || { echo "no compiler was found"; exit 1; }
echo "$tried compilations"
exit $status
