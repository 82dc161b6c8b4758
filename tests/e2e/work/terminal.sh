# On a terminal: the view of a worker, the questions of `tenon ask`, and notifications in a chat. This takes some seconds,
# because views and chats look at intervals.
command -v python3 >/dev/null || skips "python3 is not installed"
terminal() { last="terminal: $*" code=0; python3 "$SOURCE/tests/e2e/terminal.py" "$@" >"$work/out" 2>"$work/err" || code=$?; }
strategy double 'type: set, config: {values: {user_output: "string(state.task.payload.n * 2)"}}'
strategy asks 'type: test.ask, config: {out: user_output}' 'type: set, config: {values: {user_output: "\"you said \" + state.user_output"}}'
strategy notify 'type: set, config: {values: {user_output: "state.task.payload.message"}}'
cat >tenon.yaml <<'YAML'
work:
  work: {strategy: ./double.yaml, retries: {max_attempts: 1}}
  user_request: {strategy: ./asks.yaml}
  notification: {strategy: ./notify.yaml}
YAML

# ---- The view ----
create work '{"n": 21}'
create work '{"n": "x"}'
terminal "$TENON" work $nodes --types work --name viewer <<'T'
wait worker viewer  running  0 of at most 16 Tasks
wait claimed  running     done   failed  waiting  retried
wait work                2        0        1        1        0        0
wait   EXPRESSION_ERROR: node
key C-c
wait ending:
end
T
expect_code 0 && expect_in out "worker viewer has ended: 1 done, 1 failed"

# ---- A question of a Task ----
terminal "$TENON" ask Hello $nodes <<'T'
wait may I?
wait answer:
send yes
wait you said yes
end
T
expect_code 0

# ---- What was streamed is not printed again ----
strategy talks 'type: test.tokens' 'type: set, config: {values: {user_output: "\"Hello\""}}'
sed -i 's/^  notification:/  talks: {strategy: .\/talks.yaml}\n&/' tenon.yaml
terminal "$TENON" ask Hi --type talks --stream $nodes <<'T'
wait Hello
end
T
expect_code 0
[ "$(grep -c Hello "$work/out")" = 1 ] || fails "expected the answer once"

# ---- Notifications ----
cat >echo.yaml <<'YAML'
version: "1.0"
agent: {name: echo}
channels: [{name: messages, type: reduce, reducer: messages}]
nodes:
  - {id: answer, type: set, config: {values: {messages: '{"type": "ai", "content": "you said " + state.messages[state.messages.size() - 1].content}'}}}
edges: [{from: START, to: answer}, {from: answer, to: END}]
YAML
create notification '{"message": "**First**\nof two lines", "severity": "warn"}'
first=$id
create notification '{"message": "Which one?", "related_task_id": "t-1", "interrupt_id": "0123456789abcdef"}'
run "$TENON" chat echo.yaml </dev/null # a pipe leaves them to people
expect_not_in err First
terminal "$TENON" chat echo.yaml --no-notifications <<'T'
wait > 
key C-d
end
T
expect_not_in out First
terminal "$TENON" chat echo.yaml <<'T'
wait notification (warn): **First**
wait of two lines
wait notification (info): Which one?
wait answer: tenon thread answer t-1 0123456789abcdef=VALUE
wait > 
send hi
wait you said hi
wait > 
key C-d
end
T
expect_code 0
id=$first
shows '"state":"done"' && expect_in out 'chat"'

# Above the line that is being typed; this needs an editor for the line.
[[ $(ldd "$TENON") == *libedit* ]] || exit 0
export TENON
export TERM=xterm
terminal "$TENON" chat echo.yaml --set 'messages=[]' <<'T'
wait > 
type he
run "$TENON" task create notification --payload '{"message": "Later"}' >late.out
wait notification (info): Later
wait > he
send y
wait you said hey
wait > 
key C-d
end
T
expect_code 0
