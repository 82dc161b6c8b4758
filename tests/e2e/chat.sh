# `tenon chat`: into a pipe, as JSON, in a thread, and on a terminal, with tools that somebody must agree to.
[ -e "$BINARY/lib/tenon/plugins/agents.so" ] || skips "built without the agents"
cat >echo.yaml <<'Y'
version: "1.0"
agent: {name: echo}
channels:
  - {name: messages, type: reduce, reducer: messages}
  - {name: mood, type: last_value, default: calm}
nodes:
  - {id: answer, type: set, config: {values: {messages: '{"type": "ai", "content": "you said " + state.messages[state.messages.size() - 1].content + ", " + state.mood}'}}}
edges: [{from: START, to: answer}, {from: answer, to: END}]
Y
cat >agent.yaml <<'Y'
version: "1.0"
agent: {name: helper}
models:
  default:
    provider: scripted
    replies:
      - {content: "Let me see.", tool_calls: [{id: a, name: extract, arguments: {from: "see https://a.example/x", what: links}}]}
      - "One link."
      - "You are welcome, {input}."
tools: [{name: extract, approval: ask}]
channels: [{name: messages, type: reduce, reducer: messages}]
nodes: [{id: agent, type: agent, config: {messages_key: messages, tools: [extract]}}]
edges: [{from: START, to: agent}, {from: agent, to: END}]
Y
sed 's/approval: ask/approval: auto/' agent.yaml >auto.yaml
talk() { printf "$said" | "$TENON" chat "$@"; }

# ---- Into a pipe: answers alone on standard output ----
said='hello\n\nline one\\\nline two\nbye' # the last one without a line end
run talk echo.yaml --set mood=glad
expect_code 0 && expect_out "you said hello, glad
you said line one
line two, glad
you said bye, glad"
said='which link?\nthanks\n'
run talk auto.yaml
expect_code 0 && expect_out "Let me see.
One link.
You are welcome, thanks."
expect_in err '→ extract {"from":"see https://a.example/x","what":"links"}' && expect_in err "← extract"
[ "$(grep -c '→ extract' "$work/err")" = 1 ] || fails "expected the call once"
# A model may give each turn's calls the same id.
cat >same.yaml <<'Y'
version: "1.0"
agent: {name: same}
models: {default: {provider: scripted, cycle: true, replies: [{tool_calls: [{id: a, name: extract, arguments: {from: "{input}", what: numbers}}]}, {tool_calls: [{id: a, name: extract, arguments: {from: "{input}", what: links}}]}, "so"]}}
tools: [extract]
channels: [{name: messages, type: reduce, reducer: messages}]
nodes: [{id: agent, type: agent, config: {messages_key: messages, tools: [extract]}}]
edges: [{from: START, to: agent}, {from: agent, to: END}]
Y
said='1\n2\n3\n'
run talk same.yaml
expect_code 0 && [ "$(cut -c 1-5 "$work/err" | tr '\n' ' ')" = "$(for i in 1 2 3 4 5 6; do printf '→ e ← e '; done)" ] ||
    fails "expected each call once, and its result after it"
