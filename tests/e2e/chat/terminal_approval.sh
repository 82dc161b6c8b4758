# On a terminal: the question whether a tool may be called.
command -v python3 >/dev/null || skips "python3 is not installed"
answer() { # LETTERS…: the possible answers to the question about the tool
    { echo "wait > "; echo "send which link?"; echo "wait approve the call of extract?"; echo "wait [e]dit?"
      for line in "$@"; do echo "$line"; done; echo "wait > "; echo "key C-d"; echo end; } >script
    terminal "$TENON" chat agent.yaml <script
}
answer "send y" "wait ← extract" "wait One link."
expect_code 0
answer "send x" "wait y, n, a or e" "send n" "wait reason (" "send too far" "wait too far" "wait One link."
expect_code 0 && expect_in out "✗ extract"
answer "send e" "wait arguments" "send {" "wait not valid JSON" "send {\"from\": \"x\", \"what\": \"linkz\"}" "wait at /arguments/what" "wait arguments" "send {\"from\": \"https://b.example/\", \"what\": \"links\"}" "wait b.example" "wait One link."
expect_code 0
answer "send a" "wait One link."
expect_code 0
# A call is shown before it is approved, even if a call of an earlier turn had the same id.
sed 's/tools: \[extract\]$/tools: [{name: extract, approval: ask}]/' same.yaml >asked.yaml
{ echo "wait > "; echo "send 1"; for i in 1 2; do echo "wait → extract"; echo "wait approve the call of extract?"; echo "wait [e]dit?"
  echo "send y"; echo "wait ← extract"; done; echo "wait so"; echo "wait > "; echo "send /exit"; echo end; } >script
terminal "$TENON" chat asked.yaml <script
expect_code 0
# With a thread, Ctrl-C at the question ends the chat.
for key in "key C-c" "send n
wait reason (
key C-c"; do
    rm -rf "$XDG_STATE_HOME" "$XDG_DATA_HOME"
    terminal "$TENON" chat agent.yaml --thread asked <<T
wait > 
send which link?
wait [e]dit?
$key
end
T
    expect_code 130
done
# Without one, it discards the turn, as Ctrl-D does; the conversation continues from before it.
for key in "key C-d" "key C-c" "send n
wait reason (
key C-d"; do
    terminal "$TENON" chat agent.yaml <<T
wait > 
send which link?
wait [e]dit?
$key
wait (cancelled
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
# What was typed before the question does not answer it.
terminal "$TENON" chat agent.yaml <<'T'
wait > 
sends which link?\nyes
wait [e]dit?
key C-d
wait (cancelled
wait > 
key C-d
end
T
expect_code 0 && expect_not_in out "One link."
# The questions of a pipe are not asked, although there is a terminal: the run waits.
for options in "" --json; do
    terminal sh -c 'printf "which link?\nnext\n" | "$0" chat agent.yaml $1' "$TENON" "$options" <<<end
    expect_code 5 && expect_in out "waiting for an approval: node agent/tools" && expect_in out "1 more line was not sent"
done
# A waiting run has not failed. A call that is too long to be shown is reported as such.
sed "s|see https://a.example/x|$(printf 'x%.0s' {1..3000})|" agent.yaml >long.yaml
terminal "$TENON" run long.yaml --set messages='[{"type": "user", "content": "which?"}]' <<'T'
wait … and 1
wait bytes more, which are not shown
wait [e]dit?
send y
end
T
expect_code 0 && expect_in out "?   1  agent" && expect_not_in out "✗"
# Ctrl-C at the question of a run cancels it.
terminal "$TENON" run agent.yaml --set messages='[{"type": "user", "content": "which?"}]' <<'T'
wait [e]dit?
key C-c
wait the run was cancelled
end
T
expect_code 130
