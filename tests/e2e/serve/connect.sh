# Commands with --connect print what they print in a host of their own, and have the same exit codes.
sed 's/type: set, /type: set, interrupt: before, /' count.yaml >asks.yaml

cat >tenon.yaml <<'YAML'
tools: {approval: {memory.get: ask, memory.delete: deny}}
YAML

run tenon call host/info --connect s
expect_code 1 && expect_in err 'cannot connect to s: ' && expect_in err '[NOT_FOUND]'
host_start
run tenon call host/info --connect s --plugins .
expect_code 2 && expect_in err '--plugins cannot be used with --connect'
run tenon doctor --connect s
expect_code 2 && expect_in err '`tenon doctor` uses its own host, and cannot be used with --connect'
run tenon chat count.yaml --connect=s
expect_code 2 && expect_in err 'start each turn with `tenon run FILE --thread ID --connect PATH`'

# ---- tenon call ----
run tenon call host/info --connect s
expect_code 0 && expect_in out '"client":"client '
same call run/list '{"limit": 0}'
expect_code 2
same call run/get '{"run_id": "x"}'
expect_code 1
same call run/start '{"text": "version: 1\n"}'
expect_code 3
same call run/strat
expect_code 2
params="{\"document\": \"$PWD/count.yaml\"}"
same call run/start "$params"
expect_code 0
same call run/start "{\"document\": \"$PWD/count.yaml\", \"subscribe\": {}}"
expect_code 0 && expect_in out '"event":"run/ended"'
[ "$(wc -l <"$work/out")" = 5 ] || fails "expected the result, three events and the end"
same call run/start "{\"document\": \"$PWD/count.yaml\", \"input\": {\"n\": 50}, \"subscribe\": {\"credit\": 2}}"
[ "$(wc -l <"$work/out")" = 52 ] || fails "expected the result, 50 events and the end"
same call run/start "{\"document\": \"$PWD/asks.yaml\", \"subscribe\": {}}"
expect_code 5
same call run/start "{\"document\": \"$PWD/count.yaml\", \"config\": {\"recursion_limit\": 2}}"
expect_code 1 && expect_in err '[RECURSION_LIMIT]'

mkdir elsewhere # from which a relative document is not found: the message names the folder in which it was looked for
for method in document/check run/start; do
    run bash -c "cd elsewhere && \"\$TENON\" call $method '{\"document\": \"none.yaml\"}' --connect ../s"
    expect_code 2 && expect_in err "\`none.yaml\`: no such file; a relative path starts at the folder of the host, $PWD [IO]"
done

# ---- Threads ----
same thread list
run tenon run asks.yaml --thread t1
expect_code 5
run tenon run count.yaml --thread t2
expect_code 0
for options in '' '--limit 1' '--status done --json' '--older-than 1' '--agent nobody'; do
    # shellcheck disable=SC2086 # the options, in words
    same thread list $options
    expect_code 0
done
same thread show t1
expect_in out 'waits for'
same thread show t1 --json
id=$(sed 's/.*"interrupts":\[{"id":"\([^"]*\)".*/\1/' "$work/out")
same thread show t2 --json
same thread show nobody
expect_code 1
same thread history t2
same thread history t2 --limit 2 --json
same thread state t2
expect_out '{"i":3,"n":3}'
same thread state t2 --at 1
same thread state t2 --at 99
expect_code 1
same thread state t2 --at x
expect_code 2
run tenon thread fork t2 t3 --at 1 --connect s
expect_code 0
same thread fork t2 t3
expect_code 1
run tenon thread update t3 count.yaml --set i=7 --connect s # a path of this folder
expect_code 0
same thread state t3
expect_out '{"i":7,"n":3}'
same thread update t3 nowhere.yaml --set i=7
expect_code 3
same thread update t3 count.yaml --set nothing=7
expect_code 1
same thread answer t1 nothing=1
expect_code 1
same thread answer t1 "$id=true"
expect_code 0
same thread show t1
run tenon thread delete t1 t3 --connect s
expect_code 0
same thread delete t1
expect_code 1

