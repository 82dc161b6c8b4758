# samples/provider: its README's commands against the sample's service, in process and isolated; errors, keys, structured
# output and cancellation.
command -v python3 >/dev/null || skips "python3 is not installed"
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
install_tenon
cp -r "$SOURCE/samples/provider" provider
cd provider
readme_commands README.md "sh build" >build.sh
quietly sh -eu build.sh
[ -n "$SANITIZE" ] || { run tenon plugin check build/acme-provider.so && expect_code 0 && expect_not_in out warning && expect_not_in err warning; }

readme_commands README.md "sh service" | sed 's/--port 8089/--port 0 --port-file port/' >service.sh
grep -q -- --port-file service.sh || fails "the README does not start the service"
sed -i 's/^/exec /' service.sh
# What a service sends after the end of its answer is not a part of it.
sed -i 's/^\( *\)self.send_event("\[DONE\]")$/&\n\1self.send_event(json.dumps({**base, "choices": [{"delta": {"content": " LATE"}}]}))/' service.py
grep -q LATE service.py || fails "service.py sends no [DONE]"
sh service.sh >service.log &
server_wait port
sed -i "s/:8089/:$(cat port)/" tenon.yaml
readme_commands README.md console | sed -n 's/^\$ export //p' >keys
. ./keys
export ACME_API_KEY
readme_commands README.md console | tail -1 >expected.json

# ---- An agent with a tool: in process, isolated and recorded (the replay is at the end) ----
readme_commands README.md "sh run" >run.sh
[ "$(wc -l <run.sh)" = 4 ] || fails "the README runs the sample in four ways"
while read -r command; do
    # shellcheck disable=SC2086 # the command of the README, in words
    run $command
    expect_code 0 && expect_out "$(cat expected.json)"
done < <(head -3 run.sh)
grep -rq "test-key" recorded && fails "the recording contains the key"
for isolate in "" "--isolate acme.provider"; do
    # shellcheck disable=SC2086
    run tenon run agent.yaml --plugins build --stream messages $isolate
    expect_in err '{"tool_call_delta":{"index":0,"id":"call_1","name":"stock.count"}}' # the service knows stock_count
    expect_in err '{"tool_call_delta":{"index":0,"arguments":"{\"a"}}'
    expect_in err '{"content":"The"}' && expect_in err '{"done":{"finish_reason":"stop"'
    [ -z "${same:-}" ] || cmp -s "$work/err" streamed || fails "an isolated plugin streams something else"
    cp "$work/err" streamed
    same=1
done
run tenon model test default --plugins build --prompt "hello there"
expect_code 0 && expect_in out "You said: hello there"

# ---- Errors quote the service, but not the key ----
model() { echo "{\"provider\": \"acme.chat\", \"model\": \"$1\", \"base_url\": \"http://127.0.0.1:$(cat port)/v1\", \"api_key\": ${2:-\"test-key\"}}"; }
for isolate in "" "--isolate acme.provider"; do
    ask() { # shellcheck disable=SC2086
        run tenon run agent.yaml --plugins build --model "$1" $isolate
        expect_code 1
    }
    ask "$(model busy)"
    expect_in err 'two requests in a minute are permitted' && expect_in err '[RATE_LIMITED]'
    ask "$(model large)"
    expect_in err 'the model `large` does not exist' && expect_in err '[NOT_FOUND]'
    ask "$(model cut)"
    expect_in err '[INVALID_RESPONSE]'
    ask "$(model small '"sk-wrong-key"')"
    expect_in err '[AUTH]' && expect_not_in err wrong-key
    ask "$(model small '{"secret": "NO_SUCH_KEY"}')"
    expect_in err 'NO_SUCH_KEY' && expect_in err '[AUTH]'
    ask '{"provider": "acme.chat", "model": "small", "base_url": "http://127.0.0.1:1/v1", "retry": false}'
    expect_in err '[CONNECT]'
done

# ---- One call of a model: structured output, an error that is repeated, and cancellation ----
llm() { # the node's other members
    printf 'version: "1.0"\nagent: {name: ask}\nchannels: [{name: out, type: last_value}]\nnodes:\n'
    printf '  - {id: ask, type: llm, config: {prompt: "Between 17 and 40.", output_key: out%s}%s}\n' "$1" "$2"
    printf 'edges: [{from: START, to: ask}, {from: ask, to: END}]\n'
}
llm ', output_schema: {type: object, properties: {number: {type: integer}}, required: [number]}' '' >schema.yaml
run tenon run schema.yaml --plugins build
expect_code 0 && expect_out '{"out":{"number":17}}'
run tenon run agent.yaml --plugins build --model "$(model busy)" --json # what a retry policy needs
expect_code 1 && expect_in out '"retryable":true,"retry_after_ms":1000'
llm '' ', timeout: 200ms' >timeout.yaml
run tenon run timeout.yaml --plugins build --model "$(model slow)" --isolate acme.provider
expect_code 1 && expect_in err '[TIMEOUT]'
closed() { grep -q "the client has closed the stream" service.log; }
wait_until closed

# ---- The replay needs neither the service nor the key ----
servers_stop
unset ACME_API_KEY
# shellcheck disable=SC2046
run $(tail -1 run.sh)
expect_code 0 && expect_out "$(cat expected.json)"
# shellcheck disable=SC2046
run $(tail -1 run.sh) --isolate acme.provider
expect_code 0 && expect_out "$(cat expected.json)"
