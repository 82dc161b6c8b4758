# On a terminal: approvals, and questions that tools ask.
command -v python3 >/dev/null || skips "the tests on a terminal: python3 is not installed"
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
    if keys and said.rstrip().endswith((b"?", b"for none):", b"JSON:", b"answer:")):
        os.write(terminal, keys.pop(0).encode() + b"\n")
        said += b"\n"
sys.stdout.write(said.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
P
run python3 terminal.py 'y' "$TENON" tool call t.delete --set path=z "${plugin[@]}"
expect_code 0 && expect_in out 'approve the call of t.delete? it declares the effect `destructive`' && expect_in out "deleted z"
run python3 terminal.py 'n|' "$TENON" tool call t.delete --set path=z "${plugin[@]}"
expect_code 1 && expect_not_in out "deleted z"
# Ctrl-C at the question.
printf 'wait [e]dit?\nkey C-c\nend\n' >keys
last="Ctrl-C at an approval" code=0
python3 "$SOURCE/tests/e2e/terminal.py" "$TENON" tool call t.delete --set path=z "${plugin[@]}" <keys >"$work/out" || code=$?
expect_code 130 && expect_in out "its approval was cancelled" && expect_not_in out "deleted z"
run python3 terminal.py 'e|{"path": 3}|{"path": "w"}' "$TENON" tool call t.delete --set path=z "${plugin[@]}"
expect_code 0 && expect_in out "deleted w" && expect_in out "at /arguments/path"
run python3 terminal.py 'y|the red one' "$TENON" tool call t.ask --json "${plugin[@]}"
expect_code 0 && expect_in out "t.ask waits for an answer to:" && expect_in out "which one?" && expect_in out '"the red one"'
# A graph as a tool: its nodes ask one after the other. Finished calls are not repeated.
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
plugins: {config: {tenon.define: {tools: [{name: g.asks, description: Asks., document: graph.yaml, effects: [state.count, destructive]}]}}}
Y
run python3 terminal.py '7|one|two' "$TENON" tool call g.asks --yes --json "${plugin[@]}"
expect_code 0
tr -d ' \r\n' <"$work/out" | grep -qF '{"first":"one","second":"two","t":[{"name":"t.count","result":1},{"name":"t.ask","result":7}]}' ||
    fails "an answer is missing, or a call was repeated"
rm tenon.yaml
run python3 terminal.py 'y|n|too much' "$TENON" run ask.yaml "${plugin[@]}"
expect_code 0 && expect_in out "deleted x" && expect_in out "was not approved: too much"
run python3 terminal.py 'a' "$TENON" run ask.yaml --thread asked "${plugin[@]}"
expect_code 0 && expect_in out "deleted x" && expect_in out "deleted y"
# A waiting thread: the questions are asked both when the run starts and when it is resumed.
cat >tenon.yaml <<'Y'
tools: {approval: {t.delete: ask}}
Y
run tenon run ask.yaml --thread waits "${plugin[@]}"
expect_code 5
run tenon run ask.yaml --thread waits --resume "${plugin[@]}"
id=$(tenon thread show waits --json | grep -o '"id":"[0-9a-f]*"' | head -1 | cut -d'"' -f4)
expect_code 5 && expect_in err "tenon: waiting for an approval: node a: may t.delete be called with {\"path\":\"x\"}? tenon.yaml sets \`ask\` for \`t.delete\`; for test.calls \`a\` of document \`ask.yaml\` (id $id)"
expect_in err "tenon: answer with: tenon run ask.yaml" && expect_in err "--answer $id=yes" && expect_not_in err schema
[ "$(grep -c ^tenon: "$work/err")" = 3 ] || fails "expected a line for each question, and the command that answers them"
run tenon run ask.yaml --thread waits --resume --json "${plugin[@]}"
expect_code 5 && expect_in err "may t.delete be called with" && expect_not_in err "answers:"
# On a terminal without an answer, each question is a block.
printf 'wait [e]dit?\nkey C-d\nend\n' >keys
last="Ctrl-D at an approval" code=0
python3 "$SOURCE/tests/e2e/terminal.py" "$TENON" run ask.yaml --thread waits --resume "${plugin[@]}" <keys >"$work/out" || code=$?
expect_code 5 && expect_in out "  $id  node a: may t.delete be called? tenon.yaml sets" && expect_in out '      arguments {"path":"x"}'
expect_in out "      answer    --answer $id=yes, or =no, or ="
run python3 terminal.py 'y|y' "$TENON" run ask.yaml --thread waits --resume "${plugin[@]}"
expect_code 0 && expect_in out "approve the call of t.delete?" && expect_in out "deleted x" && expect_in out "deleted y"
# After SIGTERM, no question is answered from an earlier `always`, so the run does not continue. `stop` sends the signal.
cat >stop.yaml <<'Y'
version: "1.0"
channels: [{name: t, type: append}]
nodes:
  - {id: a, type: test.calls, config: {calls: [{name: t.delete, arguments: {path: x}}], out: t}}
  - {id: b, type: test.calls, config: {calls: [{name: t.delete, arguments: {path: y}}], out: t}}
  - {id: s, type: test.calls, config: {calls: [{name: stop}], out: t}}
edges: [{from: START, to: a}, {from: a, to: [b, s]}, {from: [b, s], to: END}]
Y
cat >tenon.yaml <<'Y'
plugins: {config: {tenon.define: {tools: [{name: stop, description: Stops., command: [sh, -c, "kill -TERM $PPID"], effects: [], sandbox: false}]}}}
Y
run python3 terminal.py 'a' "$TENON" run stop.yaml --thread stopped "${plugin[@]}"
expect_code 5 && expect_in out "the run waits for answers" && expect_in out "deleted x" && expect_not_in out "deleted y"