same thread export t2
expect_code 0
cp "$work/out" t2.json
same thread export nobody
expect_code 1
run tenon thread import t2.json t4 --connect s
expect_code 0
same thread import t2.json t4
expect_code 1
same thread import t2.json t4 --replace
expect_code 0
same thread state t4
expect_out '{"i":3,"n":3}'
echo '{"record": 1}' >wrong.json
run tenon thread import wrong.json --connect s
expect_code 1 && expect_in err 'missing property'
same thread import nothing.json
expect_code 2
same thread gc
expect_code 2 && expect_in err 'expected --older-than DAYS'
same thread gc --older-than 0 --dry-run
expect_code 0 && expect_in out 'would remove 2 threads'
run tenon thread gc --older-than 0 --connect s
expect_code 0 && expect_in out 'removed 2 threads'
same thread gc --keep 0
expect_out 'removed 0 threads and 0 saved graph descriptions'

# ---- Tasks, Artifacts, memories: both hosts use one store ----
same task show nobody
expect_code 1
same task create work --payload '[1]'
expect_code 2
run tenon task create work --payload '{"goal": "sum"}' --connect s
expect_code 0
id=$(cat "$work/out")
same task list --json
expect_in out "$id"
same task list
same task show "$id"
run tenon task claim --type work --as me --connect s --json
expect_code 0
token=$(sed 's/.*"claim_token":"\([^"]*\)".*/\1/' "$work/out")
run tenon task complete "$id" "$token" --connect s
expect_code 0
same task list --state done
expect_in out "$id"
head -c 3000000 /dev/urandom >body.bin # in parts
run tenon artifact write body.bin --connect s
expect_code 0
id=$(cat "$work/out")
same artifact list
run tenon artifact read "$id" --output copy.bin --connect s
expect_code 0
cmp body.bin copy.bin || fails "the body differs"
run tenon artifact read "$id" --offset 1000 --length 300000 --output part.bin --connect s
cmp <(tail -c +1001 body.bin | head -c 300000) part.bin || fails "the part differs"
echo hello >hello.txt
run tenon artifact write hello.txt --metadata '{"title": "Hello"}' --connect s
same artifact search hello
expect_in out text/plain
run tenon artifact read "$(head -c 36 "$work/out")" --connect s
expect_out hello
run tenon memory put users/ada food '{"likes": "pizza"}' --connect s
expect_code 0
same memory get users/ada food
expect_out '{"likes":"pizza"}'
same memory get users/ada drink
expect_code 1
same memory search users --query pizza --json
same memory delete users/ada food
same memory search users

# ---- Plugins ----
same node list
same node list --json
same node show llm
same node show llm --json
same node show promt
expect_code 2 && expect_in err 'did you mean `prompt`?'
same plugin list
expect_in out "core.so (installed)"
same plugin show tenon.core
same plugin show nobody
expect_code 4
run tenon plugin load x.so
expect_code 2 && expect_in err 'expected --connect PATH'
cp "$BINARY/tests/upgrade/test_versioned_1.so" .
run tenon plugin load test_versioned_1.so --connect s # a path of this folder
expect_code 0 && expect_in err 'test.versioned: 1.0.0, loaded'
run tenon plugin show test.versioned --connect s
expect_code 0 && expect_in out 'test.versioned 1.0.0'
run tenon plugin upgrade "$BINARY/tests/upgrade/test_versioned_2.so" --connect s
expect_code 0 && expect_in err 'test.versioned: 2.0.0, was 1.0.0, in this host'
run tenon plugin upgrade "$BINARY/tests/upgrade/test_versioned_3.so" --connect s # its initialisation fails
expect_code 4
run tenon plugin list --connect s
expect_in out 'test.versioned 2.0.0'
run tenon plugin load "$SOURCE/samples/python/wordcount.py" --connect s
expect_code 0
run tenon node list --connect s
expect_code 0 && expect_in out words.count
run tenon node show words.count --connect s
expect_code 0 && expect_in out 'plugin: sample.words'
run tenon reference words.count --connect s
expect_code 2 && expect_in err '`tenon node show NAME --connect PATH`'
run tenon plugin unload sample.words --connect s
expect_code 0
run tenon plugin unload test.versioned --connect s
expect_code 0 && expect_in err 'test.versioned: unloaded'
run tenon plugin unload nobody --connect s
expect_code 4 && expect_in err '[NOT_FOUND]'

