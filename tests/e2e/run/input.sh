# --input, and a document from standard input.
run tenon run "$hello" --input '{"name": "Ada"}'
expect_code 0 && expect_out "$result" && quiet
printf '{"name": "Ada"}' >input.json
run tenon run "$hello" --input @input.json
expect_out "$result"
run bash -c '"$TENON" run "$1" -i - <input.json' - "$hello"
expect_out "$result"
run bash -c '"$TENON" run - <"$1" --set name=Ada' - "$hello"
expect_out "$result"
run bash -c '"$TENON" run <(cat "$1") --set name=Ada' - "$hello"
expect_out "$result"
run tenon run -qsname=Ada -- "$hello"
expect_out "$result"
run tenon run "$hello" --set=name=Eve --set name=Ada
expect_out "$result"

run tenon run "$hello" --input '{"nam": 1}'
expect_code 1 && once 'did you mean `name`?' && expect_out ""
run tenon run "$hello" --input '{"name": '
expect_code 2 && once "--input: found the end of the text, expected a value, at line 1, column 10"
run tenon run "$hello" --input @absent.json
expect_code 2 && once "cannot open absent.json: No such file or directory"
run tenon run "$hello" --input @.
expect_code 2 && once "Is a directory"
run tenon run - --input -
expect_code 2 && once "standard input is already used for the document; give --input a file"
cat >schema.yaml <<'YAML'
version: "1.0"
input: {type: object, properties: {n: {type: integer, minimum: 1}}, required: [n]}
channels: [{name: n, type: last_value}]
nodes: [{id: only, type: passthrough}]
edges: [{from: START, to: only}, {from: only, to: END}]
YAML
run tenon run schema.yaml --set n=0
expect_code 1 && once "at /n" && expect_in err "found the number 0" && expect_in err "[INVALID_INPUT]"
run tenon run schema.yaml
expect_code 1 && once 'missing property `n`' && expect_in err "[INVALID_INPUT]"
run tenon run schema.yaml --set n=1
expect_code 0 && expect_out '{"n":1}'
