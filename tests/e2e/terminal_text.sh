# Text from outside cannot control a terminal: characters that could move its cursor, change its settings or change the
# direction of text are shown as escapes. Data that goes into a pipe is not changed.
command -v python3 >/dev/null || skips "python3 is not installed"
hello=$SOURCE/samples/hello/hello.yaml
hostile=$(printf 'a\033]0;owned\a\r\302\233\177\342\200\256b\342\201\246c\342\200\217\342\200\250z')
as_cel='a\u001b]0;owned\u0007\r\u009b\u007f\u202eb\u2066c\u200f\u2028z'
as_yaml='a\e]0;owned\a\r\x9b\x7f\u202eb\u2066c\u200f\u2028z'

cat >clean.py <<'P'
# Fails if standard input has a character that could affect a terminal, except what the live view itself writes.
import re, sys
text = re.sub(r"\x1b\[(K|[0-9;]*m)|\r", "", sys.stdin.buffer.read().decode())
bad = sorted({"U+%04X" % ord(c) for c in text if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160 or c in
              "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"})
sys.exit(f"found {bad} in: {text!a}" if bad else 0)
P
clean() { python3 clean.py <"$1" 2>"$work/found" || fails "$(cat "$work/found")"; }
on_terminal() { # COMMAND…: standard input, output and error are a terminal
    run python3 "$SOURCE/tests/e2e/terminal.py" "$@" <<<end
    clean "$work/out"
}
run() { # as in lib.sh, but with standard input
    last=$* code=0
    "$@" >"$work/out" 2>"$work/err" || code=$?
}
has_raw() { grep -q "$(printf '\342\200\256')" "$work/out" || fails "expected the text as it is"; }
same_name() { # the JSON on the terminal still has the same text
    hostile=$hostile python3 -c 'import json, os, sys
text = sys.stdin.read(); sys.exit(json.loads(text[text.index("{\n"):])["name"] != os.environ["hostile"])' <"$work/out" ||
        fails "the JSON on the terminal is another one"
}

# Results and events.
on_terminal "$TENON" run "$hello" --set "name=$hostile"
expect_code 0
same_name
run "$TENON" run "$hello" --set "name=$hostile" </dev/null
has_raw
on_terminal "$TENON" run "$hello" --set "name=$hostile" --json
expect_code 0
on_terminal "$TENON" run "$hello" --set "name=$hostile" --stream updates,debug
expect_in out '\u202eb'
run "$TENON" run "$hello" --set "name=$hostile" --json --stream updates </dev/null
has_raw
on_terminal "$TENON" eval --raw "\"$as_cel\""
expect_in out '<U+202E>b<U+2066>c<U+200F>'
run "$TENON" eval --raw "\"$as_cel\"" </dev/null
expect_out "$hostile"
on_terminal "$TENON" eval "\"$as_cel\""
expect_in out '\u202eb\u2066c\u200f'

# Errors, in the live view and after it, and the lines of a plugin.
cat >rude.yaml <<Y
version: "1.0"
nodes: [{id: "only", type: fail, config: {message: "$as_yaml"}}]
edges: [{from: START, to: only}]
Y
on_terminal "$TENON" run rude.yaml
expect_code 1
expect_in out '<U+202E>b'
run "$TENON" run rude.yaml </dev/null
clean "$work/err" # a message for people is the same everywhere
mkdir plugin
printf '#!/bin/sh\nprintf "%%b\\n" "\0012said %s" >&2\n' "$(sed 's/\\e/\\033/; s/\\x9b/\\302\\233/; s/\\x7f/\\177/; s/\\u202e/\\342\\200\\256/; s/\\u2066/\\342\\201\\246/; s/\\u200f/\\342\\200\\217/; s/\\u2028/\\377/; s/\\/\\\\/g' <<<"$as_yaml")" >plugin/program
chmod +x plugin/program
cat >plugin/program.tenon.json <<'J'
{"plugin": {"id": "test.program", "version": "1.0.0", "title": "Says something"},
 "components": [{"kind": "node", "id": "program.run", "title": "Runs", "style": "async", "effects": []}]}
J
cat >program.yaml <<'Y'
version: "1.0"
nodes: [{id: only, type: program.run}]
edges: [{from: START, to: only}]
Y
on_terminal "$TENON" run program.yaml --plugins plugin/program
expect_in out '<U+202E>b<U+2066>c<U+200F><FF>z'

# Diagnostics, and drawings.
cat >wrong.yaml <<Y
version: "1.0"
agent: {name: "$as_yaml"}
nodes: [{id: only, type: passthrough, "$as_yaml": 1}]
edges: [{from: START, to: only, label: "$as_yaml"}, {from: only, to: "$as_yaml"}]
Y
on_terminal "$TENON" check wrong.yaml
expect_code 3
sed "s/, \"[^\"]*\": 1//; s/, {from: only.*}/, {from: only, to: END}/" wrong.yaml >drawn.yaml
for format in text svg html mermaid dot; do on_terminal "$TENON" graph drawn.yaml --format $format; done
on_terminal "$TENON" fmt --stdout drawn.yaml

# Lists, and what is stored.
on_terminal "$TENON" task create "$(printf 'a\342\200\256b')" --payload "$(hostile=$hostile python3 -c 'import json, os; print(json.dumps({"a": os.environ["hostile"]}))')"
expect_code 0
on_terminal "$TENON" task list
on_terminal "$TENON" task list --json

# An approval, and a question.
cat >agent.yaml <<Y
version: "1.0"
agent: {name: helper}
models:
  default:
    provider: scripted
    replies:
      - {content: "$as_yaml", tool_calls: [{id: a, name: extract, arguments: {from: "$as_yaml", what: links}}]}
      - "$as_yaml"
tools: [{name: extract, approval: ask}]
channels: [{name: messages, type: reduce, reducer: messages}]
nodes: [{id: agent, type: agent, config: {messages_key: messages, tools: [extract]}}]
edges: [{from: START, to: agent}, {from: agent, to: END}]
Y
run python3 "$SOURCE/tests/e2e/terminal.py" "$TENON" chat agent.yaml <<'T'
wait > 
send which link?
wait approve the call of extract?
wait [e]dit?
send y
wait > 
send /history
wait > 
send /exit
end
T
expect_code 0
clean "$work/out"
expect_in out '<U+202E>b'
# In a pipe, an answer is data.
sed -i 's/approval: ask/approval: auto/' agent.yaml
run "$TENON" chat agent.yaml <<<"which link?"
has_raw
clean "$work/err"
