#!/bin/sh
# symbols.sh FILE.so...: a plugin exports its entry and nothing else, and imports from nothing but the C library (and
# the sanitizers' runtime, in such a build): no symbol of the host. LIBRARY: a pattern of what a library of the plugin's
# own has.
set -eu
export LC_ALL=C
status=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Sanitizers take over functions of the C library, which then carry no version: their names are what counts.
for library in libc.so.6 libm.so.6; do
    nm -D --defined-only "$(gcc -print-file-name=$library)" | awk '{sub(/@.*/, "", $3); print $3}'
done | sort -u >"$work/libc"
for plugin in "$@"; do
    exported=$(nm -D --defined-only "$plugin" | awk '{print $3}')
    [ "$exported" = tn_plugin_entry_1 ] || { echo "$plugin exports: $exported"; status=1; }
    imported=$(nm -D --undefined-only "$plugin" | awk '{sub(/@.*/, "", $2); print $2}' | sort -u |
        comm -23 - "$work/libc" |
        grep -vE "^(_ITM_.*|__gmon_start__|_Unwind_.*|__(asan|ubsan|tsan|sanitizer|gcov)_.*|${LIBRARY:-__none__})\$" || true)
    [ -z "$imported" ] || { echo "$plugin imports:"; echo "$imported"; status=1; }
    unique=$(readelf --dyn-syms -W "$plugin" | grep -w UNIQUE || true)
    [ -z "$unique" ] || { echo "$plugin has unique symbols: $unique"; status=1; }
done
[ $# -gt 0 ] || { echo "no plugins were given"; exit 1; }
exit $status
