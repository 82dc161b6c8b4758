# The provider `bedrock` over a connection: signatures, which botocore checks if it is installed, bearer tokens, a wrong
# clock, errors, and keys, which must not be shown.
check_mode=1
command -v python3 >/dev/null || skips "python3 is not installed"
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
export AWS_ACCESS_KEY_ID=AKIDEXAMPLE0123 AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY AWS_REGION=eu-west-1
unset AWS_SESSION_TOKEN AWS_BEARER_TOKEN_BEDROCK AWS_DEFAULT_REGION
arn=arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0

serve() { # SCRIPT
    rm -f requests
    echo "$1" >script.json
    server_start port provider_server.py script.json --log requests
    cat >tenon.yaml <<Y
plugins:
  config:
    tenon.bedrock: {endpoint: "http://127.0.0.1:$port"}
models:
  claude: {provider: bedrock, model: "$arn"}
  once: {provider: bedrock, model: "us.anthropic.m:0", stream: false}
  own:
    provider: bedrock
    model: m
    credentials: {key_id: {secret: AWS_ACCESS_KEY_ID}, secret_key: {secret: AWS_SECRET_ACCESS_KEY}}
  titan: {provider: bedrock, model: "amazon.titan-embed-text-v2:0", dimensions: 256}
  cohere: {provider: bedrock, model: cohere.embed-multilingual-v3, api_key: bearer-token-0123}
  evil: {provider: bedrock, model: m, base_url: "http://127.0.0.1:$port/evil"}
Y
}
no_keys_in() {
    for secret in "$AWS_ACCESS_KEY_ID" "$AWS_SECRET_ACCESS_KEY" session-token-0123 bearer-token-0123 "Signature="; do
        expect_not_in "$1" "$secret"
    done
}
cat >verify.py <<'P'
"""Signs each request again with botocore, from the log of the server, and compares the header."""
import datetime
import json
import sys

try:
    import botocore.auth as auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials
except ImportError:
    print("botocore is not installed")
    sys.exit(77)
key_id, secret, region, *token = sys.argv[1:]
for line in open("requests", encoding="utf-8"):
    found = json.loads(line)
    headers = found["headers"]
    at = datetime.datetime.strptime(headers["x-amz-date"], "%Y%m%dT%H%M%SZ")
    for name in ("get_current_datetime", "get_current_datetime_utc"):
        setattr(auth, name, lambda *_, **__: at)
    request = AWSRequest("POST", "http://" + headers["host"] + found["path"], data=found["body"].encode(),
                         headers={"content-type": headers["content-type"]})
    auth.SigV4Auth(Credentials(key_id, secret, *token), "bedrock", region).add_auth(request)
    expected = request.headers["Authorization"]
    if headers["authorization"] != expected or headers.get("x-amz-security-token") != (token or [None])[0]:
        sys.exit(f"found    {headers['authorization']}\nexpected {expected}")
print("verified")
P
verify() { # REGION [TOKEN]
    local code=0
    python3 verify.py "$AWS_ACCESS_KEY_ID" "$AWS_SECRET_ACCESS_KEY" "$@" >verified 2>&1 || code=$?
    [ $code = 0 ] || [ $code = 77 ] || fails "the signature is wrong: $(cat verified)"
}

# ---- Signatures ----
everything='{"reasoning": "Hm, ü", "text": "Grüß Gott", "calls": [{"name": "add", "arguments": {"a": 1}}], "usage": [12, 3]}'
serve "[$everything]"
for session in "" session-token-0123; do
    [ -z "$session" ] || export AWS_SESSION_TOKEN=$session
    rm -f requests
    run tenon model test claude --prompt "Hü?" --json
    expect_code 0 && expect_in out '"text":"Grüß Gott"' && expect_in out '"text":"Hm, ü"'
    expect_in out '"tool_calls":[{"id":"tooluse_0","name":"add","arguments":{"a":1}}]'
    expect_in out '"input_tokens":12,"output_tokens":3,"total_tokens":15' && expect_in out '"finish_reason":"tool_calls"'
    no_keys_in out && no_keys_in err
    verify us-east-1 $session # the ARN's region
    grep -q 'inference-profile%2Fus.anthropic' requests || fails "the ARN was not encoded"
    rm -f requests
    run tenon model test once --prompt "Hi" --json --isolate tenon.bedrock
    expect_code 1 && expect_in err "no region" # it cannot read the environment in a separate process
    for role in once own; do
        rm -f requests
        run tenon model test $role --prompt "Hi" --json
        expect_code 0 && expect_in out 'Grüß Gott'
        if [ $role = own ]; then verify eu-west-1; else verify eu-west-1 $session; fi
    done
done
unset AWS_SESSION_TOKEN
sed -i 's/endpoint:/region: eu-west-1, endpoint:/' tenon.yaml
rm -f requests
run tenon model test once --prompt "Hi" --json --isolate tenon.bedrock
expect_code 0 && verify eu-west-1

