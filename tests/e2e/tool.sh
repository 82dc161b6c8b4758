# `tenon tool`, and tools in runs: the operator's word, approvals from another process, limits, the audit log.
plugin=(--plugins "$TEST_NODES" --allow-drafts)

# ---- list, show, search ----
run tenon tool list "${plugin[@]}"
expect_code 0 && expect_in out "t.add " && expect_in out "auto  Adds. (tenon.test)"
expect_in out "ask   Deletes a file. (tenon.test)" && expect_in out "destructive, fs.write:/data"
expect_in out "ask   Says not what it does." && expect_in out "unknown"
run tenon tool list "${plugin[@]}" --json
expect_in out '"tool_name":"t.add","description":"Adds two integers, exactly.","input_schema":{'
expect_in out '"implementation_ref":"tenon.test/t.add","approval":"auto","title":"Adds.","plugin":"tenon.test"'
run tenon tool show t.delete "${plugin[@]}"
expect_in out "t.delete: Deletes a file." && expect_in out "effects: destructive, fs.write:/data"
expect_in out 'approval: ask, as it declares the effect `destructive`' && expect_in out "    path               string, required" && expect_in out "which file"
run tenon tool show t.add "${plugin[@]}" --json
expect_in out '"output_schema":{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"]}'
run tenon tool show t.addd "${plugin[@]}"
expect_code 2 && expect_in err 'did you mean `t.add`?'
run tenon tool search "exactly ADD" "${plugin[@]}"
expect_code 0 && expect_in out "t.add" && expect_not_in out "t.delete"
run tenon tool search "delete" "${plugin[@]}"
[ "$(head -1 "$work/out" | cut -c1-8)" = "t.delete" ] || fails "the best is not the first"
run tenon tool search "nothing has these words"
expect_code 0 && expect_out "" && expect_in err "no tool has all of these words"

# ---- call ----
run tenon tool call t.add '{"a": 1}' --set b=41 "${plugin[@]}"
expect_code 0 && expect_out '{"sum":42}'
printf '{"a": 1, "b": 2}' >given.json
run tenon tool call t.add @given.json "${plugin[@]}"
expect_out '{"sum":3}'
run tenon tool call t.add "${plugin[@]}" --set a=1 --set c=2
expect_code 2 && expect_in err 'missing property `b`' && expect_in err 'unknown property `c`'
run tenon tool call t.add '[1]' "${plugin[@]}"
expect_code 2 && expect_in err "expected an object"
run tenon tool call t.add '{' "${plugin[@]}"
expect_code 2
run tenon tool call t.nothing "${plugin[@]}"
expect_code 2 && expect_in err "TOOL_NOT_FOUND"
run tenon tool call t.fail "${plugin[@]}"
expect_code 1 && expect_in err "it broke [BROKEN]" && expect_out ""
run tenon tool call t.wrong "${plugin[@]}"
expect_code 1 && expect_in err "INVALID_OUTPUT"
run tenon tool call t.huge "${plugin[@]}"
expect_code 1 && expect_in err "[LIMIT]"
run tenon tool call t.block --set n=1 "${plugin[@]}"
expect_out 2
run tenon tool call t.delete --set path=x "${plugin[@]}"
expect_code 5 && expect_in err "--yes does" && expect_out ""
run tenon tool call t.delete --set path=x --yes "${plugin[@]}"
expect_code 0 && expect_out "deleted x"
run tenon tool call t.delete --set path=x --yes --json "${plugin[@]}"
expect_out '"deleted x"'
run tenon tool call t.slow --set ms=1 "${plugin[@]}"
expect_code 0
# What the tool itself asks, and nobody is there.
run tenon tool call t.ask --yes "${plugin[@]}"
expect_code 5 && expect_out "" && expect_in err '`t.ask` waits for answers' && expect_in err '"payload":"which one?"'
expect_in err "call it at a terminal" && expect_in err "tenon thread answer"
[ "$(wc -l <"$work/err")" = 1 ] || fails "expected one message"
last="call with a pipe" code=0
echo '{"a": 2, "b": 2}' | tenon tool call t.add - "${plugin[@]}" >"$work/out" 2>"$work/err" || code=$?
expect_code 0 && expect_out '{"sum":4}'

