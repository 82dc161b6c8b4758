# `tenon pack push`, `pull` and `install oci://…` with Debian's docker-registry, which requires a password.
command -v docker-registry >/dev/null || skips "docker-registry is not installed"
[ -e "$(dirname "$TENON")/../lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
# The password is open-sesame-42.
echo 'jane:$2b$04$FmCxxzr5dEnls2VVlVjcGOXBF4gSOQcnSs7OkLUGT/F/iyTA08KOe' >htpasswd
cat >registry.yml <<YAML
version: 0.1
log: {level: info, accesslog: {disabled: true}}
storage: {filesystem: {rootdirectory: $PWD/storage}}
http: {addr: "127.0.0.1:0"}
auth: {htpasswd: {realm: acme, path: $PWD/htpasswd}}
YAML
docker-registry serve registry.yml >registry.log 2>&1 &
servers+=($!)
wait_until grep -q 'listening on 127.0.0.1:' registry.log
at=$(sed -n 's/.*listening on \(127\.0\.0\.1:[0-9]*\).*/\1/p' registry.log | head -n 1)
text=oci://$at/acme/text
signed

# Without the password, nothing is possible; with a wrong one neither. The password itself is in no message.
run tenon pack push again.tenonpack "$text"
expect_code 1 && expect_in err "requires a user and a password; add" && expect_in err "[AUTH]" && expect_out ""
cat >tenon.yaml <<YAML
packs: {trust: ["$(cat acme.pub)"], registries: {"$at": {user: jane, password: {secret: REGISTRY}}}}
YAML
run tenon pack push again.tenonpack "$text"
expect_code 1 && expect_in err "the environment variable REGISTRY"
REGISTRY=wrong-sesame run tenon pack push again.tenonpack "$text"
expect_code 1 && expect_in err "refuses the user and the password" && expect_not_in err wrong-sesame
export REGISTRY=open-sesame-42

# A push prints the pinned reference; the tag is the version. A second push changes nothing.
run tenon pack push again.tenonpack "$text"
expect_code 0 && expect_in err "acme-text 1.0.0 pushed to $at/acme/text:1.0.0" && expect_in err "is not signed"
pinned=$(cat "$work/out")
grep -qE "^$text@sha256:[0-9a-f]{64}\$" "$work/out" || fails "expected a reference with a digest"
run tenon pack push again.tenonpack "$text"
expect_code 0 && expect_out "$pinned" && expect_in err "was already pushed"

# A tag is moved only with --force. The same layer is not sent again for another tag.
run tenon pack push signed.tenonpack "$text:1.0.0"
expect_code 1 && expect_in err "the tag \`1.0.0\` already names ${pinned#*@}; nothing was changed" && once
run tenon pack push signed.tenonpack "$text:1.0.0" --force
expect_code 0 && expect_not_in err "not signed"
moved=$(cat "$work/out")
[ "$moved" != "$pinned" ] || fails "expected another digest"
run tenon pack push signed.tenonpack "$text:stable"
expect_code 0 && expect_out "$moved"
[ "$(find storage -path '*/blobs/*' -name data -size +100k | wc -l)" = 2 ] || fails "expected two layers in the registry"

# A pull writes the same bytes. A pinned reference has the pack that the tag named before.
run tenon pack pull "$text:1.0.0"
expect_code 0 && expect_out "$moved" && expect_in err "acme-text-1.0.0.tenonpack: acme-text 1.0.0, signed by $(cat acme.pub)"
cmp -s acme-text-1.0.0.tenonpack signed.tenonpack || fails "the pulled pack has other bytes"
run tenon pack pull "$pinned" -o old.tenonpack
expect_code 0 && expect_out "$pinned" && expect_in err "not signed"
cmp -s old.tenonpack again.tenonpack || fails "the pinned pack has other bytes"
run tenon pack pull "$pinned" -o old.tenonpack
expect_code 2 && expect_in err "old.tenonpack already exists"
run tenon pack pull "$text:1.0.0"
expect_code 1 && expect_in err "acme-text-1.0.0.tenonpack already exists"
run tenon pack pull "$text:1.0.0" --force
expect_code 0
run tenon pack pull "$text:9.9.9"
expect_code 1 && expect_in err "[NOT_FOUND]" && once

run tenon pack verify "$moved"
expect_code 0 && expect_in out "$moved: acme-text 1.0.0, 3 files, signed by $(cat acme.pub), which is trusted"
run tenon pack verify "$pinned"
expect_code 4 && expect_in err "it is not signed"

# An installation has the rights that the signature gives it, and remembers where it came from.
run tenon pack install "$pinned"
expect_code 0 && expect_out "$pinned" && expect_in err "warning: acme-text 1.0.0 is not signed: its plugins run in separate processes"
run tenon plugin list
expect_in out "in a separate process: its pack is not trusted"
run tenon pack list
expect_code 0 && expect_in out "    from $pinned"
run tenon pack install "$text:stable"
expect_code 4 && expect_in err "is installed without a signature" && expect_in err "nothing was installed"
run tenon pack remove acme-text
run tenon pack install "$text:stable"
expect_code 0 && expect_out "$moved" && expect_not_in err "warning"
run tenon pack list --json
expect_in out "\"trusted\":true,\"from\":\"$moved\""
run tenon plugin list
expect_not_in out "its pack is not trusted"

# tenon.yaml lists pinned packs; what is installed needs no request. A tag is not accepted there.
run tenon pack remove acme-text
cp tenon.yaml without.yaml
sed -i "s|^packs: {|packs: {install: [\"$moved\"], |" tenon.yaml
run tenon pack install
expect_code 0 && expect_out "$moved" && expect_in err "acme-text 1.0.0 installed"
REGISTRY=wrong-sesame run tenon pack install
expect_code 0 && expect_out "" && expect_in err "acme-text 1.0.0 was already installed"
# The same reference can be written in other ways, and a pack that was installed from a file is downloaded only once.
sed -i "s|/acme/text@|/acme/text:stable@|" tenon.yaml
REGISTRY=wrong-sesame run tenon pack install
expect_code 0 && expect_out "" && expect_in err "acme-text 1.0.0 was already installed"
sed -i "s|:stable@|@|" tenon.yaml
run tenon pack remove acme-text
run tenon pack install signed.tenonpack
run tenon pack install
expect_code 0 && expect_out "$moved" && expect_in err "acme-text 1.0.0 was already installed"
REGISTRY=wrong-sesame run tenon pack install
expect_code 0 && expect_out "" && expect_in err "acme-text 1.0.0 was already installed"
run tenon pack list
expect_code 0 && expect_in out "    from $moved" && expect_in out "    trusted"
[ ! -e "$packs/.new" ] || fails "the new record was left"
sed -i "s|@sha256:[0-9a-f]*|:stable|" tenon.yaml
run tenon pack install
expect_code 4 && expect_in err "expected a reference with a digest"
mv without.yaml tenon.yaml
run tenon pack install
expect_code 2 && expect_in err 'tenon.yaml has no `packs.install`'

# References that are not used, before a request is made.
run tenon pack push signed.tenonpack "$pinned"
expect_code 2 && expect_in err "pushed to a tag, not to a digest"
run tenon pack pull "$text"
expect_code 2 && expect_in err "name a tag or a digest"
run tenon pack push src.nothing "$text"
expect_code 2 && expect_in err "cannot open src.nothing"
printf '\0' >>signed.tenonpack
run tenon pack push signed.tenonpack "$text:broken"
expect_code 4 && expect_in err "[PACK_INVALID]"

# A pack that is too large for one request is sent in chunks.
[ -z "$SANITIZE" ] || return 0
truncate -s 33M src/large
run tenon pack build src -o large.tenonpack
run tenon pack push large.tenonpack "$text:large"
expect_code 0
sum=$(sha256sum large.tenonpack | cut -d' ' -f1)
cmp -s large.tenonpack "storage/docker/registry/v2/blobs/sha256/${sum:0:2}/$sum/data" || fails "the registry has other bytes"
