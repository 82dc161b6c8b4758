# On a terminal: a line can be edited, and earlier lines are recalled, also in another process. This needs libedit.
command -v python3 >/dev/null || skips "python3 is not installed"
[[ $(ldd "$TENON") == *libedit* ]] || skips "built without libedit"
export TERM=xterm
terminal "$TENON" chat echo.yaml --set mood=glad <<'T'
wait > 
type hllo thére
key C-a
key C-f
send e
wait you said hello thére, glad
wait > 
key C-p
send !
wait you said hello thére!, glad
wait > 
send one\
wait ... 
send two
wait two, glad
wait > 
key C-d
end
T
expect_code 0
[ "$(stat -c %a "$XDG_STATE_HOME/tenon/chat_history")" = 600 ] || fails "expected a history for its user only"
terminal "$TENON" chat echo.yaml <<'T'
wait > 
key C-p
key C-p
key C-p
send
wait you said hello thére!, calm
wait > 
type not this
wait not this
key C-c
wait > 
send nor this\
wait ... 
key C-c
wait > 
key C-c
wait (Ctrl-C again
wait > 
send still here
wait you said still here, calm
wait > 
key C-c
wait (Ctrl-C again
wait > 
key C-c
end
T
expect_code 130
# Lines that a terminal marks as a paste answer a question together, however long they are. The history is kept although
# the program is killed.
cat >asks.yaml <<'Y'
version: "1.0"
agent: {name: asks}
channels: [{name: messages, type: reduce, reducer: messages}, {name: given, type: last_value}]
nodes:
  - {id: ask, type: ask, config: {question: "What?", output_key: given, answer_schema: {type: string}}}
  - {id: answer, type: set, config: {values: {messages: '{"type": "ai", "content": "got " + string(state.given.size()) + " bytes"}'}}}
edges: [{from: START, to: ask}, {from: ask, to: answer}, {from: answer, to: END}]
Y
terminal sh -c 'echo $$ >pid; exec "$0" chat asks.yaml' "$TENON" <<T
wait > 
send ask me
wait   answer: 
type $(printf '\033[200~')$(printf 'x%.0s' {1..5000})
send $(printf 'and more\033[201~')
wait got 5008 bytes
wait > 
run kill -9 \$(cat pid)
end
T
expect_code 247
terminal "$TENON" chat echo.yaml <<'T'
wait > 
key C-p
send
wait you said ask me, calm
wait > 
key C-d
end
T
expect_code 0
terminal "$TENON" chat echo.yaml --channel absent <<<end
expect_code 3
# A terminal that cannot edit has no editor.
TERM=dumb terminal "$TENON" chat echo.yaml <<'T'
wait > 
send hi
wait you said hi, calm
wait > 
key C-d
end
T
expect_code 0 && expect_not_in out "$(printf '\033')"
