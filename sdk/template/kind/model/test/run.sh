#!/bin/sh
# run.sh TENON PLUGIN: asks the model, in the host's process and isolated: the answer, and the deltas that are streamed.
set -eu
plugin=$(realpath "$2")
cd "$(dirname "$0")"
for isolate in "" "--isolate @ID@"; do
    # shellcheck disable=SC2086
    result=$("$1" run chat.yaml --no-config --plugins "$plugin" $isolate --stream messages --input '{"messages": "a tenon fits"}' 2>deltas.log)
    case $result in *'"You said: a tenon fits"'*) ;; *) echo "found: $result"; exit 1 ;; esac
    pieces=$(grep -c '"delta":{"content":' deltas.log) || pieces=0
    [ "$pieces" -eq 5 ] || { echo "expected five deltas, found:"; cat deltas.log; exit 1; }
done
rm deltas.log