# ---- The operator's word ----
# One that means nothing is told: it may be one that should have forbidden something.
echo 'tools: {approval: {memory.pt: deny, "memry.*": deny, no.such.one: deny, "effect:destructve": ask, "effect:net": ask, "effect:network.http:x.example": deny, "t.*": auto}}' >tenon.yaml
run tenon tool list "${plugin[@]}"
expect_code 0 && expect_in err '`memory.pt` means no tool that is known here, and does nothing; did you mean `memory.put`?'
expect_in err 'did you mean `memory.*`?' && expect_in err 'did you mean `destructive`?' && expect_in err '`no.such.one` means no tool'
[ "$(grep -c warning "$work/err")" = 4 ] || fails "expected four warnings"
run tenon doctor
expect_code 4 && expect_in out 'did you mean `memory.put`?' && expect_not_in out 'no.such.one' # a plugin that is not loaded may have it
run tenon check "$SOURCE/samples/hello/hello.yaml" --strict
expect_code 3 && expect_in err 'did you mean `destructive`?'
echo 'tools: {approval: {"*": deny}, audit: ./denied.jsonl}' >tenon.yaml
run tenon tool call t.add '{}' "${plugin[@]}"
expect_code 1 && expect_in err TOOL_DENIED
grep -q '"tool":"t.add".*"outcome":"TOOL_DENIED"' denied.jsonl || fails "a denial is not noted"
cat >tenon.yaml <<'Y'
tools:
  approval: {"effect:destructive": deny, "t.*": ask, t.add: auto, t.ask: auto}
  audit: ./log/audit.jsonl
Y
run tenon tool list "${plugin[@]}"
expect_in out "auto  Adds." && expect_in out "deny  Deletes a file." && expect_in out "ask   Counts." && expect_in out "auto  Asks."
run tenon tool call t.delete --set path=x --yes "${plugin[@]}"
expect_code 1 && expect_in err 'the tool `t.delete` may not be used: tenon.yaml says `deny` for `effect:destructive` [TOOL_DENIED]'
expect_in err "warning: uses of tools are not noted" && expect_in err "log/audit.jsonl cannot be opened"
mkdir log
run tenon tool call t.delete --set path=x --yes "${plugin[@]}"
run tenon tool call t.count --yes "${plugin[@]}"
expect_code 0
run tenon tool call t.add '{"a": 1, "b": 2}' "${plugin[@]}"
expect_code 0
[ "$(wc -l <log/audit.jsonl)" = 3 ] || fails "not every use is noted"
[ "$(stat -c %a log/audit.jsonl)" = 600 ] || fails "the audit log can be read by others"
cp log/audit.jsonl "$work/out"
expect_in out '"tool":"t.delete","effects":["destructive","fs.write:/data"],"approval":"deny","by":"operator"'
expect_in out '"outcome":"TOOL_DENIED"' && expect_in out '"agreed":"grant"' && expect_in out '"outcome":"ok"'
expect_not_in out '"arguments"'
cat >strict.yaml <<'Y'
tools: {audit: ./log/there/is/none, audit_required: true}
Y
run tenon tool call t.add '{"a": 1, "b": 2}' --config strict.yaml "${plugin[@]}"
expect_code 1 && expect_in err "AUDIT_FAILED" && expect_out ""
echo 'tools: {audit_required: true}' >strict.yaml
run tenon tool call t.add '{"a": 1, "b": 2}' --config strict.yaml "${plugin[@]}"
expect_code 1 && expect_in err "no file for it (tools.audit)"
echo 'tools: {audit: /dev/full}' >strict.yaml
run tenon tool call t.add '{"a": 1, "b": 2}' --config strict.yaml "${plugin[@]}"
expect_code 0 && expect_in err "cannot be written"
echo 'tools: {approval: {t.add: maybe}}' >strict.yaml
run tenon tool list --config strict.yaml
expect_code 4 && expect_in err '`auto`, `ask` or `deny`'
echo 'tools: {aproval: {t.add: ask}}' >strict.yaml
run tenon tool list --config strict.yaml
expect_code 4 && expect_in err 'aproval' && expect_in err 'approval'

# ---- Approvals, from another process, in any order; what has been done is not done again ----
cat >agent.yaml <<'Y'
version: "1.0"
channels: [{name: t, type: append}]
tools: [t.add, {name: t.count, max_calls: 3}]
nodes:
  - {id: a, type: test.calls, config: {calls: [{name: t.count, arguments: {}}, {name: t.add, arguments: {a: 1, b: 1}}], out: t}}
  - {id: b, type: test.calls, config: {calls: [{name: t.count, arguments: {}}, {name: t.count, arguments: {}}], out: t}}
  - {id: c, type: test.calls, config: {calls: [{name: t.count, arguments: {}}], out: t}}
