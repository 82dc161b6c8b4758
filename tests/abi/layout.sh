#!/bin/sh
# The layout that plugins were compiled with never changes: offsets and constants are those of the golden files, in both
# languages, with both compilers, and also with packed structs and short enums.
#   layout.sh --update writes the golden files: for a new interface, never for a released one.
set -eu
: "${SOURCE:=$(cd "$(dirname "$0")/../.." && pwd)}"
here=$SOURCE/tests/abi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

constants() { # object-like macros of the released headers and of notes, whose values are part of the contract
    printf '#include <tenon/%s.h>\n' note eval host http poll registry tool | gcc -dM -E -I"$SOURCE/sdk/include" -include tenon.h - |
        sed -n 's/^#define \(TN_[A-Z0-9_]*\) \(.*\)$/\1 \2/p' | grep -vE '^(TN_EXPORT|TN_ABI|TN_NOTE_UNPADDED) ' | LC_ALL=C sort
}

if [ "${1-}" = --update ]; then
    gcc -I"$SOURCE/sdk/include" -o "$work/layout" "$here/layout.c" && "$work/layout" >"$here/layout.expected"
    constants >"$here/constants.expected"
    exit
fi

constants >"$work/constants"
diff -u "$here/constants.expected" "$work/constants" || status=1
try() {
    "$@" -I"$SOURCE/sdk/include" -o "$work/layout" "$work/layout.c"
    "$work/layout" >"$work/offsets"
    diff -u "$here/layout.expected" "$work/offsets" || { echo "with: $*"; status=1; }
}
cp "$here/layout.c" "$work/layout.c"
for compiler in gcc clang; do
    command -v $compiler >/dev/null || continue
    try $compiler
    try $compiler -fshort-enums -fpack-struct=1
    try $compiler -x c++ -fshort-enums -fpack-struct=1
done
exit $status
