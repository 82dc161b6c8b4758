# `tenon pack`: built, signed, verified, installed, listed, removed; what is forged or damaged is refused, with one message,
# and nothing of it is installed; whoever is killed leaves a whole pack or none.
packs=$XDG_DATA_HOME/tenon/packs
nothing_installed() {
    [ -z "$(find "$packs" -mindepth 2 2>"$work/which")" ] || fails "something of it is there: $(find "$packs" -mindepth 2)"
}
once() { [ "$(grep -c '^tenon: ' "$work/err")" = 1 ] || fails "expected one message"; }
# source FOLDER NAME VERSION: a folder with a plugin and a document.
source_of() {
    rm -rf "$1"
    mkdir -p "$1/plugins" "$1/prompts" "$1/.hidden"
    cp "$TEST_NODES" "$1/plugins/nodes.so"
    printf 'version: "1.0"\nnodes: [{id: a, type: passthrough}]\nedges: [{from: START, to: a}, {from: a, to: END}]\n' >"$1/one.yaml"
    printf 'Hello, {name}!\n' >"$1/prompts/hello.txt"
    cat >"$1/pack.json" <<JSON
{"name": "$2", "version": "$3", "title": "A pack for tests", "licence": "MIT", "tenon": ">= 0.1",
 "plugins": ["plugins/nodes.so"], "documents": ["one.yaml"], "prompts": ["prompts/hello.txt"]}
JSON
}

# ---- build: the same bytes from the same folder ----
source_of src acme-text 1.0.0
run tenon pack build src
expect_code 0 && expect_out acme-text-1.0.0.tenonpack
cp -r src again
touch -d @86400 again/one.yaml
chmod 600 again/prompts/hello.txt
(umask 077 && "$TENON" pack build again -o again.tenonpack >"$work/out")
cmp acme-text-1.0.0.tenonpack again.tenonpack || fails "expected the same bytes"
if command -v tar >"$work/which"; then
    [ "$(tar tf again.tenonpack | tr '\n' ' ')" = "pack.json one.yaml plugins/nodes.so prompts/hello.txt " ] || fails "tar tf"
fi
cp again.tenonpack "$work/kept"
run tenon pack build src -o again.tenonpack
expect_code 4 && expect_in err "again.tenonpack is there already" && expect_in err "--force" && once
cmp again.tenonpack "$work/kept" || fails "a pack was replaced"
echo "another file" >again.tenonpack
run tenon pack build src -o again.tenonpack --force
expect_code 0 && expect_out again.tenonpack
cmp again.tenonpack "$work/kept" || fails "a pack was not replaced"
run tenon pack build nowhere
expect_code 2 && once
run tenon pack build "$SOURCE/samples/hello" # no pack.json
expect_code 2 && expect_in err "pack.json" && once
# broken EDIT WHAT: a folder that is refused.
broken() {
    cp -r src broken
    (cd broken && eval "$1")
    run tenon pack build broken -o broken.tenonpack
    expect_code 4 && expect_in err "$2" && once
    [ ! -e broken.tenonpack ] && [ -z "$(find . -name '*.part-*')" ] || fails "expected no file"
    rm -rf broken
}
broken 'ln -s /etc/passwd link' "is a symbolic link"
broken 'mkfifo pipe' "is no regular file"
broken 'sed -i s/acme-text/Acme/ pack.json' '`name`: found `Acme`'
broken 'sed -i s/1.0.0/1.0/ pack.json' '`version`: found `1.0`'
broken 'sed -i s/documents/document/ pack.json' 'did you mean `documents`?'
broken 'sed -i s/title/titel/ pack.json' 'did you mean `title`?'
broken 'sed -i s/licence/author/ pack.json' 'which a pack does not have; there are `name`, `version`, '
broken 'sed -i s/one.yaml/two.yaml/ pack.json' '`two.yaml` is none of `files`'
broken 'sed -i s/one.yaml/..\\\/one.yaml/ pack.json' 'it leads out of the pack'
broken 'printf "no plugin" >plugins/nodes.so' "plugins/nodes.so"
broken 'echo "[]" >pack.json' "found array"
broken 'touch "$(printf "a\nb")"' "it has a control character"

