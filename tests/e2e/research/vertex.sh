# Deep research on Vertex: tokens of credentials, its addresses, a token that is refused once, and a plugin in a separate
# process. A recording has no credentials, and replays without any.
document report.yaml 'input_key: question, stream: false, poll_interval_ms: 1'
unset GEMINI_API_KEY
cat >user.json <<'J'
{"type": "authorized_user", "client_id": "me", "client_secret": "s&cret/", "refresh_token": "1//refresh", "quota_project_id": "payer"}
J
vertex() { # ISOLATION SCRIPT
    rm -f tokens
    serve "$2"
    models=$port
    server_start token_port google_tokens.py --log tokens
    cat >tenon.yaml <<Y
plugins:
  isolation: {tenon.gemini: $1}
  config:
    tenon.gemini:
      project: my-project
      location: global
      vertex_url: http://127.0.0.1:$models/v1beta1
      credentials: user.json
      token_url: http://127.0.0.1:$port/token
Y
}
ask() { run tenon run report.yaml --set question='Do they work?' "$@"; }

for isolation in none process; do
    vertex $isolation '{"polls": 1, "answers": [{"match": "GET", "status": 401, "json": {"error": {"status": "UNAUTHENTICATED", "message": "token-1 is old"}}, "times": 1}]}'
    ask
    expect_code 0 && expect_in out "$report" && expect_creates 1
    base=/v1beta1/projects/my-project/locations/global/interactions
    grep -q "\"method\": \"POST\", \"path\": \"$base\"" log || fails "wrong address to create"
    grep -q "\"method\": \"GET\", \"path\": \"$base/v1_work1:poll\"" log || fails "wrong address to poll"
    grep -q '"authorization": "Bearer token-1", "x-goog-user-project": "payer"' log || fails "the token was not sent"
    grep -q '"authorization": "Bearer token-2"' log || fails "a refused token was not replaced"
    grep -q x-goog-api-key log && fails "a key was sent, too"
    expect_not_in out token- && expect_not_in err token-
    servers_stop
done
vertex none '{}'
ask --record kept
expect_code 0 && expect_in out "$report"
servers_stop
grep -rqE 'token-1|1//refresh' kept && fails "the recording has credentials"
rm user.json
sed -i "/credentials:/d" tenon.yaml
ask --replay kept
expect_code 0 && expect_in out "$report"
