# `tenon run`: its input, its output, its exit codes, and what it does when somebody is rude to it.
hello=$SOURCE/samples/hello/hello.yaml
result='{"name":"Ada","greeting":"Hello, Ada!"}'

# graph NAME TYPE CONFIG: a document NAME.yaml of one node.
graph() {
    cat >"$1.yaml" <<YAML
version: "1.0"
channels: [{name: a, type: last_value}, {name: b, type: last_value}]
nodes: [{id: only, type: $2, config: $3}]
edges: [{from: START, to: only}, {from: only, to: END}]
YAML
}
# once WHAT: the message is there, and it is the only one.
once() { expect_in err "$1" && [ "$(grep -c '^tenon: \|: error' "$work/err")" = 1 ] || fails "expected one message"; }
quiet() { [ ! -s "$work/err" ] || fails "expected nothing on standard error"; }

# ---- Input ----
run tenon run "$hello" --input '{"name": "Ada"}'
expect_code 0 && expect_out "$result" && quiet
printf '{"name": "Ada"}' >input.json
run tenon run "$hello" --input @input.json
expect_out "$result"
run bash -c '"$TENON" run "$1" -i - <input.json' - "$hello"
expect_out "$result"
run bash -c '"$TENON" run - <"$1" --set name=Ada' - "$hello"
expect_out "$result"
run bash -c '"$TENON" run <(cat "$1") --set name=Ada' - "$hello"
expect_out "$result"
run tenon run -qsname=Ada -- "$hello"
expect_out "$result"
run tenon run "$hello" --set=name=Eve --set name=Ada
expect_out "$result"

# --set: JSON where it reads as JSON, else text; paths; what is there already stays.
graph same passthrough '{}'
run tenon run same.yaml --input '{"a": {"x": 1, "z": null}}' --set a.y.deep=2 --set a.z.w='[1, "t", null]' --set b=true
expect_out '{"a":{"x":1,"z":{"w":[1,"t",null]},"y":{"deep":2}},"b":true}'
run tenon run same.yaml --set 'a={not json' --set 'b=x=y'
expect_out '{"a":"{not json","b":"x=y"}'
run tenon run same.yaml --set a= --set 'b="1"'
expect_out '{"a":"","b":"1"}'
for wrong in a =1 '' .a=1 a.=1 a..b=1 .=1; do
    run tenon run same.yaml --set "$wrong"
    expect_code 2 && once "--set: found" && expect_in err "as in user.name"
done
run tenon run same.yaml --input '{"a": [1]}' --set a.0=2
expect_code 2 && once 'found array at `a`, expected an object'
run tenon run same.yaml --input '[1]' --set a=2
expect_code 2 && once "--input: found array, expected an object"
run tenon run same.yaml --set "$(printf 'a.%.0s' {1..80})a=1"
expect_code 2 && once "at most 64 names"
run tenon run same.yaml --set $'a=\377'
expect_code 2 && once "is not UTF-8"

run tenon run "$hello" --input '{"nam": 1}'
expect_code 1 && once 'did you mean `name`?' && expect_out ""
run tenon run "$hello" --input '{"name": '
expect_code 2 && once "--input: found the end of the text, expected a value, at line 1, column 10"
run tenon run "$hello" --input @absent.json
expect_code 2 && once "cannot open absent.json: No such file or directory"
run tenon run "$hello" --input @.
expect_code 2 && once "Is a directory"
run tenon run - --input -
expect_code 2 && once "standard input is the document already; give --input a file"
cat >schema.yaml <<'YAML'
version: "1.0"
input: {type: object, properties: {n: {type: integer, minimum: 1}}, required: [n]}
channels: [{name: n, type: last_value}]
nodes: [{id: only, type: passthrough}]
edges: [{from: START, to: only}, {from: only, to: END}]
YAML
run tenon run schema.yaml --set n=0
expect_code 1 && once "n"
run tenon run schema.yaml
expect_code 1 && once '`n`'
run tenon run schema.yaml --set n=1
expect_code 0 && expect_out '{"n":1}'