# ---- keys and signatures ----
run tenon pack keygen acme
expect_code 0
[ "$(stat -c %a acme.key)" = 600 ] || fails "the secret key can be read by others"
expect_in out "packs: {trust: [\"$(cat acme.pub)\"]}"
run tenon pack keygen acme
expect_code 2 && expect_in err "nothing was changed" && once
run tenon pack keygen other
cp again.tenonpack signed.tenonpack
run tenon pack sign signed.tenonpack --key acme.pub
expect_code 4 && expect_in err "found a public one" && once
run tenon pack sign signed.tenonpack
expect_code 2 && expect_in err "--key is missing"
chmod 644 other.key
run tenon pack sign signed.tenonpack --key other.key
expect_code 4 && expect_in err "chmod 600" && once
chmod 600 other.key
cmp signed.tenonpack again.tenonpack || fails "what was not signed was changed"
run tenon pack sign signed.tenonpack --key other.key
expect_code 0
run tenon pack sign signed.tenonpack --key acme.key # the one before is gone
expect_code 0 && expect_in err "$(cat acme.pub)"
run tenon pack verify signed.tenonpack --key acme.pub
expect_code 0 && expect_in out "3 files, signed by $(cat acme.pub), which is trusted"
run tenon pack verify signed.tenonpack --key "$(cat acme.pub)"
expect_code 0
run tenon pack verify signed.tenonpack --key other.pub
expect_code 4 && expect_in err "signed by another key than other.pub" && once
run tenon pack verify signed.tenonpack --key acme.key
expect_code 4 && expect_in err "expected a public key" && once
run tenon pack verify signed.tenonpack
expect_code 4 && expect_in err "packs.trust" && once
run tenon pack verify again.tenonpack --key acme.pub
expect_code 4 && expect_in err "nobody has signed it" && once
run tenon pack verify src
expect_code 4 && expect_in err 'is a folder; `tenon pack build`' && once
printf 'packs: {trust: [./acme.pub]}\n' >tenon.yaml
run tenon pack verify signed.tenonpack
expect_code 0
run tenon pack verify signed.tenonpack --no-config
expect_code 4
printf 'packs: {trust: ["%s", gone.pub]}\n' "$(cat acme.pub)" >tenon.yaml
run tenon pack verify signed.tenonpack
expect_code 0 && expect_in err "warning: packs.trust: $PWD/gone.pub"
rm tenon.yaml

# ---- what is forged or damaged: one message, nothing installed ----
if command -v python3 >"$work/which"; then
    mkdir bad
    python3 - again.tenonpack signed.tenonpack bad <<'PYTHON'
import hashlib, json, sys
plain, signed = open(sys.argv[1], "rb").read(), open(sys.argv[2], "rb").read()
empty = hashlib.sha256(b"").hexdigest()
def header(path, size, kind=b"0", mode=b"0000644", link=b""):
    h = bytearray(512)
    for at, text in ((0, path), (100, mode), (108, b"0000000"), (116, b"0000000"), (124, b"%011o" % size), (136, b"0" * 11),
                     (148, b" " * 8), (156, kind), (157, link), (257, b"ustar\x0000"), (329, b"0000000"), (337, b"0000000")):
        h[at:at + len(text)] = text
    h[148:156] = b"%06o\x00 " % sum(h)
    return bytes(h)
def member(path, data=b"", **more): return header(path, len(data), **more) + data + b"\0" * (-len(data) % 512)
def manifest(files, **more):
    return member(b"pack.json", json.dumps({"name": "bad", "version": "1.0.0", "title": "T", "files": files, **more}).encode())
