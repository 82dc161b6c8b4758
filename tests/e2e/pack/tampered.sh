# Every message that reports a plugin of an altered pack as missing names the altered file. Documents of packs are
# verified, too.
file=$packs/acme-text/1.0.0/plugins/nodes.so
run tenon pack install again.tenonpack
run tenon pack list
expect_code 0
cp -p "$file" "$work/kept"
printf 'X' | dd of="$file" bs=1 seek=20 conv=notrunc 2>"$work/which"
names_it() { expect_in err "$1" && expect_in err "it may be in $file, which is not used because of changes"; }
doc() { printf 'version: "1.0"\n%s\nnodes: [{id: a, type: %s, config: {%s}}]\nedges: [{from: START, to: a}, {from: a, to: END}]\n' "$1" "$2" "$3" >doc.yaml; }
doc "" test.echo ""
run tenon check doc.yaml
names_it 'unknown node type `test.echo`'
run tenon run doc.yaml
names_it 'unknown node type `test.echo`'
doc "requires: [test.nodes]" passthrough ""
run tenon check doc.yaml
names_it 'the plugin `test.nodes` is not installed'
doc "models: {m: 'test.model:x'}" passthrough ""
run tenon check doc.yaml
names_it 'no plugin provides the model provider `test.model`'
doc "tools: [t.add]" passthrough ""
run tenon check doc.yaml
names_it 'there is no tool `t.add`'
run tenon tool call t.add '{}'
names_it 'no plugin offers the tool `t.add`'
run tenon plugin show test.nodes
names_it 'there is no plugin `test.nodes`'
run tenon plugin reset test.nodes
names_it 'cannot reset the plugin `test.nodes`'
run tenon plugin upgrade "$TEST_NODES"
names_it "which is not installed"
run tenon run "$SOURCE/samples/hello/hello.yaml" --isolate test.nodes
names_it 'cannot isolate the unknown plugin `test.nodes`'
printf 'plugins: {config: {test.nodes: {}}}\n' >tenon.yaml
run tenon run "$SOURCE/samples/hello/hello.yaml"
expect_code 0 && names_it 'plugins.config: unknown plugin `test.nodes`'
rm tenon.yaml
run tenon pack list
expect_code 4 && expect_in out "cannot be used: $file: it was altered" && expect_in out "one.yaml" && [ "$(grep -c "cannot be used" "$work/out")" = 1 ] || fails "expected one fault"
rm "$file"
run tenon run doc.yaml --isolate test.nodes
names_it 'cannot isolate the unknown plugin `test.nodes`' # a missing file is an alteration
cp -p "$work/kept" "$file"

one=$packs/acme-text/1.0.0/one.yaml
run tenon run "$one"
expect_code 0
printf 'version: "1.0"\nnodes: [{id: a, type: subgraph, config: {document: "%s"}}]\nedges: [{from: START, to: a}, {from: a, to: END}]\n' "$one" >outer.yaml
run tenon run outer.yaml
expect_code 0
cp -p "$one" "$work/kept"
printf '# changed\n' >>"$one"
for command in "run $one" "run outer.yaml" "check $one" "check outer.yaml" "graph $one"; do
    run tenon $command
    [ "$code" != 0 ] || fails "an altered document was used"
    expect_in err "$one: it was altered"
done
run tenon pack list --json
expect_code 4 && expect_in out '"kind":"documents","file":"one.yaml","error":{"code":"PACK_ALTERED"'
cp -p "$work/kept" "$one"

# A document with a mistake is shown as such.
sed -i 's/passthrough/acme.absent/' src/one.yaml
run tenon pack remove acme-text
run tenon pack build src -o wrong.tenonpack
run tenon pack install wrong.tenonpack
run tenon pack list
expect_code 4 && expect_in out 'one.yaml:2:23: unknown node type `acme.absent`' && expect_not_in out "PACK_ALTERED"
