# Through a pipe: standard output has only the answers.
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
said='1\n2\n3\n'
run talk same.yaml
expect_code 0 && [ "$(cut -c 1-5 "$work/err" | tr '\n' ' ')" = "$(for i in 1 2 3 4 5 6; do printf '→ e ← e '; done)" ] ||
    fails "expected each call once, and its result after it"
# A node that writes the conversation again does not print it again.
sed 's/^nodes: \[/&{id: again, type: set, config: {values: {messages: state.messages}}}, /; s/to: END/to: again}, {from: again, to: END/' same.yaml >again.yaml
said='1\n'
run talk again.yaml
expect_code 0 && [ "$(grep -c '→' "$work/err")" = 2 ] || fails "expected two calls"
# A fallback to another model does not repeat what was printed.
run talk echo.yaml -M scripted # an unused default is not an error
expect_code 0
said='hi\n'
run talk auto.yaml -M '[{"provider": "scripted", "chunk": 4, "replies": [{"message": "half an ans", "error": {"code": "OVERLOADED"}}]}, {"provider": "scripted", "replies": ["whole"]}]'
expect_code 0 && expect_out whole && expect_in err "↻ restarted scripted"
said=''
run talk echo.yaml
expect_code 0 && expect_out ""
said='hi\n'
run talk echo.yaml --json
expect_code 0 && expect_in out '{"type":"turn","status":"done","messages":[{"type":"user","content":"hi"'
run talk agent.yaml
expect_code 5 && expect_in err "--thread"
expect_not_in err "not sent"
# Lines that remain in the pipe are reported; the program does not wait for more lines.
said='hi\n\nthere\nyou \\\ntwo\n \nlast'
run talk agent.yaml
expect_code 5 && expect_in err "3 more lines were not sent" && expect_in err "with --thread"
run sh -c 'yes | "$0" chat agent.yaml' "$TENON"
expect_code 5 && expect_in err "more lines were not sent"
mkfifo silent
run sh -c '"$0" chat agent.yaml <silent & exec 3>silent; printf "hi\nyou\n" >&3; wait $!' "$TENON"
expect_code 5 && expect_in err "1 more line was not sent"
# An approval is one line that people can read.
said='hi\n'
run talk agent.yaml
[ "$(grep -c 'waiting for an approval: node agent/tools: may extract be called with {"from":"see https://a.example/x","what":"links"}? the document sets `ask` for `extract`; for tools `tools` of document `agent.yaml#react.json`, for agent `agent` of document `agent.yaml` (id ' "$work/err")" = 1 ] ||
    fails "expected the approval as one line"
expect_not_in err schema
# A line that fails does not end the conversation; the exit code is that of the first one.
said='\xff\nhi\n'
run talk echo.yaml
expect_code 2 && expect_in err "not valid UTF-8" && expect_out "you said hi, calm"
said='bad\ngood\n\xff\n'
run talk fails.yaml
expect_code 1 && expect_out "$(printf 'first\nsecond\nfirst\nsecond\nn1')" && expect_in err "division by zero"
# --quiet: neither the calls of tools nor warnings, also those of the host.
said='which link?\n'
printf 'plugins: {config: {acme.absent: {}}}\n' >quiet.yaml
run talk auto.yaml --config quiet.yaml
expect_in err "→ extract" && expect_in err "warning: " && expect_in err acme.absent
run talk auto.yaml --config quiet.yaml --quiet
expect_code 0 && [ ! -s "$work/err" ] || fails "expected nothing on standard error"
sed 's/name: messages, type: reduce, reducer: messages/name: talk, type: append/; s/messages/talk/g' echo.yaml >talk.yaml
said='hi\n'
run talk talk.yaml
expect_code 3 && expect_in err 'the document has no channel `messages`' && expect_in err "--channel"
run talk talk.yaml --channel talk
expect_code 0 && expect_out "you said hi, calm"
run talk echo.yaml --channel mood
expect_code 3 && expect_in err "does not collect messages"