# ---- The document ----
run tenon run absent.yaml
expect_code 2 && once "cannot open absent.yaml: No such file or directory"
run tenon run .
expect_code 2 && once "Is a directory"
run tenon run /dev/null
expect_code 3 && once "the document is nothing; expected a mapping"
sed 's/greet,/greeet,/' "$hello" >typo.yaml
run tenon run typo.yaml
expect_code 3 && expect_out "" && expect_in err "typo.yaml:" && expect_in err 'did you mean `greeet`?'
expect_not_in err "$PWD/typo.yaml" # the name that was given
run tenon run typo.yaml --json
expect_code 3 && quiet && expect_in out '{"diagnostics":[{"code":"ADL-E'
for text in '{' '[' '"' '- - - -' $'\t' '%YAML 9.9' '*x' '!!python/object:os.system x' $'\377\376' '{"version": "1.0"' '---' '<<: {}'; do
    printf '%s' "$text" >broken.yaml
    run tenon run broken.yaml
    expect_code 3 && expect_out "" && expect_in err "broken.yaml:1:"
done
head -c 30000 /dev/zero | tr '\0' '[' >deep.yaml
run tenon run deep.yaml
expect_code 3 && expect_in err "deep.yaml:1:129: error[ADL-E011]"
[ "$(wc -c <"$work/err")" -lt 2000 ] || fails "a line of 30,000 characters is not cut"
head -c 17000000 /dev/zero | tr '\0' '#' >huge.yaml
run tenon run huge.yaml
expect_code 3 && once "huge.yaml"
{
    echo 'a: &a [x, x, x, x, x, x, x, x, x, x]'
    for i in b c d e f g h i j; do echo "$i: &$i [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]"; done | sed 's/^b:/b:/'
} >laughs.yaml
run tenon run laughs.yaml
expect_code 3
head -c 70000000 /dev/zero >enormous.yaml
run tenon run enormous.yaml
expect_code 2 && once "enormous.yaml is longer than 64 MiB"
rm enormous.yaml huge.yaml

# What a document needs and is not there.
cat >needs.yaml <<'YAML'
version: "1.0"
requires: [acme.sentiment >= 1.2]
nodes: [{id: judge, type: passthrough}]
edges: [{from: START, to: judge}, {from: judge, to: END}]
YAML
run tenon run needs.yaml
[ "$code" = 3 ] || [ "$code" = 4 ] || fails "expected exit code 3 or 4"
once "acme.sentiment" && expect_in err "tenon plugin list"
graph nosuch acme.mood '{}'
run tenon run nosuch.yaml
expect_code 3 && once 'there is no node type `acme.mood`'
expect_in err "help: "

