#!/bin/sh
# symbols.sh FILE.so...: a plugin exports only its entry point, and imports only from the C library (and from the runtime of
# a sanitizer): no symbol of the host. LIBRARY is a pattern of the symbols of a library that the plugin uses.
set -eu
export LC_ALL=C
status=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Sanitizers replace functions of the C library; these symbols have no version, so only their names are compared.
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
