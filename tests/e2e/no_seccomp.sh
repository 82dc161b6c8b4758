# A build without libseccomp (TENON_SECCOMP=OFF): it configures, `tenon doctor` reports what is missing, the sandbox keeps
# Landlock, and a plugin of an untrusted pack is not started unless the operator names it.
# The program under test is linked by the normal build (target tenon_no_seccomp), so that this test compiles nothing of it.
TENON=$BINARY/no-seccomp/bin/tenon

# ---- configure: libseccomp is not looked for, and the program is not linked with it ----
if command -v cmake >"$work/which" && command -v ninja >"$work/which"; then
    run cmake -S "$SOURCE" -B build -G Ninja -DTENON_SECCOMP=OFF -DTENON_TESTS=OFF -DCMAKE_C_COMPILER="$CC"
    expect_code 0
    expect_not_in out seccomp
    run ninja -C build -t commands tenon
    expect_code 0 && expect_in out filter_absent.c && expect_not_in out lseccomp && expect_not_in out sandbox/filter.c
fi
# The objects of the program under test do not refer to libseccomp.
if command -v nm >"$work/which"; then
    run nm -D "$TENON"
    expect_not_in out seccomp
fi

# ---- doctor ----
run tenon doctor
expect_in out '· seccomp'
expect_in out 'built without libseccomp'
expect_in out 'system calls of isolated plugins are not filtered'
expect_in out 'plugins of untrusted packs are not started'
expect_in out 'install libseccomp-dev and build with -DTENON_SECCOMP=ON'
landlock=$(sed -n 's/.*Landlock  *version \([0-9]*\).*/\1/p' "$work/out")

# ---- a plugin that the operator isolates: a warning, and the layers that remain ----
mkdir -p src/plugins
"$CC" -shared -fPIC -fvisibility=hidden -D_GNU_SOURCE -O1 -I"$SOURCE/sdk/include" -pthread \
    -Wl,--version-script="$SOURCE/sdk/cmake/tenon-plugin.map" -o src/plugins/escapes.so "$SOURCE/tests/isolate/escapes.c" \
    2>"$work/err" || fails "escapes.c does not compile"
cat >escape.yaml <<'YAML'
version: "1.0"
agent: {name: escape}
channels: [{name: out, type: last_value}]
nodes: [{id: escape, type: test.escape, config: {how: open_read, file: /etc/passwd, out: out}}]
edges: [{from: START, to: escape}, {from: escape, to: END}]
YAML
export DECLARED_SECRET=declared OTHER_SECRET=other
weaker='sandbox: this build of tenon has no libseccomp: system calls are not filtered'
run tenon run escape.yaml --plugins src/plugins/escapes.so --isolate test.escapes
expect_code 0
expect_in err "$weaker"
[ -z "$landlock" ] || expect_out '{"out":"EACCES"}'

# ---- a plugin of an untrusted pack: refused, until tenon.yaml names it ----
cat >src/pack.json <<'JSON'
{"name": "acme-escapes", "version": "1.0.0", "title": "A pack for tests", "plugins": ["plugins/escapes.so"]}
JSON
run tenon pack build src -o escapes.tenonpack
expect_code 0
run tenon pack install escapes.tenonpack
expect_code 0
run tenon run escape.yaml
expect_code 4
expect_in err 'its pack is not trusted, and system calls cannot be filtered'
expect_not_in err "$weaker"
printf 'plugins: {isolation: {"*": process}}\n' >tenon.yaml # does not name the plugin
run tenon run escape.yaml
expect_code 4
expect_in err 'its pack is not trusted, and system calls cannot be filtered'
printf 'plugins: {isolation: {test.escapes: process}}\n' >tenon.yaml
run tenon run escape.yaml
expect_code 0
expect_in err "$weaker"

# ---- a trusted pack needs no mention ----
run tenon pack keygen acme
run tenon pack sign escapes.tenonpack --key acme.key
expect_code 0
run tenon pack remove acme-escapes
run tenon pack install escapes.tenonpack
printf 'packs: {trust: ["%s"]}\nplugins: {isolation: {"*": process}}\n' "$(cat acme.pub)" >tenon.yaml
run tenon run escape.yaml
expect_code 0
expect_in err "$weaker"
