# docker-registry with a token service: anyone may pull, and a password is needed to push.
command -v docker-registry >/dev/null || skips "docker-registry is not installed"
command -v python3 >/dev/null || skips "python3 is not installed"
command -v openssl >/dev/null || skips "openssl is not installed"
[ -e "$(dirname "$TENON")/../lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=test -keyout key.pem -out certificate.pem -days 2 2>"$work/log"
server_start tokens registry_tokens.py --key key.pem --certificate certificate.pem --log log
cat >registry.yml <<YAML
version: 0.1
log: {level: info, accesslog: {disabled: true}}
storage: {filesystem: {rootdirectory: $PWD/storage}}
http: {addr: "127.0.0.1:0"}
auth: {token: {realm: "http://127.0.0.1:$port/token", service: tests, issuer: test, rootcertbundle: $PWD/certificate.pem}}
YAML
docker-registry serve registry.yml >registry.log 2>&1 &
servers+=($!)
wait_until grep -q 'listening on 127.0.0.1:' registry.log
at=$(sed -n 's/.*listening on \(127\.0\.0\.1:[0-9]*\).*/\1/p' registry.log | head -n 1)
text=oci://$at/acme/text

# One token is enough for a push, although the first request needs only permission to pull.
run tenon pack push again.tenonpack "$text"
expect_code 1 && expect_in err "[AUTH]" && expect_out ""
printf 'packs: {registries: {"%s": {user: jane, password: {secret: REGISTRY}}}}\n' "$at" >tenon.yaml
export REGISTRY=open-sesame-42
: >log
run tenon pack push again.tenonpack "$text"
expect_code 0
pinned=$(cat "$work/out")
[ "$(cat log)" = "jane repository:acme/text:pull,push" ] || fails "unexpected requests for tokens: $(cat log)"
REGISTRY=wrong-sesame run tenon pack push again.tenonpack "$text:other"
expect_code 1 && expect_in err "refuses the user and the password" && expect_not_in err wrong-sesame
# A pull asks for nothing else than permission to pull, and needs no password.
rm tenon.yaml
: >log
run tenon pack install "$text:1.0.0"
expect_code 0 && expect_out "$pinned"
[ "$(cat log)" = "- repository:acme/text:pull" ] || fails "unexpected requests for tokens: $(cat log)"
