#!/bin/sh
# libabigail reads the types of the contract from debug information, and compares them with surface.abi. Then the test
# proves that it would find a change.
#   abidiff.sh --update writes surface.abi: for a new interface, never for a released one.
set -eu
: "${SOURCE:=$(cd "$(dirname "$0")/../.." && pwd)}"
here=$SOURCE/tests/abi
command -v abidiff >/dev/null && command -v abidw >/dev/null || {
    echo "skipped: abidiff is not installed (the package abigail-tools)"
    exit 77
}
[ "$(getconf LONG_BIT)" = 64 ] || { echo "skipped: surface.abi is of a machine with 64 bits"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# compile COMPILER INCLUDES OUT: compiles in $work, so that the debug information contains no path of this machine.
cp "$here/surface.c" "$work/surface.c"
compile() { (cd "$work" && "$1" -g -O0 -shared -fPIC -I"$2" -I"$SOURCE/sdk/include" -o "$3" surface.c); }

if [ "${1-}" = --update ]; then
    compile gcc "$SOURCE/sdk/include" surface.so
    abidw --no-corpus-path --no-comp-dir-path --no-show-locs --no-architecture "$work/surface.so" >"$here/surface.abi"
    exit
fi

# Every struct and every named function type is present.
for type in $(cd "$SOURCE/sdk/include" && cat tenon.h tenon/eval.h tenon/host.h tenon/http.h tenon/poll.h tenon/registry.h tenon/tool.h |
    gcc -w -fpreprocessed -dD -E -P -x c - |
    sed -n 's/^} \(tn_[a-z_0-9]*\);$/\1/p; s/^typedef .*TN_FN(\(tn_[a-z_0-9]*\))(.*/\1/p; s/^typedef .*(TN_ABI \*\(tn_[a-z_0-9]*\))(.*/\1/p'); do
    grep -qE "^TN_EXPORT $type surface_" "$here/surface.c" || { echo "surface.c has no object of $type"; status=1; }
done

# Exit codes are bits: 1 and 2 for a failed comparison, 4 for a difference, 8 for an incompatible difference.
differs() { # object: 0 where it differs from surface.abi
    code=0
    abidiff --no-architecture --no-show-locs --harmless "$here/surface.abi" "$1" >"$work/report" 2>&1 || code=$?
    [ $((code & 3)) = 0 ] || { echo "abidiff could not compare (status $code):"; cat "$work/report"; exit 1; }
    [ "$code" != 0 ]
}

for compiler in gcc clang; do
    command -v $compiler >/dev/null || continue
    compile $compiler "$SOURCE/sdk/include" surface.so
    differs "$work/surface.so" || continue
    echo "the contract has changed, says $compiler:"
    cat "$work/report"
    status=1
done

# A change would be found: each one alone, in a copy of the header without the header's own assertions.
mkdir "$work/changed"
finds() { # what, sed script
    sed '/^TN_SLOTS(/d' "$SOURCE/sdk/include/tenon.h" >"$work/before.h"
    sed -E "$2" "$work/before.h" >"$work/changed/tenon.h"
    cmp -s "$work/before.h" "$work/changed/tenon.h" && { echo "nothing changed with $1"; status=1; return; }
    compile gcc "$work/changed" changed.so
    differs "$work/changed.so" || { echo "not found: $1"; status=1; }
}
finds "a member appended" 's/^\} tn_lifecycle_1;/    void TN_FN(more)(void *self);\n&/'
finds "a member taken away" '/TN_FN\(unpost\)/d'
finds "two members exchanged" 's/TN_FN\(begin\)/TN_FN(swap)/; s/TN_FN\(end\)/TN_FN(begin)/; s/TN_FN\(swap\)/TN_FN(end)/'
finds "two members of one type exchanged" 's/TN_FN\(bind_read\)/TN_FN(swap)/; s/TN_FN\(bind_write\)/TN_FN(bind_read)/; s/TN_FN\(swap\)/TN_FN(bind_write)/'
finds "an argument more" 's/TN_FN\(cancelled\)\(tn_task task\)/TN_FN(cancelled)(tn_task task, int32_t now)/'
finds "a wider argument" 's/uint32_t callee, tn_value input, tn_value options, tn_value \*out/uint64_t callee, tn_value input, tn_value options, tn_value *out/'
finds "another result" 's/uint64_t TN_FN\(count\)/int64_t TN_FN(count)/'
finds "a narrower token" 's/^typedef uint64_t tn_task;/typedef uint32_t tn_task;/'
finds "another callback" 's/TN_FN\(tn_call_handler\)\(void \*user, int32_t status/TN_FN(tn_call_handler)(void *user, int64_t status/'
finds "a narrower size" 's/^    uint64_t size; .*sizeof\(tn_host\).*/    uint32_t size, more;/'
exit $status
