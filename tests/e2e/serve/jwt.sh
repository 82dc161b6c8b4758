# Users by JSON Web Tokens: tests/serve/jwt.mjs and jwt_hostile.mjs are the issuers and the clients.
[ -e "$BINARY/lib/tenon/plugins/jwt.so" ] || skips "built without the HTTP server"
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
[ -e "$BINARY/lib/tenon/plugins/sqlite.so" ] || skips "built without the SQLite store"
command -v node >"$work/node" || skips "no Node.js"
TENON_PRELOAD= run timeout 120 node "$SOURCE/tests/serve/jwt.mjs" "$TENON" "$BINARY/tests/serve/whoami.so"
expect_code 0 && expect_in out ok
mkdir hostile && cd hostile
TENON_PRELOAD= run timeout 120 node "$SOURCE/tests/serve/jwt_hostile.mjs" "$TENON" "$BINARY/tests/serve/whoami.so"
expect_code 0 && expect_in out ok
cd ..

# ---- Settings that cannot be used ----
printf 'version: "1.0"\nagent: {name: hello}\nchannels: [{name: n, type: last_value}]\nnodes: [{id: a, type: set, config: {values: {n: "1"}}}]\nedges: [{from: START, to: a}, {from: a, to: END}]\n' >hello.yaml
refuses() { # CODE TEXT ISSUERS [AUTHENTICATORS]
    printf 'store: sqlite\nplugins: {config: {tenon.jwt: {issuers: [%s]}}}\nserve: {authenticators: [%s]}\n' "$3" "${4:-jwt}" >tenon.yaml
    run timeout 60 "$TENON" serve hello.yaml --port 0
    expect_code "$1" && expect_in err "$2"
}
refuses 4 'no plugin with this name checks tokens' '' jwtt
run tenon doctor
expect_in out 'serve.authenticators: no plugin `jwtt` checks tokens'
refuses 4 'expected addresses with https' '{issuer: "http://issuer.example", audience: a}'
refuses 4 'expected addresses with https' '{issuer: "https://issuer.example", audience: a, jwks_url: "http://127.0.0.1.example/keys"}'
refuses 4 'is in the list twice' '{issuer: "https://a.example", audience: a}, {issuer: "https://a.example", audience: b}'
refuses 4 'audience' '{issuer: "https://a.example"}'
refuses 4 'at most 8 names of plugins' '' 'a, a, a, a, a, a, a, a, a'
