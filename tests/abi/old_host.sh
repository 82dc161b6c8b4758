# A new plugin on an old host: this host is the old one for plugins that use tenon.task/2. A plugin that requires a missing
# interface is refused before its code runs, with the ids of both sides. A plugin for which it is optional works without it.
for way in REQUIRES DEGRADES DECLINES TRUSTS; do
    mkdir $way
    "${CC:-cc}" -std=c99 -Wall -Wextra -Werror -shared -fPIC -fvisibility=hidden -DWAY=$way -I"$SOURCE/sdk/include" \
        -Wl,--version-script="$SOURCE/sdk/cmake/tenon-plugin.map" -o $way/newer.so "$SOURCE/tests/abi/newer.c" \
        2>"$work/log" || { cat "$work/log" >&2; fails "newer.c"; }
done
cat >newer.yaml <<'YAML'
version: "1.0"
channels: [{name: out, type: last_value}]
nodes: [{id: newer, type: test.newer}]
edges: [{from: START, to: newer}, {from: newer, to: END}]
YAML

# ---- Required ----
for how in "" "--isolate test.newer"; do
    # shellcheck disable=SC2086
    run tenon run newer.yaml --plugins REQUIRES/newer.so $how
    expect_code 4
    expect_in err "plugin \`test.newer\` 2.0.0 needs an interface that this host (Tenon "
    expect_in err "does not offer: \`tenon.task/2\` (this host offers \`tenon.task/1\`)"
    [ "$(grep -c "does not offer" "$work/err")" = 1 ] || fails "expected one message"
    expect_not_in err CRASHED
done
run tenon plugin check REQUIRES/newer.so
expect_code 4 && expect_in err "error[LOAD_REFUSED]" && expect_in err "\`tenon.task/2\` (this host offers \`tenon.task/1\`)"
expect_not_in err CRASHED
run tenon plugin show ./REQUIRES/newer.so # what it is can be read all the same
expect_code 0 && expect_in out "tenon.task/2"

# ---- Optional: drafts are hidden unless they are allowed, so one plugin sees two hosts. ----
for how in "" "--isolate test.newer"; do
    # shellcheck disable=SC2086
    run tenon run newer.yaml --plugins DEGRADES/newer.so $how
    expect_code 0 && expect_out '{"out":"task/1 alone"}'
    # shellcheck disable=SC2086
    run tenon run newer.yaml --plugins DEGRADES/newer.so --allow-drafts $how
    expect_code 0 && expect_out '{"out":"task/1 with graph"}'
    # shellcheck disable=SC2086
    run tenon run newer.yaml --plugins DECLINES/newer.so $how
    expect_code 4 && expect_in err "it needs tenon.graph/1-draft.3 for what it does"
done

# ---- `tenon plugin check` hides each optional interface in turn ----
run tenon plugin check DEGRADES/newer.so --allow-drafts
expect_code 0 && expect_in err "no problems found"
run tenon plugin check DECLINES/newer.so --allow-drafts # to decline is an answer
expect_code 0 && expect_in err 'note[LOAD_REFUSED]' && expect_in err 'with `tenon.graph/1-draft.3` hidden'
run tenon plugin check TRUSTS/newer.so --allow-drafts # a crash is not one
expect_code 4 && expect_in err 'error[CRASHED]' && expect_in err 'with `tenon.graph/1-draft.3` hidden'