# The conversation written anew by a node is not told again.
sed 's/^nodes: \[/&{id: again, type: set, config: {values: {messages: state.messages}}}, /; s/to: END/to: again}, {from: again, to: END/' same.yaml >again.yaml
said='1\n'
run talk again.yaml
expect_code 0 && [ "$(grep -c '→' "$work/err")" = 2 ] || fails "expected two calls"
# What was said before another model had to go on is not said twice.
run talk echo.yaml -M scripted # a default that nobody needs does no harm
expect_code 0
said='hi\n'
run talk auto.yaml -M '[{"provider": "scripted", "chunk": 4, "replies": [{"message": "half an ans", "error": {"code": "OVERLOADED"}}]}, {"provider": "scripted", "replies": ["whole"]}]'
expect_code 0 && expect_out whole && expect_in err "begun again"
said=''
run talk echo.yaml
expect_code 0 && expect_out ""
said='hi\n'
run talk echo.yaml --json
expect_code 0 && expect_in out '{"type":"turn","status":"done","messages":[{"type":"user","content":"hi"'
run talk agent.yaml
expect_code 5 && expect_in err "the answer waits for somebody" && expect_in err "--thread"
expect_not_in err "not been said"
# What a pipe says after that is not dropped without a word; but who has nothing more to say yet is not waited for.
said='hi\n\nthere\nyou \\\ntwo\n \nlast'
run talk agent.yaml
expect_code 5 && expect_in err "3 more lines have not been said" && expect_in err "with --thread"
run sh -c 'yes | "$0" chat agent.yaml' "$TENON"
expect_code 5 && expect_in err "more lines have not been said"
mkfifo silent
run sh -c '"$0" chat agent.yaml <silent & exec 3>silent; printf "hi\nyou\n" >&3; wait $!' "$TENON"
expect_code 5 && expect_in err "1 more line has not been said"
said='\xff\n'
run talk echo.yaml
expect_code 2 && expect_in err "not UTF-8"
sed 's/name: messages, type: reduce, reducer: messages/name: talk, type: append/; s/messages/talk/g' echo.yaml >talk.yaml
said='hi\n'
run talk talk.yaml
expect_code 3 && expect_in err 'the document has no channel `messages`' && expect_in err "--channel"
run talk talk.yaml --channel talk
expect_code 0 && expect_out "you said hi, calm"
run talk echo.yaml --channel mood
expect_code 3 && expect_in err "does not collect messages"

# What is longer than 16 MiB is not kept until its end, nor is anybody answered who no longer reads.
run sh -c 'ulimit -v unlimited; exec "$0" chat echo.yaml </dev/zero' "$TENON"
expect_code 2 && expect_in err "longer than 16777216 bytes"
run sh -c 'yes | "$0" chat echo.yaml | head -n 1' "$TENON"
expect_code 0 && expect_out "you said y, calm" && expect_in err "cannot write to standard output"
# A turn that failed leaves nothing behind: what the next one adds is told from where it began.
cat >fails.yaml <<'Y'
version: "1.0"
agent: {name: fails}
channels: [{name: messages, type: reduce, reducer: messages}]
nodes:
  - {id: note, type: set, config: {values: {messages: '[{"type": "ai", "content": "first"}, {"type": "ai", "content": "second"}]'}}}
  - {id: last, type: set, config: {values: {messages: '{"type": "ai", "content": "n" + string(1 / (state.messages[state.messages.size() - 3].content == "bad" ? 0 : 1))}'}}}
edges: [{from: START, to: note}, {from: note, to: last}, {from: last, to: END}]
Y

# ---- A thread: goes on in another process ----
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
    expect_code 5 && expect_in err "tenon thread answer bob ID=VALUE" && expect_not_in err "not been said"
    said='which, then?\n'
    run talk agent.yaml --thread bob
    expect_code 5 && expect_in err "tenon thread answer bob ID=VALUE" && expect_in err "1 more line has not been said"
    id=$("$TENON" thread show bob --json | sed -n 's/.*"interrupts":\[{"id":"\([0-9a-f]*\)".*/\1/p')
    # Arguments that the tool would not take are for whoever gave them, not for the model.
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
fi