edges: [{from: START, to: [a, b]}, {from: [a, b], to: c}, {from: c, to: END}]
Y
rm log/audit.jsonl
run tenon run agent.yaml --thread one "${plugin[@]}" --json
expect_code 5 && expect_in out '"payload":{"kind":"approval","tool":"t.count","arguments":{},"effects":["state.count"],"title":"Counts.","why":"tenon.yaml says `ask` for `t.*`"}'
[ "$(grep -c '"tool":"t.add"' log/audit.jsonl)" = 1 ] || fails "a use that ended is not noted"
grep -q 't.count' log/audit.jsonl && fails "a use that waits is noted"
ids() { tenon thread show one --json | grep -o '"id":"[0-9a-f]*"' | cut -d'"' -f4; }
[ "$(ids | wc -l)" = 3 ] || fails "not three questions"
last_id=$(ids | tail -1)
run tenon thread answer one "$last_id={\"agreed\": false}" "${plugin[@]}"
expect_code 1 && expect_in err 'missing property `approved`'
run tenon thread answer one "$last_id={\"approved\": false, \"reason\": \"not that\"}" "${plugin[@]}"
expect_code 0
run tenon run agent.yaml --thread one --resume "${plugin[@]}"
expect_code 5
[ "$(ids | wc -l)" = 2 ] || fails "not two questions"
run tenon run agent.yaml --thread one --resume --answer "$(ids | tail -1)=yes" "${plugin[@]}"
expect_code 5
run tenon thread answer one "$(ids | tail -1)=true" "${plugin[@]}"
run tenon run agent.yaml --thread one --resume "${plugin[@]}"
expect_code 0
cp "$work/out" result
grep -qF '{"name":"t.count","error":"TOOL_DENIED","message":"the call of the tool `t.count` was not agreed to: not that' result || fails "not denied"
grep -qF '{"name":"t.count","error":"LIMIT"' result || fails "the fourth call was made"
[ "$(grep -c '"tool":"t.add"' log/audit.jsonl)" = 1 ] || fails "a tool was used again"
[ "$(grep -c '"tool":"t.count".*"agreed":"answer".*"outcome":"ok"' log/audit.jsonl)" = 2 ] || fails "not two uses that were agreed to"
grep -q '"thread_id":"one".*"tool":"t.count".*"outcome":"TOOL_DENIED"' log/audit.jsonl || fails "a denial is not noted"
grep -q '"tool":"t.count".*"outcome":"LIMIT"' log/audit.jsonl || fails "a refusal is not noted"
run tenon replay one "${plugin[@]}"
expect_code 0

# ---- A node in a process of its own: the same, be it on the loop or on a worker ----
rm tenon.yaml
cat >apart.yaml <<'Y'
version: "1.0"
channels: [{name: t, type: append}]
tools: [t.add, t.delete, t.block, {name: t.slow, timeout: 50ms}]
nodes:
  - {id: d, type: test.tools, config: {out: t, tools: [t.add]}}
  - {id: e, type: test.tools_wait, config: {out: t, tools: ["t.b*"]}}
  - id: a
    type: test.calls
    config:
      calls: [{name: t.add, arguments: {a: 1, b: 1}}, {name: t.nothing}, {name: t.delete, arguments: {path: x}, approved: true}, {name: t.slow}]
      out: t
  - id: b
    type: test.calls_wait
    config:
      calls: [{name: t.add, arguments: {a: 1, b: 1}}, {name: t.block, arguments: {n: 1}}, {name: t.delete, arguments: {path: y}}]
      out: t
edges: [{from: START, to: d}, {from: d, to: e}, {from: e, to: a}, {from: a, to: b}, {from: b, to: END}]
Y
for where in here apart; do
    isolate=()
    [ $where = here ] || isolate=(--isolate tenon.test)
    run tenon run apart.yaml --thread $where "${plugin[@]}" "${isolate[@]}"
    expect_code 5
    id=$(tenon thread show $where --json | grep -o '"id":"[0-9a-f]*"' | cut -d'"' -f4)
    run tenon run apart.yaml --thread $where --resume --answer "$id=yes" "${plugin[@]}" "${isolate[@]}"
    expect_code 0 && expect_in out '"tool_name":"t.block"' && expect_in out "deleted y" && expect_in out "TIMEOUT"
    cp "$work/out" $where.json
done
cmp here.json apart.json || fails "in a process of its own it is another result"

# ---- Two processes, one log: whole lines ----
cat >tenon.yaml <<'Y'
tools: {audit: both.jsonl, audit_arguments: true}
Y
cat >many.yaml <<'Y'
version: "1.0"
channels: [{name: t, type: last_value}]
nodes:
  - {id: a, type: test.bound, config: {tool: t.add, input: {a: 1, b: 2}, out: t}}
edges: [{from: START, to: a}]
Y
for i in $(seq 100); do echo '{}'; done >inputs.jsonl
tenon run many.yaml --batch inputs.jsonl "${plugin[@]}" >/dev/null 2>&1 &
tenon run many.yaml --batch inputs.jsonl "${plugin[@]}" >/dev/null 2>&1
wait $!
[ "$(grep -c '^{"time":"20.*"arguments":{"a":1,"b":2}}$' both.jsonl)" = 200 ] && [ "$(wc -l <both.jsonl)" = 200 ] ||
    fails "lines of two processes are mixed, or lost"

