# tenon.poll: a plugin waits for its pipe, in the host's process, isolated, and in check mode. What it still watches does
# not prevent the run from ending.
cc=${CC:-cc}
"$cc" -shared -fPIC -fvisibility=hidden -D_GNU_SOURCE -I"$SOURCE/sdk/include" \
    -Wl,--version-script="$SOURCE/sdk/cmake/tenon-plugin.map" -o polls.so "$SOURCE/tests/isolate/polls.c" 2>"$work/log" ||
    { cat "$work/log" >&2; fails "polls.c does not compile"; }

document() { # LEAVE
    cat >wait.yaml <<YAML
version: "1.0"
agent: {name: wait}
channels: [{name: out, type: last_value}]
nodes: [{id: wait, type: test.wait, timeout: {total: 30s}, config: {out: out, leave: $1}}]
edges: [{from: START, to: wait}, {from: wait, to: END}]
YAML
}
for leave in false true; do
    document $leave
    for how in "" "--isolate test.polls" --check-plugins; do
        # shellcheck disable=SC2086
        run tenon run wait.yaml --plugins polls.so --allow-drafts $how
        expect_code 0
        expect_out '{"out":"tick tick tick "}'
        expect_not_in err check:
    done
done