def write(name, *parts, end=b"\0" * 1024): open(sys.argv[3] + "/" + name, "wb").write(b"".join(parts) + end)
a, b = manifest({"a": empty}), manifest({"a": empty, "b": empty})
write("it leads out of the pack", a, member(b"../../a"))
write("it is absolute", a, member(b"%2ftmp%2fa".replace(b"%2f", b"/")))
write("`a` is a symbolic link", a, member(b"a", kind=b"2", link=b"/etc/passwd"))
write("`b` is a hard link", b, member(b"a"), member(b"b", kind=b"1", link=b"a"))
write("`a` is a device", a, member(b"a", kind=b"3"))
write("`a` is a folder", a, member(b"a", kind=b"5"))
write("`a` is an extended header", a, member(b"a", b"11 path=..\n", kind=b"x"))
write("`a` is in it twice", b, member(b"a"), member(b"a"), member(b"b"))
write("listed in pack.json and missing", b, member(b"a"))
write("`z` is in it and not listed", a, member(b"a"), member(b"z"))
write("its hash is e3b0c442", manifest({"a": "0" * 64}), member(b"a"))
write("is truncated", plain[:5000], end=b"")
write("bytes after its end", plain, end=b"x")
write("larger than 256 MiB", a, header(b"a", 1 << 31))
write("pack.json is larger than 4096 KiB", header(b"pack.json", 5 << 20), b" " * (5 << 20))
write("`a` is executable", a, member(b"a", mode=b"0000755"))
write("its mode is neither", a, member(b"a", mode=b"0004755"))
write("`name`: found `Bad`", manifest({"a": empty}, name="Bad"), member(b"a"))
write("`name`: found `..`", manifest({"a": empty}, name=".."), member(b"a"))
write("`version`: found `1`", manifest({"a": empty}, version="1"), member(b"a"))
write("a name in it begins with a dot", manifest({".installed.json": empty}), member(b".installed.json"))
write("`a` is a file and a folder", manifest({"a": empty, "a%2fb".replace("%2f", "/"): empty}), member(b"a"))
write("it needs Tenon >= 99", manifest({"a": empty}, tenon=">= 99"), member(b"a"))
write("it is no pack: expected an archive", b"x" * 4096)
at = signed.index(b'"signature": "') + 14
write("the signature is wrong", signed[:at] + (b"A" if signed[at:at + 1] != b"A" else b"B") + signed[at + 1:], end=b"")
write("`key`: expected 32 bytes in base64", signed.replace(b'"key": "', b'"key":" ', 1), end=b"")
write("found the algorithm `ed25518`", signed.replace(b'"ed25519"', b'"ed25518"', 1), end=b"")
write("pack.sig: found 'x'", a, member(b"pack.sig", b"x"), member(b"a"))
write("pack.sig: expected an object with", a, member(b"pack.sig", b"{}"), member(b"a"))
write("is not what the key", signed.replace(b"A pack for tests", b"a pack for tests", 1), end=b"")
PYTHON
    for file in bad/*; do
        run tenon pack install "$file"
        expect_code 4
        expect_in err "${file#bad/}"
        once
        expect_in err "nothing was installed"
        nothing_installed
    done
    [ ! -e /tmp/a ] || fails "an absolute path was written"
    rm -r bad
fi
run tenon pack install nowhere.tenonpack
expect_code 2 && once
mkfifo pipe
run tenon pack install pipe
expect_code 4 && expect_in err "no regular file"
nothing_installed

# ---- install, list, and what is found ----
run tenon pack list
expect_code 0 && expect_out "" && expect_in err "no packs are installed"
run tenon pack install again.tenonpack
expect_code 0 && expect_in err "warning: acme-text 1.0.0 is not signed" && expect_in err "acme-text 1.0.0 is installed"
run tenon pack install again.tenonpack
expect_code 0 && expect_in err "was installed already"
run tenon pack install signed.tenonpack
expect_code 4 && expect_in err "is installed with no signature" && once
run tenon pack list
expect_code 0 && expect_in out "acme-text 1.0.0  A pack for tests" && expect_in out "not signed" && expect_in out "one.yaml"
run tenon plugin list
expect_code 0 && expect_in out "$packs/acme-text/1.0.0/plugins/nodes.so (pack acme-text 1.0.0)"
run tenon run "$packs/acme-text/1.0.0/one.yaml"
expect_code 0
[ -x "$packs/acme-text/1.0.0/plugins/nodes.so" ] && [ ! -x "$packs/acme-text/1.0.0/one.yaml" ] || fails "modes"

# Another build of the same version; a newer one beside it, which is the one in use; and back.
echo "# changed" >>src/one.yaml
run tenon pack build src -o changed.tenonpack
run tenon pack install changed.tenonpack
expect_code 4 && expect_in err "another build of acme-text 1.0.0 is installed" && once
sed -i 's/"1.0.0"/"1.10.0-rc.1"/' src/pack.json
run tenon pack build src
run tenon pack install acme-text-1.10.0-rc.1.tenonpack
expect_code 0
run tenon pack list --json
expect_in out '"version":"1.10.0-rc.1","folder":"'
run tenon plugin list
expect_in out "(pack acme-text 1.10.0-rc.1)" && expect_not_in out "(pack acme-text 1.0.0)"
run tenon pack remove acme-text 9.9.9
expect_code 4 && expect_in err "version 9.9.9 of the pack" && once
run tenon pack remove acme-text 1.10.0-rc.1
expect_code 0 && expect_in err "1 version removed"
run tenon plugin list
expect_in out "(pack acme-text 1.0.0)"
run tenon pack remove acme-tex
expect_code 4 && expect_in err 'did you mean `acme-text`?' && once

# ---- altered bytes: named with both hashes, and not used ----
# altered FILE: a byte of it changes.
altered() {
    local file=$packs/acme-text/1.0.0/$1 was now
    was=$(sha256sum "$file" | cut -d' ' -f1)
    cp -p "$file" "$work/kept"
    printf 'X' | dd of="$file" bs=1 seek=20 conv=notrunc 2>"$work/which"
    now=$(sha256sum "$file" | cut -d' ' -f1)
    run tenon pack list
    expect_code 4 && expect_in out "$1: " && expect_in out "$was" && expect_in out "$now" && expect_in out "PACK_ALTERED"
    run tenon pack install again.tenonpack
    expect_code 4 && expect_in err "$was"
}
restore() { cp -p "$work/kept" "$packs/acme-text/1.0.0/$1"; }
altered plugins/nodes.so
run tenon plugin list
expect_in err "PACK_ALTERED" && expect_not_in out "(pack acme-text"
run tenon doctor
expect_code 4 && expect_in out "PACK_ALTERED"
restore plugins/nodes.so
altered pack.json
run tenon plugin list
expect_in err "PACK_ALTERED" && expect_not_in out "(pack acme-text"
restore pack.json
altered one.yaml
restore one.yaml
run tenon pack list
expect_code 0
mv "$packs/acme-text/1.0.0/plugins/nodes.so" "$work/kept"
run tenon plugin list
expect_in err "plugins/nodes.so"
ln -s "$work/kept" "$packs/acme-text/1.0.0/plugins/nodes.so"
run tenon plugin list
expect_in err "it is a symbolic link"
rm "$packs/acme-text/1.0.0/plugins/nodes.so"
cp "$work/kept" "$packs/acme-text/1.0.0/plugins/nodes.so"
printf '{}' >"$packs/acme-text/1.0.0/plugins/nodes.tenon.json"
run tenon plugin list
expect_in err "is no file of the pack"
rm "$packs/acme-text/1.0.0/plugins/nodes.tenon.json"
rm "$packs/acme-text/1.0.0/.installed.json"
run tenon plugin list
expect_in err "no usable record"
mkdir -p "$packs/acme-text/1.0.1" # nobody installed this
run tenon pack list
expect_code 4
run tenon pack remove acme-text
expect_code 0 && expect_in err "2 versions removed"
nothing_installed
[ ! -e "$packs/acme-text" ] || fails "an empty folder is left"

# ---- trust: whose plugins run in this process ----
"${CC:-cc}" -shared -fPIC -fvisibility=hidden -O1 -I"$SOURCE/sdk/include" \
    -Wl,--version-script="$SOURCE/sdk/cmake/tenon-plugin.map" -o src/plugins/nodes.so "$SOURCE/tests/isolate/deaths.c"
run tenon pack build src -o deaths.tenonpack
cp deaths.tenonpack deaths-signed.tenonpack
run tenon pack sign deaths-signed.tenonpack --key acme.key
cat >end.yaml <<'YAML'
version: "1.0"
channels: [{name: out, type: last_value}]
nodes: [{id: end, type: test.end, config: {how: abort, out: out}}]
edges: [{from: START, to: end}, {from: end, to: END}]
YAML
alone() { run tenon run end.yaml "$@" && expect_code 1 && expect_in err "PLUGIN_CRASHED"; }
inside() { run tenon run end.yaml "$@" && expect_code 134 && expect_not_in err "PLUGIN_CRASHED"; }
run tenon pack install deaths.tenonpack
alone
run tenon plugin list
expect_in out "in a process of its own: its pack is not trusted"
alone --plugins "$packs/acme-text/1.10.0-rc.1/plugins/nodes.so" # whichever way leads to it
printf 'plugins: {isolation: {"*": none}}\n' >tenon.yaml
alone
printf 'plugins: {isolation: {test.deaths: none}}\n' >tenon.yaml
inside
printf 'packs: {trust: ["%s"]}\n' "$(cat acme.pub)" >tenon.yaml
alone
run tenon pack remove acme-text
run tenon pack install deaths-signed.tenonpack
expect_code 0 && expect_not_in err "warning"
inside
printf 'packs: {trust: ["%s"]}\n' "$(cat other.pub)" >tenon.yaml
alone # trust is asked for each time

# A trusted version is used, whatever version one that nobody has signed says it is; damaged, it stays the one that is meant.
printf 'packs: {trust: ["%s"]}\n' "$(cat acme.pub)" >tenon.yaml
sed -i 's/"1.10.0-rc.1"/"9.0.0"/' src/pack.json
run tenon pack build src
run tenon pack install acme-text-9.0.0.tenonpack
expect_code 0 && expect_in err "warning: acme-text 9.0.0 is not used, since 1.10.0-rc.1 is installed"
inside
run tenon pack list
expect_code 0 && expect_in out "not in use: 1.10.0-rc.1 is; of a pack the newest trusted version is used"
run tenon pack list --json
expect_in out '"9.0.0","folder":"'"$packs"'/acme-text/9.0.0","in_use":false' && expect_in out '"in_use":true'
mv "$packs/acme-text/1.10.0-rc.1/pack.json" "$work/kept"
run tenon plugin list
expect_in err "1.10.0-rc.1" && expect_not_in out "(pack acme-text 9.0.0)"
mv "$work/kept" "$packs/acme-text/1.10.0-rc.1/pack.json"
run tenon pack list --no-config # where none is trusted, the newest
expect_in out "not in use: 9.0.0 is"
alone --no-config
run tenon pack remove acme-text 9.0.0
printf 'packs: {trust: ["%s"]}\nplugins: {isolation: {test.deaths: process}}\n' "$(cat acme.pub)" >tenon.yaml
alone
rm tenon.yaml
run tenon plugin upgrade "$TEST_NODES"
expect_code 4
run tenon plugin upgrade src/plugins/nodes.so
expect_code 4 && expect_in err "nothing was changed"
run tenon pack list
expect_code 0
run tenon pack remove acme-text

# ---- several at once ----
for i in 1 2 3 4 5 6; do "$TENON" pack install again.tenonpack 2>"$work/at-once-$i" & done
for i in 1 2 3 4 5 6; do wait -n || fails "one of several installers failed: $(cat "$work"/at-once-*)"; done
[ "$(cat "$work"/at-once-* | grep -c 'is installed')" = 1 ] || fails "expected one to install, and the others to find it"
run tenon pack list
expect_code 0 && expect_in out "acme-text 1.0.0"
run tenon pack remove acme-text

# ---- killed, or failing, at every step ----
"${CC:-cc}" -shared -fPIC -D_GNU_SOURCE -o kill.so "$SOURCE/tests/e2e/pack_kill.c" -ldl
[ -z "$SANITIZE" ] || export ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0
# at_step VARIABLE N COMMAND…: true where there was such a step.
at_step() {
    rm -f "$work/hit"
    run env LD_PRELOAD="$PWD/kill.so" STEPS="$work/hit" "$1=$2" "$TENON" "${@:3}"
    [ -L "$work/hit" ]
}
whole_or_nothing() {
    run tenon pack list
    expect_code 0
    run tenon plugin list
    expect_code 0
    [ ! -s "$work/err" ] || fails "expected nothing on standard error"
}
step=1
while at_step KILL_AT $step pack install again.tenonpack; do
    [ "$code" = 137 ] || fails "expected it to be killed at step $step"
    whole_or_nothing
    step=$((step + 1))
    [ -e "$packs/acme-text/1.0.0" ] && { run tenon pack remove acme-text && expect_code 0; }
done
expect_code 0
if [ $step -gt 10 ]; then
    [ ! -e "$packs/.new" ] || fails "what was left has not been cleared away"
    step=1
    while at_step KILL_AT $step pack remove acme-text; do
        whole_or_nothing
        step=$((step + 1))
        run tenon pack install again.tenonpack
        expect_code 0
    done
    expect_code 0
    [ $step -gt 5 ] || fails "expected more steps"
    step=1
    while at_step FAIL_AT $step pack install again.tenonpack; do
        if [ "$code" != 0 ]; then
            once
            expect_in err "nothing was installed"
            nothing_installed
            [ ! -e "$packs/.new" ] || fails "something is left after step $step"
        fi
        whole_or_nothing
        run tenon pack remove acme-text
        step=$((step + 1))
    done
elif [ -z "$SANITIZE" ]; then
    fails "expected more than $step steps"
fi
