# With --thread: another process continues the conversation.
if [ -e "$BINARY/lib/tenon/plugins/sqlite.so" ]; then
    echo '{}' >tenon.yaml
    said='a\n'
    run talk echo.yaml --thread ada
    expect_code 0 && expect_out "you said a, calm"
    said='b\n'
    run talk echo.yaml --thread ada --json
    expect_in out '"messages":[{"type":"user","content":"b"'
    run tenon thread state ada
    expect_in out '"content":"a"' && expect_in out '"you said b, calm"'
    said='which?\n'
    run talk agent.yaml --thread bob
    expect_code 5 && expect_not_in err "not sent"
    said='which, then?\n'
    run talk agent.yaml --thread bob
    id=$("$TENON" thread show bob --json | sed -n 's/.*"interrupts":\[{"id":"\([0-9a-f]*\)".*/\1/p')
    expect_code 5 && expect_in err "1 more line was not sent"
    expect_in err "answer with: tenon thread answer bob $id=yes && tenon chat agent.yaml --thread bob"
    # Arguments that the tool would reject are an error for the user, not for the model.
    run tenon thread answer bob "$id={\"approved\": true, \"arguments\": {\"from\": \"x\", \"what\": \"linkz\"}}"
    expect_code 1 && expect_in err "at /arguments/what" && expect_in err "INVALID_INPUT"
    run tenon run agent.yaml --thread bob --resume --answer "$id={\"approved\": true, \"arguments\": {\"what\": \"links\"}}"
    expect_code 1 && expect_in err 'missing property `from`'
    run tenon thread answer bob "$id={\"approved\": false, \"reason\": \"no links\"}"
    expect_code 0
    said=''
    run talk agent.yaml --thread bob
    expect_code 0 && expect_in out "One link." && expect_in err "✗ extract" && expect_in err "no links"
    [ "$(cut -c 1-5 "$work/err" | tr '\n' ' ')" = "→ e ✗ e " ] || fails "expected the call, and then its result"
    run talk agent.yaml --thread bob
    expect_code 0 && expect_out "" && expect_not_in err "extract"
    # A turn that failed does not block the thread, and is not part of the conversation.
    said='bad\ngood\n'
    run talk fails.yaml --thread eve
    expect_code 1 && expect_out "$(printf 'first\nsecond\nfirst\nsecond\nn1')" && expect_not_in err UNFINISHED
    run tenon thread state eve
    expect_in out '"n1"' && expect_not_in out '"bad"'
    said='bad\n'
    run talk fails.yaml --thread adam
    expect_code 1
    said='good\n' # the unfinished turn of the other process is resumed, and fails again
    run talk fails.yaml --thread adam
    expect_code 1 && expect_in out n1 && expect_not_in err UNFINISHED
    run tenon thread state adam
    expect_not_in out '"bad"'
    # The commands that messages suggest can be pasted.
    pasted() { sed -n 's/^tenon: [^:]* with[^:]*: \(tenon .*\)$/\1/p' "$work/err" | tail -n 1; }
    paste() { run bash -c 'tenon() { "$TENON" "$@"; }; '"$(pasted)"; }
    mkdir 'my plugins'
    said='which?\n'
    run talk agent.yaml --thread pat --plugins 'my plugins'
    expect_code 5 && expect_in err "=yes --plugins 'my plugins' && tenon chat agent.yaml --plugins 'my plugins' --thread pat"
    paste
    expect_code 0 && expect_out "One link."
    sed 's/^nodes: \[/&{id: first, type: passthrough}, /; s/to: agent/to: first}, {from: first, to: agent/' auto.yaml >changed.yaml
    said='thanks\n'
    run talk changed.yaml --thread pat
    expect_code 1 && expect_in err GRAPH_CHANGED
    expect_in err "continue with the changed document: tenon chat changed.yaml --thread pat --accept-changes"
    run talk changed.yaml --thread pat --accept-changes
    expect_code 0 && expect_not_in err GRAPH_CHANGED
    run talk changed.yaml --accept-changes
    expect_code 2 && expect_in err "--accept-changes needs --thread ID"
fi
# The first turn fails, and is discarded with the messages of --set: the next one has them again.
said='bad\ngood\n'
run talk fails.yaml --thread first --set messages='[{"type": "system", "content": "be brief"}]'
run tenon thread state first
expect_in out '"be brief"' && expect_in out '"good"' && expect_not_in out '"bad"'
