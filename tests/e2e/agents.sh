# The nodes of plugins/agents: samples/agent with an approval by another process, isolated nodes, drawings of the graphs
# inside nodes, and other models for the same document.
check_mode=1
agents=$BINARY/lib/tenon/plugins/agents.so
[ -e "$agents" ] || skips "built without agents"
sample=$SOURCE/samples/agent
flags=
[ -z "${SANITIZE:-}" ] || flags="-fsanitize=$SANITIZE"
# shellcheck disable=SC2086
"$CC" -shared -fPIC $flags -I "$SOURCE/sdk/include" "$sample/calc.c" -o calc.so 2>"$work/err" || fails "calc.c does not compile"
echo 'store: {use: memory}' >memory.yaml
echo 'store: {use: sqlite, path: ./s.db}' >tenon.yaml

# ---- The sample: it calculates, waits for approval, and pays ----
run tenon check "$sample/agent.yaml" --plugins ./calc.so --strict
expect_code 0
if [ -e "$BINARY/lib/tenon/plugins/sqlite.so" ]; then
    for isolate in "" "--isolate tenon.agents"; do
        thread=bill${#isolate}
        # shellcheck disable=SC2086
        run tenon run "$sample/agent.yaml" --plugins ./calc.so --thread "$thread" --json --stream updates $isolate
        expect_code 5
        expect_in out '"content":"DIVISION_BY_ZERO: found 0 as `b`, expected another number"'
        expect_in out '"path":["solve"],"node":"tools"'
        id=$(sed -n 's/.*"interrupts":\[{"id":"\([0-9a-f]*\)".*/\1/p' "$work/out")
        # shellcheck disable=SC2086
        run tenon run "$sample/agent.yaml" --plugins ./calc.so --thread "$thread" --resume --answer "$id=yes" $isolate
        expect_code 0 && expect_in out '"answer":"Everyone owes 23.76; paid 95.04 to the restaurant."'
        expect_in out '"llm_calls":4'
        run tenon replay "$thread" --document "$sample/agent.yaml" --plugins ./calc.so
        expect_code 0
    done
    run tenon run "$sample/agent.yaml" --plugins ./calc.so --thread no --json
    id=$(sed -n 's/.*"interrupts":\[{"id":"\([0-9a-f]*\)".*/\1/p' "$work/out")
    run tenon run "$sample/agent.yaml" --plugins ./calc.so --thread no --resume --answer "$id=no"
    expect_code 0 && expect_in out 'TOOL_DENIED: the call of the tool `calc.pay` was not approved'

    # A thread is pinned to the graph inside an agent, too.
    sed 's/never guess/sometimes guess/' "$sample/agent.yaml" >changed.yaml
    run tenon run changed.yaml --plugins ./calc.so --thread no --set question=again
    expect_code 1 && expect_in err 'node `solve`: `config` has changed'
fi

# ---- The graph inside ----
run tenon graph "$sample/agent.yaml"
expect_code 0 && expect_out '○ START
    ──▶ solve
● solve  (agent)
    ──▶ END'
run tenon graph "$sample/agent.yaml" --inside --plugins ./calc.so
expect_code 0 && expect_in out '◎ inside solve' && expect_in out '● tools  (tools)'
run tenon graph "$sample/agent.yaml" --inside --format mermaid --plugins ./calc.so
expect_code 0 && expect_in out 'subgraph n0_0_["solve"]' && expect_in out 'n0_0_n1["tools"] --> n0_0_n0["agent"]'
run tenon graph "$sample/agent.yaml" --inside --format dot --plugins ./calc.so
expect_code 0 && expect_in out '"solve/tools" -> "solve/agent";'
run tenon graph "$sample/agent.yaml" --inside --format json --plugins ./calc.so
expect_code 0 && expect_in out '"graphs":[{"name":"react","nodes":[{"id":"agent","type":"llm"},{"id":"tools","type":"tools"}]'
run tenon graph "$sample/agent.yaml" --inside
expect_code 3 && expect_in err 'sample.calc'

# ---- Another model, by a flag ----
run tenon run "$sample/agent.yaml" --plugins ./calc.so --set question=hello --config memory.yaml \
    --model '{"provider": "scripted", "replies": ["You said {input}."]}'
expect_code 0 && expect_in out '"answer":"You said hello."'

# ---- Every node has the same results in a separate process ----
cat >all.yaml <<'Y'
version: "1.0"
models: {default: {provider: scripted, rules: [{contains: route, reply: '{"route": "sum"}'}], replies: ["<{input}>"]}}
channels:
  - {name: words, type: last_value, default: [a, b, c]}
  - {name: all, type: last_value}
  - {name: messages, type: reduce, reducer: messages}
  - {name: answer, type: last_value}
nodes:
  - {id: choose, type: router, config: {prompt: route it, targets: {sum: Sums up., talk: Talks.}}}
  - {id: sum, type: map_reduce, config: {over_key: words, map_prompt: "{item}", reduce_prompt: "{results}", batch: 2, output_key: all}}
  - {id: talk, type: llm, config: {prompt: "all: {all}", messages_key: messages, output_key: answer}}
  - {id: solve, type: agent, config: {prompt: "and?", messages_key: messages, output_key: answer, text_tools: true}}
  - {id: short, type: trim, config: {last: 1, summarise: {}}}
edges:
  - {from: START, to: choose}
  - {from: sum, to: talk}
  - {from: talk, to: solve}
  - {from: solve, to: short}
  - {from: short, to: END}
Y
run tenon run all.yaml --config memory.yaml --run-config '{"run_id": "r"}' --json --stream updates,messages
expect_code 0
cp "$work/out" here.json
run tenon run all.yaml --config memory.yaml --run-config '{"run_id": "r"}' --json --stream updates,messages --isolate tenon.agents
expect_code 0
diff here.json "$work/out" >&2 || fails "the isolated run has a different output"

# ---- The plugin itself ----
run tenon plugin show --validate "$agents"
expect_code 0

# ---- The default channel of the conversation ----
for node in 'type: agent' 'type: tools' 'type: llm' 'type: llm, config: {prompt: "Why?"}' 'type: llm, config: {output_key: answer}'; do
    cat >unnamed.yaml <<Y
version: "1.0"
models: {default: scripted}
channels: [{name: answer, type: last_value}]
nodes: [{id: a, $node}]
edges: [{from: START, to: a}, {from: a, to: END}]
Y
    run tenon check unnamed.yaml
    expect_code 3 && expect_in err '`config.messages_key` of node `a` is missing and defaults to the channel `messages`, which is not declared'
    expect_in err 'help: add `{name: messages, type: reduce, reducer: messages}` to `channels`, or name another one'
    [ "$(grep -c 'ADL-' "$work/err")" = 1 ] || fails "expected one diagnostic"
    sed -i 's/^channels: \[/&{name: messages, type: append}, /' unnamed.yaml
    run tenon check unnamed.yaml
    expect_code 0
done
