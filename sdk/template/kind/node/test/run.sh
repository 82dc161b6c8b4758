#!/bin/sh
# run.sh TENON PLUGIN: runs words.yaml with the plugin, in the host's process and isolated, and compares the result with
# expected.json.
set -eu
plugin=$(realpath "$2")
cd "$(dirname "$0")"
for isolate in "" "--isolate @ID@"; do
    # shellcheck disable=SC2086
    result=$("$1" run words.yaml --no-config --plugins "$plugin" $isolate --input '{"text": "a tenon simply fits"}')
    [ "$result" = "$(cat expected.json)" ] || { echo "found:    $result"; echo "expected: $(cat expected.json)"; exit 1; }
done
