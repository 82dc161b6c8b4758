# Limits of a key, over all roles and loops: concurrent calls, a full queue, and what `tenon check` says of mistakes.
command -v python3 >/dev/null || skips "python3 is not installed"
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"

echo '[{"text": "Fine", "pause_ms": 20}]' >script.json
server_start port provider_server.py script.json --log requests
at=http://127.0.0.1:$port/v1
export A_KEY=kkkkkkkk-aaaaaaaa
configure() {
    cat >tenon.yaml <<Y
models:
  one: {provider: openai, model: a, base_url: "$at", api_key: {secret: A_KEY}}
  two: {provider: openai, model: b, base_url: "$at", api_key: {secret: A_KEY}}
  spare: [{provider: openai, model: a, base_url: "$at", api_key: {secret: A_KEY}}, {provider: openai, model: c, base_url: "$at", api_key: k}]
model_calls: {limits: $1}
Y
}
cat >both.yaml <<'Y'
version: "1.0"
channels: [{name: a, type: last_value}, {name: b, type: last_value}]
nodes:
  - {id: x, type: llm, config: {model: one, prompt: Hi, output_key: a}}
  - {id: y, type: llm, config: {model: two, prompt: Hi, output_key: b}}
edges: [{from: START, to: x}, {from: START, to: y}, {from: x, to: END}, {from: y, to: END}]
Y
for _ in 1 2 3 4 5 6; do echo '{}'; done >lines.jsonl
most_at_once() { python3 -c 'import json, sys
print(max(json.loads(line)["at_once"] for line in open("requests")))'; }
for loops in 1 2; do
    configure '{A_KEY: {concurrent: 2}}'
    rm -f requests
    run tenon run both.yaml --batch lines.jsonl --loops $loops
    expect_code 0 && [ "$(grep -c Fine "$work/out")" = 6 ] && [ "$(wc -l <requests)" = 12 ] || fails "expected 12 answers"
    [ "$(most_at_once)" = 2 ] || fails "$loops loops: expected two calls at once, found $(most_at_once)"
done
# Without a row for its secret, a provider's row is for each key and each address.
several() { # ONE TWO EXPECTED
    echo "{models: {one: {provider: openai, model: a, $1}, two: {provider: openai, model: b, $2}}, model_calls: {limits: {openai: {concurrent: 1}}}}" >tenon.yaml
    rm -f requests
    run tenon run both.yaml
    expect_code 0 && [ "$(most_at_once)" = "$3" ] || fails "$1, $2: expected $3 at once, found $(most_at_once)"
}
several "base_url: '$at'" "base_url: '$at'" 1
several "base_url: '$at'" "base_url: 'http://localhost:$port/v1'" 2
several "base_url: '$at', api_key: k1" "base_url: '$at', api_key: k2" 2
several "base_url: '$at', api_key: {secret: A_KEY}" "base_url: '$at', api_key: {secret: A_KEY}" 1
# The secret of a provider that sets none has a row, too. The second request, a fallback, is one too many.
cat >tenon.yaml <<'Y'
models: {one: ["openai:a", "openai:b"]}
model_calls: {retry: false, limits: {OPENAI_API_KEY: {requests_per_minute: 1, queue: 0}}}
Y
run env -u OPENAI_API_KEY "$TENON" model test one
expect_code 1 && expect_in err "the limits of the key OPENAI_API_KEY are used up"

# A full queue: the call fails, or uses the next model.
configure '{A_KEY: {concurrent: 1, queue: 0}}'
run tenon run both.yaml
expect_code 1 && expect_in err "the limits of the key A_KEY are used up, and as many calls wait for them as \`queue\` allows (0; " && expect_in err "[RATE_LIMITED]"
sed 's/model: two/model: spare/' both.yaml >other.yaml
rm -f requests
run tenon run other.yaml
expect_code 0 && grep -q '"model": "c"' requests || fails "expected the other model"

# Ctrl-C ends a call that waits for another one.
configure '{A_KEY: {concurrent: 1}}'
echo 'log: info' >>tenon.yaml
echo '[{"text": "Fine", "fault": "hang"}]' >script.new
mv script.new script.json
"$TENON" run both.yaml 2>said &
pid=$!
waiting() { grep -q 'waits for the limits of the key A_KEY; 0 calls before it' said; }
wait_until waiting
kill -INT $pid
ended=0
wait $pid || ended=$?
[ $ended = 130 ] || fails "expected 130 after Ctrl-C, found $ended"

# ---- Mistakes ----
mistake() { echo "$1" >tenon.yaml && run tenon check both.yaml && expect_in err "$2"; }
mistake 'model_calls: {limits: {A_KEY: {concurent: 1}}}' 'has no member `concurent`; did you mean `concurrent`?'
mistake 'model_calls: {limits: {A_KEY: {concurrent: 0}}}' '`concurrent`: found 0, expected a number from 1 to 1000000'
mistake 'model_calls: {limits: {A_KEY: 5}}' '`model_calls.limits.A_KEY`: found int, expected a mapping'
mistake 'model_calls: {retry: {attempts: 11}}' '`retry.attempts`: found 11, expected a number from 0 to 10'
mistake 'model_calls: {retries: 3}' 'found the key `retries`, which `model_calls` does not have'
mistake 'models: {one: {models: [], retry: false}}' '`models.one`'
mistake 'models: {one: {models: ["openai:a"], fallback: {on: [QOUTA]}}}' 'no error has the code `QOUTA`; did you mean `QUOTA`?'
rm tenon.yaml
wrong() {
    sed "s/^channels/models: {one: $1, two: \"openai:b\"}\nchannels/" both.yaml >wrong.yaml
    run tenon check --no-config wrong.yaml
    expect_code 3 && expect_in err "$2"
}
wrong '{models: ["openai:a"], fallbak: false}' '`fallbak` is not a key of a role of several models'
wrong '{models: ["openai:a"], fallback: {on: [QOUTA]}}' 'did you mean `QUOTA`?'
wrong '{models: ["openai:a"], balance: fair}' '`balance` is `fair`; expected `round_robin` or `least_busy`'
wrong '{provider: openai, model: a, retry: {attempts: 99}}' '`retry.attempts`: found 99, expected a number from 0 to 10'
wrong '{provider: openai, model: a, retry: {times: 2}}' '`times` is not a key of retry of a model'
wrong '{provider: openai, model: a, context_tokens: none}' '`context_tokens`'
wrong '{models: ["opnai:a"]}' 'opnai'
sed 's/^channels/models: {one: {models: [["openai:a", {provider: openai, model: b, context_tokens: 9}], "anthropic:c"], fallback: {on: [any]}, balance: least_busy, cooldown: 1m, retry: false, cache: {ttl: 1h}}, two: {provider: openai, model: a, retry: {attempts: 3, initial: 1s, max: 4s, retry_after_max: 10s}, cache: true}}\nchannels/' both.yaml >right.yaml
run tenon check --no-config right.yaml
expect_code 0
