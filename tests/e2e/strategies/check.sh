# tenon check --strategy, alone and in a host that runs. (tests/corpus/strategies has the diagnostics.)
run tenon check --strategy tenon:pdca "$SOURCE/plugins/strategies/notify/notify.yaml"
expect_code 0 && expect_in err 'no problems found'
run tenon check --strategy tenon:hello
expect_code 3 && expect_in err ADL-E071 && expect_in err ADL-E074
run tenon check tenon:hello
expect_code 0
# A document with other mistakes has these reported, too.
cat >wrong.yaml <<'YAML'
version: "1.0"
output: {type: object, properties: {user_output: {type: string}, task_state: {enum: [ok]}}}
channels: [{name: user_output, type: last_value}, {name: task_state, type: last_value}]
nodes: [{id: a, type: pasthrough}]
edges: [{from: START, to: a}, {from: a, to: END}]
YAML
run tenon check --strategy wrong.yaml --json
expect_code 3
for code in ADL-E031 ADL-E071 ADL-E075; do expect_in out "\"$code\""; done
serve_start host --socket s
for options in '' --strategy; do
    # shellcheck disable=SC2086 # no word, or one
    run tenon check wrong.yaml $options --json
    own=$code
    cp "$work/out" own.out
    # shellcheck disable=SC2086
    run tenon check wrong.yaml $options --json --connect s
    expect_code "$own" && { cmp -s own.out "$work/out" || fails "the host that runs finds something else"; }
done
run tenon call document/check '{"document": "tenon:hello", "strategy": true}' --connect s
expect_code 0 && expect_in out '"valid":false'
run tenon call document/check '{"document": "tenon:hello"}' --connect s
expect_code 0 && expect_in out '"valid":true'
serve_stop