# ---- On a terminal ----
command -v python3 >/dev/null || skips "there is no python3"
terminal() { last="terminal: $*" code=0; python3 "$SOURCE/tests/e2e/terminal.py" "$@" >"$work/out" 2>"$work/err" || code=$?; }
terminal "$TENON" chat echo.yaml <<'T'
wait > 
send /history
wait nothing has been said
wait > 
send hey
wait you said hey, calm
wait > 
send /history
wait ai     you said hey
wait > 
send /usage
wait no model has been called
send /help
wait /history   what has been said
wait /quit
wait > 
send /what
wait there is no command /what
wait /history   what has been said
send /exit
end
T
expect_code 0
answer() { # LETTERS…: of the question about the tool
    { echo "wait > "; echo "send which link?"; echo "wait extract is to be called"; echo "wait [e]dit?"
      for line in "$@"; do echo "$line"; done; echo "wait > "; echo "key C-d"; echo end; } >script
    terminal "$TENON" chat agent.yaml <script
}
answer "send y" "wait ← extract" "wait One link."
expect_code 0
answer "send x" "wait y, n, a or e" "send n" "wait why not" "send too far" "wait too far" "wait One link."
expect_code 0 && expect_in out "✗ extract"
answer "send e" "wait arguments" "send {" "wait no JSON" "send {\"from\": \"x\", \"what\": \"linkz\"}" "wait at /arguments/what" "wait arguments" "send {\"from\": \"https://b.example/\", \"what\": \"links\"}" "wait b.example" "wait One link."
expect_code 0
answer "send a" "wait One link."
expect_code 0
# What is to be agreed to has been shown, though a call of an earlier turn had the same id.
sed 's/tools: \[extract\]$/tools: [{name: extract, approval: ask}]/' same.yaml >asked.yaml
{ echo "wait > "; echo "send 1"; for i in 1 2; do echo "wait → extract"; echo "wait extract is to be called"; echo "wait [e]dit?"
  echo "send y"; echo "wait ← extract"; done; echo "wait so"; echo "wait > "; echo "send /exit"; echo end; } >script
terminal "$TENON" chat asked.yaml <script
expect_code 0
# Who is asked may give up as well: the conversation goes on from before it was asked.
for key in "key C-c" "send n
wait why not
key C-c"; do
    terminal "$TENON" chat agent.yaml <<T
wait > 
send which link?
wait [e]dit?
$key
wait (given up
wait > 
send again
wait [e]dit?
send y
wait One link.
wait > 
send /exit
end
T
    expect_code 0
done
terminal "$TENON" chat fails.yaml <<'T'
wait > 
send bad
wait tenon:
wait > 
send good
wait n1
wait > 
send /history
wait user   good
wait > 
send /exit
end
T
expect_code 0 && expect_not_in out "user   bad"
# What waits for somebody has not failed; and what is agreed to without being shown is said not to be.
sed "s|see https://a.example/x|$(printf 'x%.0s' {1..3000})|" agent.yaml >long.yaml
terminal "$TENON" run long.yaml --set messages='[{"type": "user", "content": "which?"}]' <<'T'
wait … and 1
wait bytes more, which are not shown
wait [e]dit?
send y
end
T
expect_code 0 && expect_in out "?   1  agent" && expect_not_in out "✗"
# Ctrl-C gives an answer up, and the conversation goes on.
sed 's/replies:/delay_ms: 2000\n    chunk: 1\n    replies:/' auto.yaml >slow.yaml
terminal "$TENON" chat slow.yaml <<'T'
wait > 
send which?
wait L
key C-c
wait (given up
wait > 
key C-d
end
T
expect_code 0
terminal "$TENON" chat slow.yaml <<'T'
wait > 
key C-c
end
T
expect_code 130

# Each line is a run of its own, with a budget of its own; what all of them have used up is shown, of those that failed
# as well.
cat >budget.yaml <<'Y'
version: "1.0"
agent: {name: spender}
budget: {tokens: 20}
models: {default: {provider: scripted, cycle: true, replies: [{message: "yes", usage: {input_tokens: 10, output_tokens: 5, total_tokens: 15}}]}}
channels: [{name: messages, type: reduce, reducer: messages}, {name: said, type: last_value}]
nodes:
  - {id: ask, type: llm, config: {messages_key: messages}}
  - {id: stop, type: fail, config: {code: SORRY, message: no}}
edges:
  - {from: START, to: ask}
  - {from: ask, type: conditional, conditions: [{expression: "state.messages[size(state.messages) - 2].content == 'bad'", to: stop}, {expression: default, to: END}]}
  - {from: stop, to: END}
Y
terminal "$TENON" chat budget.yaml <<'T'
wait > 
send bad
wait [SORRY]
wait > 
send /usage
wait "total_tokens":15
send good
wait yes
wait > 
send bad
wait [SORRY]
wait > 
send /usage
wait "llm_calls":3,"input_tokens":30,"output_tokens":15,"total_tokens":45
send /history
wait user   good
wait ai     yes
wait > 
send /exit
end
T
expect_code 0
