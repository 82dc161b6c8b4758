# Clients of others: acpx and the SDK for TypeScript from npm, and the SDK for Python. Installed once, into the build directory.
# Each part is left out if its packages cannot be installed.
[ "${TENON_NPM:-}" != off ] || skips "TENON_NPM=off"
cat >client.yaml <<'Y'
version: "1.0"
agent: {name: client}
models: {default: {provider: scripted, replies: [{content: "", tool_calls: [{id: c1, name: test.tally, arguments: {}}]}, "Done: {last}"]}}
channels: [{name: messages, type: reduce, reducer: messages}]
nodes: [{id: a, type: agent, config: {messages_key: messages, tools: ["*"]}}]
edges: [{from: START, to: a}, {from: a, to: END}]
Y
left_out=()

if npm_install acpx @agentclientprotocol/sdk && node24; then
    run timeout 120 "$node24" "$modules/acpx/dist/cli.js" --agent "$TENON acp client.yaml --plugins $TEST_NODES" \
        --approve-all --json-strict --format json exec hello
    expect_code 0 && expect_in out '"stopReason":"end_turn"' && expect_in out '"optionId":"allow_once"' && expect_in out 'tallied 1'
    run timeout 120 "$node24" "$modules/acpx/dist/cli.js" --agent "$TENON acp client.yaml --plugins $TEST_NODES" \
        --deny-all --json-strict --format json exec hello
    expect_in out 'the person has rejected it'
    run timeout 120 "$node24" "$SOURCE/tests/acp/sdk_client.mjs" "$modules" "$TENON" acp client.yaml --plugins "$TEST_NODES"
    expect_code 0
else
    left_out+=("$(tail -n 1 "$work/npm.log")")
fi

if python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' && pip_install acp agent-client-protocol==0.12.1; then
    run timeout 120 "$python" "$SOURCE/tests/acp/python_client.py" "$TENON" acp client.yaml --plugins "$TEST_NODES"
    expect_code 0
else
    left_out+=("pip could not install agent-client-protocol: $(tail -n 1 "$work/pip.log")")
fi
[ ${#left_out[@]} -lt 2 ] || skips "${left_out[*]}"
[ ${#left_out[@]} -eq 0 ] || echo "left out: ${left_out[*]}"
