# Only plugins of trusted packs run in the host's process.
signed
sed -i 's/"1.0.0"/"1.10.0-rc.1"/' src/pack.json
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
expect_in out "in a separate process: its pack is not trusted"
alone --plugins "$packs/acme-text/1.10.0-rc.1/plugins/nodes.so" # also if the path is given
printf 'plugins: {isolation: {"*": none}}\n' >tenon.yaml
alone
printf 'plugins: {isolation: {test.deaths: none}}\n' >tenon.yaml
inside
printf 'packs: {trust: ["%s"]}\n' "$(cat acme.pub)" >tenon.yaml
alone
run tenon pack remove acme-text
# A pack cannot trust itself: the search for tenon.yaml ignores files of installed packs.
printf 'packs: {trust: ["%s"]}\nplugins: {isolation: {test.deaths: none}}\n' "$(cat acme.pub)" >src/tenon.yaml
run tenon pack build src -o self.tenonpack
run tenon pack sign self.tenonpack --key acme.key
run tenon pack install self.tenonpack
mv tenon.yaml kept.yaml
cp end.yaml "$work/end.yaml"
for folder in . plugins; do
    cd "$packs/acme-text/1.10.0-rc.1/$folder"
    run tenon run "$work/end.yaml"
    expect_code 1 && expect_in err "PLUGIN_CRASHED"
    run tenon pack list
    expect_in out "not trusted, signed by"
    cd "$work/here"
done
mv kept.yaml tenon.yaml
rm src/tenon.yaml
run tenon pack remove acme-text
run tenon pack install deaths-signed.tenonpack
expect_code 0 && expect_not_in err "warning"
inside
printf 'packs: {trust: ["%s"]}\n' "$(cat other.pub)" >tenon.yaml
alone # trust is looked up each time

# A trusted version is used even if a newer one is unsigned. If it is damaged, it stays in use and is reported.
printf 'packs: {trust: ["%s"]}\n' "$(cat acme.pub)" >tenon.yaml
sed -i 's/"1.10.0-rc.1"/"9.0.0"/' src/pack.json
run tenon pack build src
run tenon pack install acme-text-9.0.0.tenonpack
expect_code 0 && expect_in err "warning: acme-text 9.0.0 is not used, because 1.10.0-rc.1 is installed"
inside
run tenon pack list
expect_code 0 && expect_in out "not in use, because 1.10.0-rc.1 is installed: the newest trusted version of a pack is used"
run tenon pack list --json
expect_in out '"9.0.0","folder":"'"$packs"'/acme-text/9.0.0","in_use":false' && expect_in out '"in_use":true'
mv "$packs/acme-text/1.10.0-rc.1/pack.json" "$work/kept"
run tenon plugin list
expect_in err "1.10.0-rc.1" && expect_not_in out "(pack acme-text 9.0.0)"
mv "$work/kept" "$packs/acme-text/1.10.0-rc.1/pack.json"
run tenon pack list --no-config # if none is trusted, the newest is used
expect_in out "not in use, because 9.0.0 is"
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
