# Tools from descriptions (plugins/define): documents, commands, HTTP requests and other tools; mistakes in descriptions.
check_mode=1
[ -e "$BINARY/lib/tenon/plugins/agents.so" ] || skips "built without the agents"
call() { run tenon tool call "$@"; } # TOOL JSON

cat >tenon.yaml <<'Y'
plugins:
  config:
    tenon.define:
      tools:
        - {document: shout.yaml, effects: []}
        - {document: shout.yaml, name: loud, effects: [], result: text, arguments: {text: "{word}{{}}", times: 2}, input: {type: object, properties: {word: {type: string}}}}
        - {name: loudest, tool: loud, effects: [], arguments: {word: "{w}"}}
        - {name: same, tool: loud, effects: []}
        - {name: say, effects: [], description: Says it, command: [printf, "<%s>", "{text}", "-{n}-", "{missing}"], input: {type: object, properties: {text: {type: string}, n: {type: integer}}, required: [text]}}
        - {name: up, effects: [], command: [tr, a-z, A-Z], stdin: "{text}"}
        - {name: all, effects: [], command: [cat], output_as: json, result: a.b}
        - {name: deaf, command: [sh, -c, "exec 0<&-; sleep 0.1; echo ended"], effects: [process.spawn], stdin: "{text}"}
        - {name: env, effects: [], command: [env]}
        - {name: slow, command: [sh, -c, "sleep 100 & sleep 100"], effects: [process.spawn], timeout_ms: 200}
        - {name: escapes, effects: [process.spawn], command: [sh, -c, "setsid sh -c 'echo out >pid; exec sleep 100' & while [ ! -s pid ]; do :; done; echo begun"], sandbox: false}
        - {name: hides, effects: [process.spawn], command: [sh, -c, "setsid sh -c 'echo out >pid; exec sleep 100' & while [ ! -s pid ]; do :; done; exec sleep 100"], sandbox: false, timeout_ms: 1000}
        - {name: stays, command: [sh, -c, "trap '' TERM; sleep 100 & sleep 0.3; echo $$ $! >pids; sleep 100"], effects: [process.spawn, "fs.write:."]}
        - {name: bad, effects: [], command: [sh, -c, "echo oops >&2; exit 3"]}
        - {name: killed, effects: [], command: [sh, -c, "kill -9 $$"]}
        - {name: none, effects: [], command: [does-not-exist]}
        - {name: flood, effects: [], command: [yes]}
        - {name: binary, effects: [], command: [printf, '\377']}
        - {name: nojson, effects: [], command: [echo, "{{"], output_as: json}
        - more.yaml
Y
cat >more.yaml <<'Y'
- name: filed
  document: shout.yaml
  effects: []
  result: text
Y
cat >shout.yaml <<'Y'
version: "1.0"
agent: {name: shout, description: Makes it loud}
input: {type: object, properties: {text: {type: string}, times: {type: integer}}, required: [text]}
channels: [{name: text, type: last_value}, {name: times, type: last_value, default: 1}]
nodes: [{id: a, type: set, config: {values: {text: 'state.text + "!" + string(state.times)'}}}]
edges: [{from: START, to: a}, {from: a, to: END}]
Y
run tenon tool show shout
expect_code 0 && expect_in out "Makes it loud" && expect_in out "    times              integer"

# ---- Documents, and tools under another name ----
call shout '{"text": "hi"}'
expect_code 0 && expect_in out '{"text":"hi!1","times":1}'
call shout '{"txt": "hi"}'
expect_code 2
expect_in err 'tenon: the arguments do not match the schema of the tool `shout`: missing property `text` [INVALID_INPUT]'
call loud '{"word": "hey"}'
expect_code 0 && expect_out 'hey{}!2'
call loudest '{"w": "q"}'
expect_code 0 && expect_out 'q{}!2'
call same '{"word": "x"}'
expect_code 0 && expect_out 'x{}!2'
call filed '{"text": "f"}'
expect_code 0 && expect_out 'f!1'