# A signal during an upload: nothing is written, in either host.
mkfifo upload
for connect in "" "--connect s"; do
    # shellcheck disable=SC2086 # the option, in words
    env --default-signal=INT "$TENON" artifact write upload $connect >upload.out 2>upload.err &
    process=$!
    exec 9>upload
    head -c 600000 body.bin >&9
    wait_until grep -q '^State:.*S' "/proc/$process/status" # it waits for more
    kill -INT "$process"
    head -c 600000 body.bin >&9 2>/dev/null || true # it reads one more part, and ends
    exec 9>&-
    expect_ended "$process" "expected an end after SIGINT"
    wait "$process" && code=0 || code=$?
    [ "$code" = 130 ] || { cat upload.err >&2; fails "expected exit code 130, found $code"; }
    [ "$(cat upload.err)" = 'tenon: nothing was written' ] || { cat upload.err >&2; fails "expected one message"; }
done

# ---- Models, tools ----
same model list
same model list --json
same tool list
same tool list --json
same tool search artifact
same tool search nothing-like-this
same tool show task.create
expect_code 0
same tool show nobody
expect_code 2
same tool call task.list --set limit=3
expect_code 0
same tool call task.list '{"limit": "x"}'
expect_code 2
same tool call nobody
expect_code 2
same tool call task.list '[1'
expect_code 2
same tool call memory.delete '{"namespace": ["a"], "key": "b"}' --yes
expect_code 1 && expect_in err TOOL_DENIED
same tool call memory.get '{"namespace": ["a"], "key": "b"}'
expect_code 5 && expect_in err 'approve it with --yes'
same tool call memory.get '{"namespace": ["a"]}'
expect_code 2
same tool call memory.get '{"namespace": ["a"], "key": "b"}' --yes
expect_code 0
for answer in 'send y' $'send e\nwait as JSON\nsend {"namespace": ["a"], "key": "c"}' $'send n\nwait reason\nsend '; do
    for connect in "" "--connect s"; do
        # shellcheck disable=SC2086 # the option, in words
        printf 'wait [e]dit? \n%s\nend\n' "$answer" | python3 "$SOURCE/tests/e2e/terminal.py" "$TENON" tool call memory.get \
            '{"namespace": ["a"], "key": "b"}' $connect >"terminal$connect" && code=0 || code=$?
        [ "$code" != 99 ] || { cat "terminal$connect" >&2; fails "the tool's approval was not asked for"; }
        echo "exit code $code" >>"terminal$connect"
    done
    cmp terminal "terminal--connect s" || fails "the approval differs"
done
run tenon tool call task.list --idempotency-key k --connect s
expect_code 2 && expect_in err '--idempotency-key cannot be used with --connect'
same model test
expect_code 2
for name in nobody absent:model openai:model; do # the last one has no key
    same model test "$name"
done
expect_code 1
run tenon model test '{"provider": "openai"}' --connect s
expect_code 2
same pack list

# A signal cancels the run in the other host; a run that is not awaited continues.
env --default-signal=INT "$TENON" call run/start "{\"document\": \"$PWD/count.yaml\", \"input\": {\"n\": 100000000}, \"subscribe\": {}}" \
    --connect s >long.out 2>long.err &
process=$!
wait_until grep -q run/event long.out
kill -INT "$process"
expect_ended "$process" "expected an end after SIGINT"
wait "$process" && code=0 || code=$?
expect_code 130
tail -n 1 long.out | grep -q '"status":"cancelled"' || fails "expected the end of the run as the last line"
run tenon call run/list '{"status": "running"}' --connect s
expect_out '{"runs":[],"more":false}'

# A subscription lasts until a signal, and the host that goes away is reported.
env --default-signal=INT "$TENON" call event/subscribe '{"events": ["run/ended"]}' --connect s >events.out 2>events.err &
process=$!
wait_until grep -q subscription events.out
run tenon call run/start "$params" --connect s
expect_code 0
wait_until grep -q '"event":"run/ended"' events.out
kill -INT "$process"
expect_ended "$process" "expected an end after SIGINT"
run tenon call run/start "{\"document\": \"$PWD/hours.yaml\"}" --connect s &
waits=$!
wait_until eval '"$TENON" call run/list "{\"status\": \"running\"}" --connect s | grep -q run_id'
kill -KILL "$host"
wait "$host" 2>/dev/null || true
expect_ended "$waits" "expected an end with the host"
expect_in err "the host at s has closed the connection"
host_start
