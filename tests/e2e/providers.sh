# One document with every provider, chosen by one flag. An agent with a tool returns the same answer with each, and each
# way in which a stream can break has the same error class.
check_mode=1
command -v python3 >/dev/null || skips "python3 is not installed"
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
echo 'model_calls: {retry: false}' >tenon.yaml

serve() { # SCRIPT, a list of replies
    rm -f requests
    echo "$1" >script.json
    server_start port provider_server.py script.json --log requests
    at=http://127.0.0.1:$port
}

# Prints the --model option of a provider: the model `m` on this server, and more configuration.
flag() {
    local path=v1 provider=$1
    case $1 in
    bedrock) provider='bedrock", "region": "us-east-1' ;;
    chat) provider='openai' ;;
    cohere) path=v2 ;;
    responses) provider='openai", "api": "responses' ;;
    gemini) path=v1beta ;;
    esac
    echo "{\"provider\": \"$provider\", \"model\": \"m\", \"base_url\": \"$at/$path\", \"api_key\": \"k\"${2:-}}"
}
providers="chat responses anthropic bedrock cohere"
[ -e "$BINARY/lib/tenon/plugins/gemini.so" ] && providers="$providers gemini"

cat >agent.yaml <<'Y'
version: "1.0"
agent: {name: agent}
channels:
  - {name: messages, type: append}
  - {name: usage, type: last_value}
nodes:
  - id: ask
    type: agent
    config: {model: main, system_prompt: You find links., tools: [extract], messages_key: messages, usage_key: usage}
edges:
  - {from: START, to: ask}
  - {from: ask, to: END}
Y
question='{"messages": [{"type": "user", "content": "Which links?"}]}'

# ---- The same answer ----
call='{"name": "extract", "arguments": {"from": "see https://a.example/ü", "what": "links"}}'
answers='[{"reasoning": "Hm", "text": "I look.", "calls": ['$call'], "usage": [10, 5]},
    {"text": "One: ü", "usage": [20, 3]}]'
for provider in $providers; do
    for more in "" ', "stream": false'; do
        serve "$answers"
        run tenon run agent.yaml --model "main=$(flag $provider "$more")" --input "$question"
        servers_stop
        expect_code 0 && expect_in out '"One: ü"' && expect_in out '"llm_calls":2'
        expect_in out '"input_tokens":30' && expect_in out '"output_tokens":8' && expect_in out '"name":"extract"'
        expect_in out '"arguments":{"from":"see https://a.example/ü","what":"links"}'
        [ "$(wc -l <requests)" = 2 ] || fails "$provider: expected two requests"
        tail -1 requests >second
        grep -q 'a.example' second || fails "$provider: the result of the tool was not sent"
        case $provider in # the reasoning is sent back unchanged
        responses) grep -q '"encrypted_content": "gAAAA"' second ;;
        anthropic | bedrock) grep -q '"signature": "c2lnbmVk"' second ;;
        cohere) grep -q '"thinking": "Hm"' second ;;
        gemini) grep -q '"thoughtSignature": "c2lnbmVk"' second ;;
        esac || fails "$provider: the reasoning was not sent back"
    done
done
scripted='{"provider": "scripted", "replies": [{"content": "I look.", "tool_calls": ['$call']}, "One: ü"]}'
run tenon run agent.yaml --input "$question" --model "main=$scripted"
expect_code 0 && expect_in out '"One: ü"' && expect_in out '"llm_calls":2'

# ---- The same errors: one reply per run, in order ----
text='"text": "Grüß Gott, wie geht es?"'
broken="cut cut_clean cut_utf8 cut_before_end wrong_order not_json html error"
replies=
for fault in $broken drip hang; do replies="$replies{$text, \"fault\": \"$fault\"}, "; done
hanging=$(($(wc -w <<<"$broken") + 2)) # requests until the one whose reply hangs
count_requests() { [ "$(wc -l <requests)" = "$1" ]; }
for provider in $providers; do
    serve "[$replies {\"status\": 502, \"body\": \"<html>Bad Gateway</html>\", \"content_type\": \"text/html\"}]"
    ask() { run tenon run agent.yaml --model "main=$(flag "$provider" "${1:-}")" --input "$question"; }
    for fault in $broken; do
        ask
        expect_code 1
        case $fault in error) expect_in err '[OVERLOADED]' ;; *) expect_in err '[INVALID_RESPONSE]' ;; esac
    done
    ask
    expect_code 0 && expect_in out "Grüß Gott"
    ask ', "timeout_ms": {"idle": 1000}'
    expect_code 1 && expect_in err '[TIMEOUT]'
    # The next reply is for the next run, even if the server has not read the request of this one yet.
    wait_until count_requests $hanging
    ask
    expect_code 1 && expect_in err '[OVERLOADED]'
    servers_stop
done