# ---- Commands: an argument is always one word ----
call say '{"text": "a b; $(id) {n} `", "n": 5}'
expect_code 0 && expect_out '<a b; $(id) {n} `><-5-><>'
expect_in err 'warning: tenon.define: tenon.yaml: plugins.config.tenon.define.tools[4]: `say`: `input` has no argument {missing}'
[ "$(grep -c warning "$work/err")" = 1 ] || fails "expected one warning" # `up` and the others take any argument
call up '{"text": "hello"}'
expect_code 0 && expect_out HELLO
call all '{"a": {"b": [1, {"c": null}]}}'
expect_code 0 && expect_in out '[1,{"c":null}]'
SECRET_OF_MINE=hidden call env '{}'
expect_code 0 && expect_in out 'PATH=' && expect_not_in out SECRET_OF_MINE
call slow '{}'
expect_code 1 && expect_in err "took longer than its timeout_ms" && expect_in err "[TIMEOUT]"
# A process that left the group keeps the pipes open; the call does not wait for it.
call escapes '{}'
expect_code 0 && expect_out begun
rm pid
call hides '{}'
expect_code 1 && expect_in err "[TIMEOUT]"
# Isolated: the sandbox has no process groups.
call say '{"text": "apart", "n": 5}' --isolate tenon.define
expect_code 0 && expect_out '<apart><-5-><>'
# A program that closes its standard input does not end the process of the plugin: 100 KB are more than a pipe holds.
python3 -c "print('{\"text\": \"' + 'x' * 100000 + '\"}')" >long.json
call deaf "$(cat long.json)"
expect_code 0 && expect_out ended
call deaf "$(cat long.json)" --isolate tenon.define
expect_code 0 && expect_out ended
call slow '{}' --isolate tenon.define
expect_code 1 && expect_in err "[TIMEOUT]"
# Ctrl-C cancels the call.
rm -f pids
last='Ctrl-C' code=0
"$TENON" tool call stays '{}' >"$work/out" 2>"$work/err" </dev/null &
host=$!
wait_until test -s pids
kill -TERM "$host"
wait "$host" || code=$?
expect_code 130 && expect_in err "was cancelled [CANCELLED]"
for pid in $(cat pids); do expect_ended "$pid" "process $pid is left"; done
# If the host is killed, the command and its children end, even if they ignore SIGTERM.
expect_children_killed pids "$TENON" tool call stays '{}'
call say '{"text": "a\u0000b"}'
expect_code 1 && expect_in err "contains a NUL" && expect_in err "[INVALID_INPUT]"
call bad '{}'
expect_code 1 && expect_in err "exit code 3: oops" && expect_in err "[COMMAND_FAILED]"
call killed '{}'
expect_code 1 && expect_in err "signal 9"
call none '{}'
expect_code 1 && expect_in err 'the command `does-not-exist` cannot be started: the program `does-not-exist` does not exist in PATH [NOT_FOUND]'
call flood '{}'
expect_code 1 && expect_in err "more than 4 MiB"
call binary '{}'
expect_code 1 && expect_in err "not UTF-8"
call nojson '{}'
expect_code 1 && expect_in err "is not JSON"
head -c 3000000 /dev/zero | tr '\0' x >big
printf '{"text": "%s"}' "$(cat big)" >big.json
call up @big.json
expect_code 0 && [ "$(wc -c <"$work/out")" -gt 3000000 ] || fails "expected all of a large text"

# ---- Mistakes: each is reported with its place, and the other tools work ----
cat >some.yaml <<'Y'
plugins:
  config:
    tenon.define:
      tools:
        - {name: fine.one, command: [echo, one]}
        - {name: bad.secret, http: {url: "http://h/", headers: {a: {secret: NO_SUCH}}}}
        - {name: "9", command: [x]}
        - {name: bad.document, document: gone.yaml}
        - {name: bad.hole, command: [echo, "{"]}
        - list.yaml
        - {name: fine.two, command: [echo, two]}
Y
printf -- '- {name: bad.none}\n- {name: fine.three, command: [echo, three]}\n' >list.yaml
for tool in one two three; do
    call "fine.$tool" '{}' -c some.yaml --yes
    expect_code 0 && expect_out "$tool"
done
expect_in err 'tenon.define: tenon.yaml: plugins.config.tenon.define at /tools/1/http/headers/a: the secret `NO_SUCH` is not available'
expect_in err 'at /tools/2/name: ' && expect_in err 'tenon.define.tools[3]: `document`: ' && expect_in err '/gone.yaml: No such file' && expect_in err 'tenon.define.tools[4]: `bad.hole`'
expect_in err 'list.yaml: [0]: found none of' && expect_not_in err fine.one
[ "$(grep -c 'NO_SUCH` is not available' "$work/err")" = 1 ] || fails "expected one warning about NO_SUCH"
run tenon doctor -c some.yaml
expect_code 4 && expect_in out "tenon.define.tools[4]: \`bad.hole\`"
run tenon tool show bad.hole -c some.yaml
expect_code 2 && expect_in err "[TOOL_NOT_FOUND]"

# ---- Every mistake ----
wrong() { # DESCRIPTION MESSAGE
    echo "plugins: {config: {tenon.define: {tools: [$1]}}}" >wrong.yaml
    run tenon tool call nothing '{}' -c wrong.yaml
    expect_code 2
    expect_in err "$2"
}
wrong '{name: a}' 'found none of `tool`, `http`, `command` and `document`'
wrong '{name: a, command: [x], http: {url: "http://h/"}}' 'found several of `tool`'
wrong '{name: a, command: [echo, "{"]}' 'an unmatched brace'
wrong '{document: gone.yaml}' 'gone.yaml: No such file'
wrong 'gone.yaml' 'gone.yaml: No such file'
wrong '{name: "9", command: [x]}' 'plugins.config.tenon.define at /tools/0/name: found the string "9", expected a match of the pattern'
wrong '{name: task.get, command: [x]}' 'two plugins claim the tool `task.get`: tenon.state'
printf 'a: [1\n' >broken.yaml
wrong 'broken.yaml' "broken.yaml:2: did not find expected ',' or ']'"
printf '&a [*a]\n' >loop.yaml
wrong 'loop.yaml' 'nested more than 200 deep'
printf 'a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f,*f]\n' >laughs.yaml
wrong 'laughs.yaml' 'more than 2,000,000 values'
filed() { echo "$1" >filed.yaml && wrong filed.yaml "$2"; } # the same in a separate file
filed '{name: a, command: [x], timeout: 5}' 'found the unknown key `timeout`'
filed '{name: a, command: [x], timeout_ms: 5s}' '`timeout_ms` is of the wrong kind'
filed '{name: a, command: [x], timeout_ms: -1}' '`timeout_ms`: expected at least 1'
filed '{name: a, http: {url: "http://h/", verb: GET}}' 'found the unknown key `http.verb`'
echo '{"name": "echo.self", "tool": "echo.self"}' >self.yaml
wrong 'self.yaml' 'tenon: no plugin offers the tool `nothing`' # the description is valid
expect_not_in err error:
run tenon tool call echo.self '{}' -c wrong.yaml --yes
expect_code 1 && expect_in err 'tenon: the tool `echo.self` uses others' && expect_in err "does it use itself?"