# ---- Exit codes of runs; what goes where ----
graph boom fail '{code: SOLD_OUT, message: "nothing left"}'
run tenon run boom.yaml
expect_code 1 && expect_out "" && once 'node `only`: nothing left [SOLD_OUT]'
graph waits test.ask '{out: a}'
run tenon run waits.yaml --plugins "$TEST_NODES"
expect_code 5 && expect_in out '"a"' && expect_in err "waits for answers" && expect_in err "may I?"
# What it says to do, done.
expect_in err 'nothing of a run without a thread is kept; run it with `tenon run waits.yaml --thread THREAD`'
grep -o '`tenon [^`]*`' "$work/err" | tr -d '`' >said
[ "$(wc -l <said)" = 3 ] || fails "expected three commands to be named"
while read -r _ line; do
    id=$(tenon thread show asked --json 2>"$work/err" | grep -o '"id":"[0-9a-f]*"' | cut -d'"' -f4 || true)
    line=${line//THREAD/asked}
    # shellcheck disable=SC2086
    run tenon ${line//ID=VALUE/$id=fine} --plugins "$TEST_NODES"
done <said
expect_code 0 && expect_in out fine
run tenon run
expect_code 2
run tenon run "$hello" "$hello"
expect_code 2
graph aborts test.aborts '{}'
run tenon run aborts.yaml --no-such-option
expect_code 2
graph declines test.declines '{}'
run tenon run declines.yaml --plugins "$TEST_PLUGINS/declines"
expect_code 4 && once "declines" && expect_out ""

# Nothing that a component says acts on the terminal.
graph rude fail '{message: "\e]0;owned\a\e[31mred\nsecond\rline"}'
run tenon run rude.yaml
expect_code 1 && once "<U+001B>[31mred second<U+000D>line"
LC_ALL=C grep -q "$(printf '[\001-\011\013-\037]')" "$work/err" && fails "control characters on standard error"

# ---- --json and --stream ----
run tenon run "$hello" --set name=Ada --json
expect_code 0 && quiet
tail -n 1 "$work/out" | grep -q '^{"type":"result","status":"done",.*"state":{"name":"Ada","greeting":"Hello, Ada!"}}$' || fails "the last line"
[ "$(wc -l <"$work/out")" -ge 3 ] || fails "expected events"
run tenon run "$hello" --set name=Ada --json --run-config '{"run_id": "r-1", "tags": ["t"], "metadata": {"k": 1}}'
expect_in out '"run_id":"r-1"'
run tenon run boom.yaml --json
expect_code 1 && tail -n 1 "$work/out" | grep -q '^{"type":"result","status":"failed",.*"error":{"code":"SOLD_OUT"' || fails "the last line"
for mode in values updates tasks checkpoints debug; do
    run tenon run "$hello" --stream $mode --json
    expect_code 0
    sed '$d' "$work/out" | grep -vq "^{\"type\":\"$mode\"," && fails "an event of another mode"
    [ "$(wc -l <"$work/out")" -gt 1 ] || fails "no event of mode $mode"
    run tenon run "$hello" --set name=Ada --stream $mode
    expect_out "$result" && expect_in err "{\"type\":\"$mode\","
done
graph says emit '{value: "{\"progress\": 2 + 3}"}'
run tenon run says.yaml --stream custom,values --json
expect_in out '{"type":"custom","step":1,"node":"only","data":{"progress":5}}'
expect_in out '{"type":"values"'
run tenon run says.yaml --stream all --json
expect_in out '{"type":"custom"' && expect_in out '{"type":"checkpoints"'
run tenon run "$hello" --stream valuse
expect_code 2 && once 'did you mean `values`?'
for wrong in '' , all,,values 'values updates'; do
    run tenon run "$hello" --stream "$wrong"
    expect_code 2 && once "expected values, updates, messages, custom, tasks, checkpoints, debug or all"
done
if command -v python3 >"$work/which"; then
    run tenon run "$hello" --stream all --json
    python3 -c 'import json, sys; [json.loads(line) for line in sys.stdin]' <"$work/out" || fails "a line is no JSON"
fi

# ---- --run-config ----
run tenon run "$hello" --run-config '{"recursionlimit": 1}'
expect_code 2 && once 'did you mean `recursion_limit`?'
run tenon run "$hello" --run-config '{"recursion_limit": "9"}'
expect_code 2 && once "expected an integer"
run tenon run "$hello" --run-config '{"recursion_limit": -1}'
expect_code 2
run tenon run "$hello" --run-config '[]'
expect_code 2 && once "expected an object"
run tenon run "$hello" --run-config '{'
expect_code 2 && once "--run-config"
cat >loop.yaml <<'YAML'
version: "1.0"
channels: [{name: n, type: last_value, default: 0}]
nodes: [{id: a, type: set, config: {values: {n: state.n + 1}}}]
edges:
  - {from: START, to: a}
  - from: a
    type: conditional
    conditions: [{expression: state.n < 100000000, to: a}, {expression: default, to: END}]
YAML
run tenon run loop.yaml --run-config '{"recursion_limit": 7}'
expect_code 1 && once "7" && expect_in err "RECURSION"
run tenon run loop.yaml --run-config '{"recursion_limit": 1}'
expect_code 1 && expect_in err "has taken 1 step, which"

# ---- --batch ----
printf '%s\n' '{"name": "a"}' '' '{"nam": "b"}' '{bad' '[1]' '{"name": "c"}' >lines.jsonl
run tenon run "$hello" --batch lines.jsonl --concurrency 2
expect_code 1 && once "3 of 5 runs failed"
[ "$(wc -l <"$work/out")" = 5 ] || fails "expected a line for each input"
sed -n 1p "$work/out" | grep -qxF '{"output":{"name":"a","greeting":"Hello, a!"}}' || fails "line 1"
sed -n 2p "$work/out" | grep -qF 'did you mean `name`?' || fails "line 2"
sed -n 3p "$work/out" | grep -qF '"message":"lines.jsonl:4:2: found `bad`, expected a key in double quotes"' || fails "line 3"
sed -n 4p "$work/out" | grep -qF 'array' || fails "line 4"
sed -n 5p "$work/out" | grep -qxF '{"output":{"name":"c","greeting":"Hello, c!"}}' || fails "line 5"
run tenon run "$hello" --batch lines.jsonl --json
expect_code 1 && [ "$(wc -l <"$work/out")" = 5 ] || fails "expected a line for each input"
sed -n 1p "$work/out" | grep -qxF '{"type":"result","line":1,"output":{"name":"a","greeting":"Hello, a!"}}' || fails "line 1"
sed -n 2p "$work/out" | grep -q '^{"type":"result","line":3,"error":{' || fails "line 3, after one that is blank"
sed -n 3p "$work/out" | grep -q '^{"type":"result","line":4,"error":{' || fails "line 4, which is no JSON"
sed -n 5p "$work/out" | grep -q '^{"type":"result","line":6,"output":{' || fails "line 6"
for i in $(seq 500); do echo "{\"name\":$i}"; done >many.jsonl
for i in $(seq 500); do echo "{\"output\":{\"name\":$i,\"greeting\":\"Hello, $i!\"}}"; done >many.expected
for n in 1 7 1000; do
    run tenon run "$hello" --batch many.jsonl -j $n
    expect_code 0 && quiet
    cmp -s "$work/out" many.expected || fails "the order of results, $n at once"
done
run bash -c '"$TENON" run "$1" --batch - <many.jsonl' - "$hello"
cmp -s "$work/out" many.expected || fails "from standard input"
run tenon run "$hello" --batch absent.jsonl
expect_code 2 && once "absent.jsonl"
run tenon run "$hello" --batch /dev/null
expect_code 0 && expect_out ""
for n in 0 -1 x '' 1e3 99999999999999999999; do
    run tenon run "$hello" --batch many.jsonl --concurrency "$n"
    expect_code 2 && once "expected a whole number from 1 to 100000"
done
run tenon run "$hello" --batch many.jsonl --set name=x
expect_code 2 && once "--set does not go with --batch"
run tenon run "$hello" --concurrency 2
expect_code 2 && once "--concurrency"

# ---- Outputs that cannot be written, inputs that cannot be read ----
for options in '' --json '--batch many.jsonl'; do
    # shellcheck disable=SC2086
    run bash -c '"$TENON" run "$@" >/dev/full' - "$hello" $options
    expect_code 1 && once "cannot write to standard output: No space left on device"
    # shellcheck disable=SC2086
    run bash -c '"$TENON" run "$@" >&-' - "$hello" $options
    expect_code 1 && once "cannot write to standard output: Bad file descriptor"
done
run bash -c '"$TENON" run "$1" --set name=Ada <&-' - "$hello"
expect_code 0 && expect_out "$result"
run bash -c '"$TENON" run "$1" --set name=Ada 2>&-' - "$hello"
expect_code 0 && expect_out "$result"
run bash -c '"$TENON" run - <&-'
expect_code 2 && once "cannot read standard input"
# A reader that goes away ends the run, which would go on for very long.
graph slow delay '{ms: 600000}'
run bash -c 'set -o pipefail; timeout 60 "$TENON" run loop.yaml --json --run-config "{\"recursion_limit\": 9000000}" | head -n 1'
expect_code 1 && once "Broken pipe"

# ---- Interrupted ----
# Started with its signals as a terminal's foreground has them; interrupted once the node runs.
interrupted() {
    local signal=$1 pid line
    shift
    mkfifo "$work/fifo"
    env --default-signal=INT "$TENON" run "$@" 2>"$work/err" >"$work/fifo" </dev/null &
    pid=$!
    exec 3<"$work/fifo"
    : >"$work/out"
    while IFS= read -r line <&3; do
        echo "$line" >>"$work/out"
        [[ $line == *'"event":"start"'* ]] || continue
        kill "-$signal" "$pid"
        break
    done
    cat <&3 >>"$work/out"
    exec 3<&-
    code=0
    wait "$pid" || code=$?
    rm "$work/fifo"
}
for signal in INT TERM; do
    last="run slow.yaml --json, then SIG$signal"
    interrupted $signal slow.yaml --json
    expect_code 130 && once "cancelled"
    tail -n 1 "$work/out" | grep -q '^{"type":"result","status":"cancelled",' || fails "the last line"
done

# ---- What was probably not meant is told, whatever else is shown; not to those who want to know nothing ----
cat >empty.yaml <<'YAML'
version: "1.0"
channels: [{name: list, type: last_value, default: []}, {name: out, type: append}]
nodes: [{id: plan, type: passthrough}, {id: work, type: set, config: {values: {out: item}}}]
edges:
  - {from: START, to: plan}
  - {from: plan, type: map, over: state.list, as: it, to: work}
  - {from: work, to: END}
YAML
run tenon run empty.yaml
expect_code 0 && once 'warning: plan: the list of its map edge is empty' && expect_in err 'by `empty`'
run tenon run empty.yaml --json
expect_code 0 && once 'warning: plan: the list of its map edge is empty' && expect_not_in out debug
run tenon run empty.yaml --stream debug
expect_code 0 && expect_in err '"event":"empty_map","level":"warning","node":"plan"' && expect_not_in err "warning:"
run tenon run empty.yaml --quiet
expect_code 0 && quiet
run tenon run empty.yaml --set list=[1]
expect_code 0 && quiet

# ---- Nothing is left that the host knows of: said, with the node and its plugin; and a timeout ends it ----
graph hangs test.hang '{}'
cat >around.yaml <<'YAML'
version: "1.0"
nodes: [{id: around, type: subgraph, config: {document: hangs.yaml}}]
edges: [{from: START, to: around}, {from: around, to: END}]
YAML
# said NODE FILE: waits until it has been said, then asks the run to end.
said() {
    local pid line
    last="run $2, which hangs"
    mkfifo "$work/fifo"
    "$TENON" run "$2" --plugins "$TEST_NODES" 2>"$work/fifo" >"$work/out" </dev/null &
    pid=$!
    : >"$work/err"
    exec 3<"$work/fifo"
    while IFS= read -r -t 60 line <&3; do
        echo "$line" >>"$work/err"
        [[ $line != *"waits for ever"* ]] || kill -TERM "$pid"
    done
    exec 3<&-
    code=0
    wait "$pid" || code=$?
    rm "$work/fifo"
    expect_code 130
    expect_in err "warning: node \`$1\` (test.hang, of the plugin tenon.test) has been started and has not ended"
    [ "$(grep -c 'waits for ever' "$work/err")" = 1 ] || fails "expected it once"
}
said only hangs.yaml
said around/only around.yaml
sed 's/type: test.hang/timeout: 1ms, type: test.hang/' hangs.yaml >ends.yaml
run tenon run ends.yaml --plugins "$TEST_NODES"
expect_code 1 && once "[TIMEOUT]" && expect_not_in err "waits for ever"

# ---- On a terminal ----
command -v script >"$work/which" || { echo "no script(1): the live view is not tested"; exit 0; }
# on_terminal COMMAND: both streams and the input are a terminal.
on_terminal() { run env TERM=xterm timeout 60 script -qec "$1" /dev/null; tr -d '\r' <"$work/out" >seen && cp seen "$work/out"; }
on_terminal "'$TENON' run '$hello' --set name=Ada"
expect_code 0 && expect_in out ": 1 node" && expect_in out "✓" && expect_in out "greet" && expect_in out " after 1 step, "
expect_in out '  "greeting": "Hello, Ada!"' # indented
expect_in out "$(printf '\033[')"
for plain in "NO_COLOR=1" "TERM=dumb"; do
    on_terminal "$plain '$TENON' run '$hello' --set name=Ada --color auto"
    grep -q "$(printf '\033\\[[0-9;]*m')" "$work/out" && fails "colour with $plain"
done
on_terminal "'$TENON' run '$hello' --quiet"
expect_not_in out "after 1 step"
on_terminal "'$TENON' run rude.yaml"
expect_code 1 && expect_in out "✗" && expect_not_in out "$(printf '\033]0')"
on_terminal "'$TENON' run '$hello' --batch many.jsonl >/dev/null"
expect_in out "500 of 500"

# Ctrl-C there: said what happens, and the second ends at once even what does not listen.
command -v python3 >"$work/which" || { echo "no python3: Ctrl-C on a terminal is not tested"; exit 0; }
graph deaf test.hang '{}'
cat >type.py <<'PYTHON'
import os, pty, signal, sys
times, command = int(sys.argv[1]), sys.argv[2:]
signal.alarm(60)
pid, terminal = pty.fork()
if pid == 0:
    os.execv(command[0], command)
seen = b""
def until(text):
    global seen
    while text not in seen:
        seen += os.read(terminal, 4096)
until("…".encode())  # the node runs
os.write(terminal, b"\x03")
until(b"Ctrl-C again ends at once")
for _ in range(times - 1):
    os.write(terminal, b"\x03")
try:
    while True:
        more = os.read(terminal, 4096)
        if not more:
            break
        seen += more
except OSError:
    pass
sys.stdout.buffer.write(seen)
status = os.waitpid(pid, 0)[1]
print("signal", os.WTERMSIG(status)) if os.WIFSIGNALED(status) else print("exit", os.WEXITSTATUS(status))
PYTHON
run python3 type.py 1 "$TENON" run slow.yaml
expect_in out "exit 130" && expect_in out "cancelled after 1 step" && expect_in out "[CANCELLED]"
run python3 type.py 2 "$TENON" run deaf.yaml --plugins "$TEST_NODES"
expect_in out "signal 2"
