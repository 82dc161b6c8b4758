# Models with access tokens over a connection: Claude on Vertex, and Azure with Entra. Tokens are fetched once, and again
# after a 401; a client's secret is inserted by the host and is in no output and no recording.
command -v python3 >/dev/null || skips "python3 is not installed"
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
export AZURE_CLIENT_SECRET=client-secret-0123
unset AZURE_TENANT_ID AZURE_CLIENT_ID GOOGLE_APPLICATION_CREDENTIALS VERTEX_LOCATION

serve() { # SCRIPT
    rm -f requests
    echo "$1" >script.json
    server_start port provider_server.py script.json --log requests
    at=http://127.0.0.1:$port
    cat >tenon.yaml <<Y
plugins:
  config:
    tenon.anthropic: {vertex_url: "$at/v1", token_url: "$at/token", credentials: google.json}
    tenon.openai: {azure_url: "$at", entra_authority: "$at"}
providers:
  ours: {provider: azure, base_url: "$at/openai/v1", entra: {tenant: t1, client_id: c1}}
models:
  claude: {provider: anthropic, model: claude-sonnet-4-5@20250929, project: p1, location: us-east5}
  gpt: ours:gpt-4o
  evil: {provider: openai, model: m, base_url: "http://localhost:$port/v1", entra: {tenant: t1, client_id: c1}}
Y
}
echo '{"type": "authorized_user", "client_id": "i", "client_secret": "s", "refresh_token": "r"}' >google.json
no_tokens_in() { for text in token-1-0123 token-2-0123 "$AZURE_CLIENT_SECRET"; do expect_not_in "$1" "$text"; done; }

first='{"json": {"access_token": "token-1-0123", "expires_in": 3600}}'
second='{"json": {"access_token": "token-2-0123", "expires_in": 3600}}'
refused='{"status": 401, "json": {"error": {"code": 401, "status": "UNAUTHENTICATED", "message": "token-1-0123 has expired"}}}'
for role in claude gpt; do
    for more in "" "--isolate tenon.anthropic --isolate tenon.openai"; do
        serve "[$first, $refused, $second, {\"text\": \"Grüß Gott\"}]"
        # shellcheck disable=SC2086
        run tenon model test $role --prompt Hi --record recorded $more
        servers_stop
        expect_code 0 && expect_out "Grüß Gott" && no_tokens_in err
        [ "$(wc -l <requests)" = 4 ] || fails "$role: expected four requests"
        grep -q '"authorization": "Bearer token-2-0123"' requests || fails "$role: the second token was not sent"
        ! grep -rq -e token-1-0123 -e token-2-0123 -e "$AZURE_CLIENT_SECRET" recorded || fails "$role: a recording has a token or a secret"
        rm -rf recorded
    done
done
grep -q "client_secret=$AZURE_CLIENT_SECRET" requests || fails "the client's secret was not sent"
grep -q '/t1/oauth2/v2.0/token' requests || fails "the tenant is not in the address"

serve "[$first, $refused]"
run tenon model test gpt --prompt Hi
expect_code 1 && expect_in err "[AUTH]" && no_tokens_in err
rm -f requests
run tenon model test evil --prompt Hi
servers_stop
[ "$code" != 0 ] && expect_in err "sent to no other host"
[ ! -e requests ] || fails "a request was sent for another host"
