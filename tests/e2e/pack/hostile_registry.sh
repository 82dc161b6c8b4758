# Registries that send something wrong: one message, nothing is installed, and no password or token gets elsewhere.
command -v python3 >/dev/null || skips "python3 is not installed"
[ -e "$(dirname "$TENON")/../lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
signed
server_start port registry_server.py --pack signed.tenonpack --log log
at=127.0.0.1:$port
# refused NAME CODE TEXT: the pack NAME:1 cannot be installed
refused() {
    run tenon pack install "oci://$at/$1:1"
    [ "$code" != 0 ] || fails "$1: expected a failure"
    expect_in err "[$2]" && expect_in err "$3" && expect_in err "nothing was installed" && expect_out "" && once
}
refused not-json INVALID_RESPONSE "the manifest cannot be read"
refused not-utf8 INVALID_RESPONSE "the manifest cannot be read"
refused deep INVALID_RESPONSE "the manifest cannot be read"
refused a-list INVALID_RESPONSE "it is not an object"
refused giant-manifest LIMIT "the response is larger than the limit of 4194304 bytes"
refused portal INVALID_RESPONSE "the manifest cannot be read"
refused index INVALID_RESPONSE "it is an index, which lists other manifests"
refused inner-type INVALID_RESPONSE "it is an index"
refused image INVALID_RESPONSE "its content type is \`application/vnd.docker.distribution.manifest.v2+json\`"
refused other-artifact INVALID_RESPONSE "its artifactType is \`application/vnd.acme.chart.v1\`, expected"
refused two-layers INVALID_RESPONSE "it has 2 layers, expected one"
refused no-layers INVALID_RESPONSE "it has 0 layers, expected one"
refused other-layer INVALID_RESPONSE "its layer's mediaType is \`application/vnd.oci.image.layer.v1.tar+gzip\`"
refused schema-1 INVALID_RESPONSE "its schemaVersion is not 2"
refused negative-size INVALID_RESPONSE "size of its layer"
refused fraction-size INVALID_RESPONSE "size of its layer"
refused giant-layer LIMIT "1099511627776 bytes, which is more than the limit"
refused bad-digest INVALID_RESPONSE "digest of its layer"
refused other-hash INVALID_RESPONSE "digest of its layer"
refused other-platform PACK_REFUSED "are for linux/sparc,plan9/mips, and this host is linux/"
refused announced INVALID_RESPONSE "but the registry announced sha256:"
refused gone NOT_FOUND "no such thing; it does not exist, or you have no access to it"
refused busy RATE_LIMITED "the status 429"
refused forbidden AUTH "the status 403"
refused circle PROTOCOL "redirects more than 5 times"
refused nowhere PROTOCOL "a redirect that cannot be followed"
# The layer.
refused gone-layer NOT_FOUND "the layer: the registry answered with the status 404"
refused changed INVALID_RESPONSE "the layer has the digest sha256:"
refused short INVALID_RESPONSE "bytes of the layer, but the manifest says"
refused cut CONNECTION_LOST "127.0.0.1"
refused small-layer INVALID_RESPONSE "sent more bytes of the layer"
refused endless INVALID_RESPONSE "sent more bytes of the layer"
refused forged PACK_INVALID "signature"
# A pinned reference is exactly this manifest.
run tenon pack install "oci://$at/good@sha256:$(printf '0%.0s' {1..64})"
expect_code 1 && expect_in err "the registry sent a manifest with the digest sha256:" && once
# Authentication without a password.
refused silent AUTH "does not say how to authenticate"
refused negotiate AUTH "does not say how to authenticate"
refused basic AUTH "requires a user and a password"
refused token-loop AUTH "the status 401; the registry refuses access without a user and a password"
refused token-plain PERMISSION_DENIED "other.invalid is not used, because it is not encrypted"
refused token-nowhere PROTOCOL "token service is invalid"
refused token-empty AUTH "does not say how to authenticate"
refused token-huge INVALID_RESPONSE "without a token of at most 32 KiB"
refused token-endless LIMIT "the response is larger than the limit of 262144 bytes"
refused token-missing INVALID_RESPONSE "without a token"
refused token-line INVALID_RESPONSE "without a token"
refused token-refused AUTH "requires a user and a password"
refused token-moved AUTH "answered with the status 307"
grep -q "^other " log && fails "a request was sent to another origin"
nothing_installed

# A password and a token are sent only to the registry and its token service, never to another origin.
export REGISTRY=open-sesame-42
cat >tenon.yaml <<YAML
packs: {trust: ["$(cat acme.pub)"], registries: {"$at": {user: jane, password: {secret: REGISTRY}}}}
YAML
refused echo AUTH "not you: {secret:REGISTRY}"
expect_not_in err open-sesame && expect_not_in err amFuZTpv
refused token-refused AUTH "refuses the user and the password"
expect_not_in err open-sesame
refused moved-refused AUTH "127.0.0.1, to which the registry redirects, answered with the status 401"
printf 'secrets: {REGISTRY: {env: REGISTRY, hosts: [other.invalid]}}\n' >>tenon.yaml
refused basic PERMISSION_DENIED "tenon.yaml allows only other hosts"
sed -i '/^secrets/d' tenon.yaml
sed -i 's/{user/{plain_http: false, user/' tenon.yaml
refused good TLS "https://$at"
sed -i 's/plain_http: false, //' tenon.yaml
nothing_installed
for name in good moved moved-basic basic token token-both token-moved-blob strange-annotations; do
    : >log
    run tenon pack install "oci://$at/$name:1"
    expect_code 0 && expect_in out "oci://$at/$name@sha256:" && expect_not_in err warning
    run tenon pack remove acme-text
    ! grep -E "^other [^ ]+ [^ ]+ [^-]" log || fails "$name: credentials were sent to another origin"
done
run tenon pack install "oci://$at/token-moved-blob:1"
expect_code 0
grep -q '^registry GET /token.* Basic ' log || fails "the token was requested without the password"
grep -q '^other GET /v2/token-moved-blob/blobs/.*signature=1 -$' log || fails "the redirect was not followed"
run tenon pack remove acme-text

# The password that another client has saved is used in the same way; tenon.yaml has precedence.
mkdir -p docker && export DOCKER_CONFIG=$PWD/docker
printf '{"auths": {"other.invalid": {"auth": "eDp5"}, "%s": {"auth": "%s"}}}' "$at" "$(printf jane:open-sesame-42 | base64)" >docker/config.json
REGISTRY=wrong-sesame refused basic AUTH "refuses the user and the password"
sed -i 's/, registries: .*/}/' tenon.yaml
run tenon pack install "oci://$at/basic:1"
expect_code 0
run tenon pack remove acme-text
refused echo AUTH "not you: {redacted}"
expect_not_in err open-sesame && expect_not_in err amFuZTpv
# A challenge without encryption can come from any machine of the network, so its token service gets no password, even if
# that service is encrypted. 0.0.0.0 reaches this machine, but is not known as this machine.
plainly=0.0.0.0:$port
printf '{"auths": {"%s": {"auth": "%s"}}}' "$plainly" "$(printf jane:open-sesame-42 | base64)" >docker/config.json
run tenon pack install "oci://$plainly/token-elsewhere:1" --plain-http
expect_code 1 && expect_in err "the password for the registry $plainly is not sent without encryption" && once
expect_not_in err other.invalid
cp tenon.yaml without.yaml
printf 'packs: {registries: {"%s": {user: jane, password: {secret: REGISTRY}}}}\n' "$plainly" >tenon.yaml
run tenon pack install "oci://$plainly/token-elsewhere:1" --plain-http
expect_code 1 && expect_in err "is not sent without encryption; \`plain_http: true\` in \`packs.registries\`" && once
mv without.yaml tenon.yaml
printf '{"auths": {"https://%s/v1/": {"auth": "hush-hush"}}}' "$at" >docker/config.json
refused basic INVALID_CONFIG "the entry of the registry is not USER:PASSWORD in base64"
printf 'hush-hush' >docker/config.json
refused basic INVALID_CONFIG "docker/config.json: it is not JSON"
expect_not_in err hush
printf '{"auths": 1, "credsStore": "/bin/false"}' >docker/config.json
refused basic AUTH "requires a user and a password"
nothing_installed
unset DOCKER_CONFIG

# A full disk, Ctrl-C and a kill in the middle of a download leave nothing.
(trap '' XFSZ && ulimit -f 64 && run tenon pack install "oci://$at/good:1" && expect_code 1 && expect_in err "cannot save the layer")
(trap '' XFSZ && ulimit -f 64 && run tenon pack pull "oci://$at/good:1" -o full.tenonpack && expect_code 1)
[ ! -e full.tenonpack ] || fails "a part of the pack was saved"
for signal in INT KILL; do
    rm -f hanging
    "$TENON" pack install "oci://$at/hang:1" >"$work/out" 2>"$work/err" &
    wait_until test -e hanging
    kill -$signal $!
    code=0
    wait $! 2>/dev/null || code=$?
    [ "$code" = "$([ $signal = INT ] && echo 130 || echo 137)" ] || fails "$signal: unexpected exit code $code"
    [ -z "$(find "$packs" -type f ! -name .lock)" ] || fails "$signal: a file was left"
done
run tenon pack install "oci://$at/good:1"
expect_code 0
run tenon pack remove acme-text

# The same on a file system without files that have no name.
"${CC:-cc}" -shared -fPIC -D_GNU_SOURCE -o kill.so "$SOURCE/tests/e2e/pack_kill.c" -ldl
[ -z "$SANITIZE" ] || export ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0
without() { run env LD_PRELOAD="$PWD/kill.so" NO_TMPFILE=1 "$TENON" "$@"; }
mkdir out
without pack pull "oci://$at/good:1" -o out/good.tenonpack
expect_code 0 && cmp -s out/good.tenonpack signed.tenonpack || fails "the pulled pack has other bytes"
without pack pull "oci://$at/changed:1" -o out/changed.tenonpack
expect_code 1 && [ "$(ls -A out)" = good.tenonpack ] || fails "a file was left: $(ls -A out)"
without pack install "oci://$at/good:1"
expect_code 0 && [ -z "$(find "$packs" -maxdepth 1 -name '.pack*')" ] || fails "a file was left"
