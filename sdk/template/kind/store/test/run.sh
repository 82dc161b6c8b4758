#!/bin/sh
# run.sh TENON PLUGIN: a thread that is saved by one process continues in the next, in the host's process and isolated.
set -eu
plugin=$(realpath "$2")
cd "$(dirname "$0")"
for isolate in "" "--isolate @ID@"; do
    rm -rf saved
    for count in 1 2 3; do
        # shellcheck disable=SC2086
        result=$("$1" run count.yaml --plugins "$plugin" $isolate --thread count)
        [ "$result" = "{\"count\":$count}" ] || { echo "found: $result, expected $count"; exit 1; }
    done
    # shellcheck disable=SC2086
    "$1" thread list --plugins "$plugin" $isolate >list.log
    grep -q count list.log || { cat list.log; exit 1; }
done
rm -rf saved list.log
