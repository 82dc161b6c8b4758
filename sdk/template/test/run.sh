#!/bin/sh
# run.sh TENON PLUGIN: runs words.yaml with the plugin, and compares the result with expected.json.
set -eu
cd "$(dirname "$0")"
result=$("$1" run words.yaml --no-config --plugins "$2" --input '{"text": "a tenon simply fits"}')
[ "$result" = "$(cat expected.json)" ] || { echo "found:    $result"; echo "expected: $(cat expected.json)"; exit 1; }
