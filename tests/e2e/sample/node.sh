# samples/node: its README's commands, in process and isolated, and the mistakes that it and the host find in a configuration.
install_tenon
cp -r "$SOURCE/samples/node" node
cd node
readme_commands README.md "sh build" >build.sh
quietly sh -eu build.sh
readme_commands README.md "sh run" >run.sh
[ "$(wc -l <run.sh)" = 2 ] || fails "the README runs the sample in process and isolated"
while read -r command; do
    # shellcheck disable=SC2086 # the command of the README, in words
    run $command
    expect_code 0 && expect_out "$(cat expected.json)"
done <run.sh
[ -n "$SANITIZE" ] || { run tenon plugin check build/acme-lists.so && expect_code 0 && expect_not_in out warning && expect_not_in err warning; }

# mistake LINE COLUMN FOUND: with LINE instead of the line with the same key, `check` reports FOUND in this line and column.
mistake() {
    local key=${1%%:*} line
    sed "s|^      $key: .*|      $1|" talks.yaml >wrong.yaml
    line=$(grep -n "^      $key:" wrong.yaml | cut -d: -f1)
    for isolate in "" "--isolate acme.lists"; do
        # shellcheck disable=SC2086
        run tenon check wrong.yaml --plugins build $isolate
        expect_code 3 && expect_in err "wrong.yaml:$line:$2: error" && expect_in err "$3"
    done
}
mistake 'last: 0' 13 '`first` is 1, so `last` must be at least 1; found 0' # what the plugin refuses
mistake 'last: many' 13 'expected an integer'
mistake 'score: item.votes +' 26 'the expression ends where a value is expected'
mistake 'line: "{rang}. {item}"' 15 'unknown variable `rang`'
mistake 'text_key: repart' 17 'did you mean `report`?'

# An expression that reads the whole state has the same one in a separate process.
sed "s/^      score: .*/      score: size(state) + item.votes/" talks.yaml >whole.yaml
for isolate in "" "--isolate acme.lists"; do
    # shellcheck disable=SC2086
    run tenon run whole.yaml --plugins build --input @talks.json $isolate
    expect_code 0 && expect_in out '1. Joints without glue: 13 points'
done

# What only a run can find fails the node with the reason.
run tenon run talks.yaml --plugins build --input '{"talks": [{"votes": "many", "tags": []}]}'
expect_code 1 && expect_in err "[EXPRESSION_ERROR]"
run tenon run talks.yaml --plugins build --input '{"talks": 7}'
expect_code 1 && expect_in err 'the channel of `input_key` must hold an array [TYPE]'
