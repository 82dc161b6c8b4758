# Exit codes, and what is written to standard output and to standard error.
run tenon run boom.yaml
expect_code 1 && expect_out "" && once 'node `only`: nothing left [SOLD_OUT]'
graph waits test.ask '{out: a}'
run tenon run waits.yaml --plugins "$TEST_NODES"
expect_code 5 && expect_out '{"a":null,"b":null}' && expect_in err "waiting for an answer: node only asks: may I? (id "
expect_in err 'a run without a thread is not saved and cannot be continued later' # thread/paste.sh runs what it suggests
run tenon run
expect_code 2
run tenon run "$hello" "$hello"
expect_code 2
graph aborts test.aborts '{}'
run tenon run aborts.yaml --no-such-option
expect_code 2
graph declines test.declines '{}'
run tenon run declines.yaml --plugins "$TEST_PLUGINS/declines"
expect_code 4 && once "declines.so" && expect_in err "[PLUGIN_REFUSED]" && expect_out ""
# Every command reports a mistake in the configuration with the same code.
echo 'stor: {}' >mistaken.yaml
for command in "run $hello" "tool list" "task list" "thread list" "thread show t" "thread delete t" "thread answer t a=1"; do
    # shellcheck disable=SC2086
    run tenon $command --config mistaken.yaml
    expect_code 4 && once "[INVALID_CONFIG]"
done
# A component's text cannot control the terminal.
run tenon run rude.yaml
expect_code 1 && once "<U+001B>[31mred second<U+000D>line"
! LC_ALL=C grep -q "$(printf '[\001-\011\013-\037]')" "$work/err" || fails "standard error contains control characters"
