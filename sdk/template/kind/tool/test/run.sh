#!/bin/sh
# run.sh TENON PLUGIN: calls the tool, in the host's process and isolated, and compares the result.
set -eu
plugin=$(realpath "$2")
for isolate in "" "--isolate @ID@"; do
    # shellcheck disable=SC2086
    result=$("$1" tool call @ID@.repeat '{"text": "fits", "times": 3}' --no-config --plugins "$plugin" $isolate)
    [ "$result" = '["fits","fits","fits"]' ] || { echo "found: $result"; exit 1; }
    # shellcheck disable=SC2086
    if "$1" tool call @ID@.repeat '{"text": "", "times": 101}' --no-config --plugins "$plugin" $isolate 2>error.log; then
        echo "101 times were not refused"
        exit 1
    fi
    grep -q "times" error.log || { cat error.log; exit 1; }
done
rm error.log
