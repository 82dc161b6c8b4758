# Standard streams that are closed, full, or abandoned by their reader.
for options in '' --json '--batch many.jsonl'; do
    # shellcheck disable=SC2086
    run bash -c '"$TENON" run "$@" >/dev/full' - "$hello" $options
    expect_code 1 && once "cannot write to standard output: No space left on device"
    # shellcheck disable=SC2086
    run bash -c '"$TENON" run "$@" >&-' - "$hello" $options
    expect_code 1 && once "cannot write to standard output: Bad file descriptor"
done
run bash -c '"$TENON" run "$1" --set name=Ada <&-' - "$hello"
expect_code 0 && expect_out "$result"
run bash -c '"$TENON" run "$1" --set name=Ada 2>&-' - "$hello"
expect_code 0 && expect_out "$result"
run bash -c '"$TENON" run - <&-'
expect_code 2 && once "cannot read standard input"
graph slow delay '{ms: 600000}'
run bash -c 'set -o pipefail; timeout 60 "$TENON" run loop.yaml --json --run-config "{\"recursion_limit\": 9000000}" | head -n 1'
expect_code 1 && once "Broken pipe"