# ---- Embeddings: a request for each text of Titan, which counts for the limit of its key; one for all texts of Cohere ----
echo 'model_calls: {limits: {bedrock: {concurrent: 1}}}' >>tenon.yaml
rm -f requests
echo '[{"pause_ms": 30}]' >script.new
mv script.new script.json
run tenon model embed titan Hü "of two" three --json
expect_code 0 && expect_in out '"embeddings":[[2,1],[6,1],[5,1]]' && expect_in out '"input_tokens":9' && no_keys_in out
verify eu-west-1
[ "$(grep -c '"path": "/model/amazon.titan-embed-text-v2%3A0/invoke".*"dimensions": 256' requests)" = 3 ] || fails "expected three requests"
! grep -q '"at_once": [23]' requests || fails "the requests did not wait for the limit of the key"
rm -f requests
run tenon model embed cohere a bb ccc --json
expect_code 0 && expect_in out '"embeddings":[[1,0],[2,1],[3,2]]' && grep -q 'search_document' requests && [ "$(wc -l <requests)" = 1 ] || fails "expected one request"
echo "[$everything]" >script.new
mv script.new script.json

# ---- Bearer tokens, and other hosts ----
rm -f requests
AWS_BEARER_TOKEN_BEDROCK=bearer-token-0123 run tenon model test claude --prompt Hi
expect_code 0 && no_keys_in err
grep -q '"authorization": "Bearer bearer-token-0123"' requests || fails "the bearer token was not sent"
! grep -q x-amz-date requests || fails "a request with a bearer token was signed"
rm -f requests
AWS_BEARER_TOKEN_BEDROCK=bearer-token-0123 run tenon model test evil --prompt Hi
expect_code 0
! grep -q authorization requests || fails "credentials were sent to another base_url"
servers_stop

# ---- Recordings have no keys, and are replayed without any ----
serve "[$everything]"
run tenon model test claude --prompt Hi --record recorded
expect_code 0
! grep -rqE "$AWS_ACCESS_KEY_ID|Signature=|x-amz-date" recorded || fails "a recording has a key or a signature"
servers_stop
run env -u AWS_ACCESS_KEY_ID -u AWS_SECRET_ACCESS_KEY "$TENON" model test claude --prompt Hi --replay recorded
expect_code 0 && expect_in out "Grüß Gott"
run env -u AWS_SECRET_ACCESS_KEY "$TENON" model test claude --prompt Hi
expect_code 1 && expect_in err "[AUTH]" && expect_in err "AWS_SECRET_ACCESS_KEY"

# ---- Errors and a wrong clock ----
old='{"status": 403, "headers": {"x-amzn-errortype": "InvalidSignatureException", "x-amzn-requestid": "r9"}, "json":
    {"message": "Signature expired: AKIDEXAMPLE0123 20150830T123600Z is now earlier than"}}'
serve "[$old]"
run tenon model test claude --prompt Hi --json
expect_code 1 && expect_in err "[AUTH]" && expect_in err "clock" && no_keys_in err
[ "$(wc -l <requests)" = 1 ] || fails "the clocks agree, but the request was sent again"
servers_stop
serve '[{"status": 400, "headers": {"x-amzn-errortype": "ValidationException:http://internal"}, "json": {"message": "Input is too long for requested model."}},
    {"status": 429, "headers": {"x-amzn-errortype": "ThrottlingException:http://internal"}, "json": {"message": "Too many requests"}},
    {"text": "Grüß Gott", "fault": "drip"}]'
run tenon model test claude --prompt Hi --json
expect_code 1 && expect_in err "[CONTEXT_LENGTH]" && expect_in err "Input is too long"
run tenon model test claude --prompt Hi # it is tried again after 429
expect_code 0 && expect_out "Grüß Gott"
[ "$(wc -l <requests)" = 3 ] || fails "expected three requests"
servers_stop
# Calls at the same time learn the service's time from the same refusal, and each is sent again once.
late='{"status": 403, "headers": {"x-amzn-errortype": "InvalidSignatureException", "date": "DATE"}, "pause_ms": 200,
    "json": {"message": "Signature expired: 20150830T123600Z is now earlier than"}}'
late=${late/DATE/$(python3 -c 'import email.utils, time; print(email.utils.formatdate(time.time() + 7200, usegmt=True))')}
serve "[$late, $late, {\"text\": \"now\"}, {\"text\": \"now\"}]"
cat >both.yaml <<'Y'
version: "1.0"
channels: [{name: a, type: last_value}, {name: b, type: last_value}]
nodes: [{id: x, type: llm, config: {model: claude, prompt: x, output_key: a}}, {id: y, type: llm, config: {model: claude, prompt: y, output_key: b}}]
edges: [{from: START, to: x}, {from: START, to: y}, {from: x, to: END}, {from: y, to: END}]
Y
run tenon run both.yaml
expect_code 0 && expect_out '{"a":"now","b":"now"}'
# A clock that is years late is not corrected: the error says that it must be set.
serve "[${late/20??/2037}]"
run tenon model test claude --prompt Hi
expect_code 1 && expect_in err "[AUTH]" && expect_in err "set the clock"
servers_stop
# A refusal names what was refused: a signature, and not the key that is the default.
denied='{"status": 403, "headers": {"x-amzn-errortype": "ExpiredTokenException"}, "json": {"message": "The security token is expired"}}'
serve "[$denied, $denied, $denied]"
run tenon model test claude --prompt Hi
expect_code 1 && expect_in err "otherwise AWS_ACCESS_KEY_ID" && expect_not_in err "comes from"
run tenon model test own --prompt Hi
expect_code 1 && expect_in err 'check `credentials`' && expect_not_in err BEARER
run tenon model test evil --prompt Hi
expect_code 1 && expect_in err 'the request had none, because `base_url` is not an address of Amazon' && expect_not_in err BEARER
servers_stop