# ---- On a terminal ----
rm tenon.yaml
command -v python3 >/dev/null || skips "the rest needs Python for a terminal"
cat >ask.yaml <<'Y'
version: "1.0"
channels: [{name: t, type: append}]
nodes:
  - {id: a, type: test.calls, config: {calls: [{name: t.delete, arguments: {path: x}}, {name: t.delete, arguments: {path: y}}], out: t}}
edges: [{from: START, to: a}]
Y
cat >terminal.py <<'P'
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[2], sys.argv[2:])
keys = sys.argv[1].encode().decode("unicode_escape").split("|")
said = b""
while True:
    try:
        more = os.read(terminal, 4096)
    except OSError:
        break
    if not more:
        break
    said += more
    if keys and said.rstrip().endswith((b"?", b"nothing):", b"JSON:", b"answer:")):
        os.write(terminal, keys.pop(0).encode() + b"\n")
        said += b"\n"
sys.stdout.write(said.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
P
run python3 terminal.py 'y' "$TENON" tool call t.delete --set path=z "${plugin[@]}"
expect_code 0 && expect_in out 't.delete is to be called: it declares the effect `destructive`' && expect_in out "deleted z"
run python3 terminal.py 'n|' "$TENON" tool call t.delete --set path=z "${plugin[@]}"
expect_code 1 && expect_not_in out "deleted z"
run python3 terminal.py 'e|{"path": 3}|{"path": "w"}' "$TENON" tool call t.delete --set path=z "${plugin[@]}"
expect_code 0 && expect_in out "deleted w" && expect_in out "at /arguments/path"
run python3 terminal.py 'y|the red one' "$TENON" tool call t.ask --json "${plugin[@]}"
expect_code 0 && expect_in out "t.ask waits for an answer to:" && expect_in out "which one?" && expect_in out '"the red one"'
# A graph that is a tool: what its nodes ask, two after the other; what has been done is not done again.
cat >graph.yaml <<'Y'
version: "1.0"
channels: [{name: first, type: last_value}, {name: second, type: last_value}, {name: t, type: append}]
nodes:
  - {id: count, type: test.calls, config: {calls: [{name: t.count}, {name: t.ask}], out: t}}
  - {id: a, type: test.ask, config: {out: first}}
  - {id: b, type: test.ask, config: {out: second}}
edges: [{from: START, to: count}, {from: count, to: a}, {from: a, to: b}, {from: b, to: END}]
Y
cat >tenon.yaml <<'Y'
tools: {approval: {t.ask: auto}}
plugins: {config: {tenon.define: {tools: [{name: g.asks, description: Asks., document: graph.yaml, effects: []}]}}}
Y
run python3 terminal.py '7|one|two' "$TENON" tool call g.asks --yes --json "${plugin[@]}"
expect_code 0
tr -d ' \r\n' <"$work/out" | grep -qF '{"first":"one","second":"two","t":[{"name":"t.count","result":1},{"name":"t.ask","result":7}]}' ||
    fails "not the answers, or done again"
rm tenon.yaml
run python3 terminal.py 'y|n|too much' "$TENON" run ask.yaml "${plugin[@]}"
expect_code 0 && expect_in out "deleted x" && expect_in out "was not agreed to: too much"
run python3 terminal.py 'a' "$TENON" run ask.yaml --thread asked "${plugin[@]}"
expect_code 0 && expect_in out "deleted x" && expect_in out "deleted y"
# A thread that waits: whoever goes on with it is asked; so is whoever began.
cat >tenon.yaml <<'Y'
tools: {approval: {t.delete: ask}}
Y
run tenon run ask.yaml --thread waits "${plugin[@]}"
expect_code 5
run tenon run ask.yaml --thread waits --resume "${plugin[@]}"
id=$(tenon thread show waits --json | grep -o '"id":"[0-9a-f]*"' | head -1 | cut -d'"' -f4)
expect_code 5 && expect_in err "  $id  node a: may t.delete be called? tenon.yaml says" && expect_in err '      with      {"path":"x"}'
expect_in err "      answer    --answer $id=yes, or =no, or =" && expect_not_in err schema
[ "$(sed -n '/waits for answers/,$p' "$work/err" | wc -l)" = 10 ] || fails "expected two blocks of four lines between two lines"
run python3 terminal.py 'y|y' "$TENON" run ask.yaml --thread waits --resume "${plugin[@]}"
expect_code 0 && expect_in out "t.delete is to be called" && expect_in out "deleted x" && expect_in out "deleted y"
