# On a terminal: the live view.
command -v script >"$work/which" || skips "script(1) is not installed"
# on_terminal COMMAND: standard input, output and error are a terminal
for i in $(seq 500); do echo "{\"output\":{\"name\":$i,\"greeting\":\"Hello, $i!\"}}"; done >many.expected
on_terminal() { run env TERM=xterm timeout 60 script -qec "$1" /dev/null; tr -d '\r' <"$work/out" >seen && cp seen "$work/out"; }
on_terminal "'$TENON' run '$hello' --set name=Ada"
expect_code 0 && expect_in out ": 1 node" && expect_in out "✓" && expect_in out "   1  greet  " && expect_in out " after 1 step, "
expect_in out '  "greeting": "Hello, Ada!"' # indented
expect_in out "$(printf '\033[')"
for plain in "NO_COLOR=1" "TERM=dumb"; do
    on_terminal "$plain '$TENON' run '$hello' --set name=Ada --color auto"
    grep -q "$(printf '\033\\[[0-9;]*m')" "$work/out" && fails "found colors with $plain"
done
on_terminal "'$TENON' run '$hello' --quiet"
expect_not_in out "after 1 step"
on_terminal "'$TENON' run rude.yaml"
expect_code 1 && expect_in out "✗" && expect_not_in out "$(printf '\033]0')"
on_terminal "'$TENON' run '$hello' --batch many.jsonl >/dev/null"
expect_in out "500 of 500"
# On one terminal, a result is a whole line: the progress before it is removed.
run env TERM=xterm timeout 60 script -qec "'$TENON' run '$hello' --batch many.jsonl" /dev/null
sed 's/.*\r\x1b\[K//; s/\r//g' "$work/out" | grep '^{"output"' | cmp -s - many.expected || fails "a result shares its line with the progress"
grep '"output"' "$work/out" | grep -qv "$(printf '\r\033\[K')" && fails "a result follows the progress on its line"
# If the reader of a pipe writes to the same terminal, there is no progress.
on_terminal "'$TENON' run '$hello' --batch many.jsonl | cat"
expect_code 0 && cmp -s "$work/out" many.expected || fails "found something beside the results"
on_terminal "'$TENON' run '$hello' --batch many.jsonl --quiet"
expect_not_in out "of 500"
# The events of --stream are shown instead of the live view. Warnings are shown with every mode.
on_terminal "'$TENON' run '$hello' --set name=Ada --stream updates"
expect_code 0 && expect_in out '{"type":"updates","step":1,"node":"greet"' && expect_not_in out " after 1 step, "
on_terminal "'$TENON' run empty.yaml --stream updates"
expect_code 0 && expect_in out "warning: plan: the list of its map edge is empty"
on_terminal "'$TENON' run empty.yaml --stream debug"
expect_code 0 && expect_in out '"event":"empty_map","level":"warning","node":"plan"' && expect_not_in out "warning: plan"
# A waiting node shows the time since its start, and a map the number of items that have ended.
sed 's/default: \[\]/default: [1, 2, 3]/' empty.yaml >map.yaml
on_terminal "'$TENON' run map.yaml --run-config '{\"concurrency\": 1}'"
expect_code 0 && expect_in out "… work 0/3" && expect_in out "… work 2/3" && expect_not_in out "3/3"
command -v python3 >"$work/which" || skips "python3 is not installed"
graph waits delay '{ms: 600000}'
code=0
printf 'wait … only 1s\nkey C-c\nend\n' | python3 "$SOURCE/tests/e2e/terminal.py" "$TENON" run waits.yaml >"$work/out" 2>"$work/err" || code=$?
expect_code 130
