# `tenon check FOLDER`: all documents below it, in order, and nothing else.
mkdir -p docs/b/deep docs/.hidden docs/empty other
cat >docs/b/wrong.yaml <<'YAML'
version: "1.0"
nodes: [{id: a, type: promt}]
edges: [{from: START, to: a}, {from: a, to: END}]
YAML
cp docs/b/wrong.yaml docs/.hidden/hidden.yaml
cp docs/b/wrong.yaml other/outside.yaml
ln -s ../other docs/linked
ln -s ../other/outside.yaml docs/linked.yaml
mkfifo docs/pipe.yaml
cat >docs/b/deep/warns.yml <<'YAML'
version: "1.0"
nodes: [{id: only, type: passthrough}]
edges: [{from: START, to: only}]
YAML
cat >docs/a.yaml <<'YAML'
version: "1.0"
nodes: [{id: inside, type: subgraph, config: {document: b/deep/warns.yml}}]
edges: [{from: START, to: inside}, {from: inside, to: END}]
YAML
echo '{"version": "1.0", "nodes": [{"id": "c", "type": "passthrough"}], "edges": [{"from": "START", "to": "c"}, {"from": "c", "to": "END"}], "agent": {"nmae": "x"}}' >docs/c.json
echo '{"name": "a package", "version": "1.0"}' >docs/package.json
echo 'limits: {}' >docs/tenon.yaml

run tenon check docs
expect_code 3 && expect_out "" && expect_in err "4 documents: "
grep -o '^[^ ]*\(error\|warning\)\[[^]]*\]\|^[^ ]*: \(error\|warning\)\[[^]]*\]' "$work/err" | sed 's/:[0-9]*:[0-9]*: / /' | uniq >order
diff - order <<'TEXT' || fails "other documents, or another order"
docs/b/deep/warns.yml warning[ADL-W101]
docs/b/wrong.yaml error[ADL-E031]
docs/c.json error[ADL-E021]
TEXT
cd docs
run tenon check . --json
expect_code 3 && expect_in out '"file":"b/wrong.yaml"' && expect_not_in out "outside" && expect_not_in out "hidden"
cd ..
rm docs/b/wrong.yaml docs/c.json
run tenon check docs
expect_code 0 && expect_in err "2 documents: 0 errors, 1 warning"
run tenon check docs --strict
expect_code 3
run tenon check docs/empty
expect_code 2 && expect_in err "no document is below docs/empty"

# A document whose keys are mistyped, or that cannot be read, is reported and not skipped.
mkdir -p wrong/keys wrong/texts
rest='edges: [{from: START, to: a}, {from: a, to: END}]'
printf 'version: "1.0"\nnode: [{id: a, type: passthrough}]\n%s\n' "$rest" >wrong/keys/node.yaml
printf 'version: "1.0"\nNodes: [{id: a, type: passthrough}]\n%s\n' "$rest" >wrong/keys/upper.yaml
printf 'version: "1.0"\nagent: {name: c}\nchannels: [{name: a, type: last_value}]\n' >wrong/keys/channels.yaml
printf 'version: "1.0"\nagent: {name: caf\xe9}\nnodes: [{id: a, type: passthrough}]\n%s\n' "$rest" >wrong/texts/latin1.yaml
printf 'version: "1.0"\nnodes:\n\t- {id: a, type: passthrough}\n%s\n' "$rest" >wrong/texts/tab.yaml
echo "{'version': '1.0', 'nodes': [{'id': 'a', 'type': 'passthrough'}], 'edges': []}" >wrong/texts/quotes.json
printf 'services:\n\tweb: {image: a}\nversion: 3\n' >wrong/other.yaml
printf 'version: 3\nservices: {web: {image: a}}\n' >wrong/compose.yaml
printf '{"version": "1.2", "channel": "stable"}\n' >wrong/update.json
printf 'graph:\n\tnodes: []\n  edges: []\n  version: 2\n' >wrong/graph.yaml
echo "{'name': 'a package', 'version': '1.0'}" >wrong/package.json
run tenon check wrong
expect_code 3 && expect_in err "6 documents: "
for name in keys/node.yaml keys/upper.yaml keys/channels.yaml texts/latin1.yaml texts/tab.yaml texts/quotes.json; do
    expect_in err "wrong/$name"
done
expect_not_in err other.yaml && expect_not_in err compose.yaml && expect_not_in err package.json
expect_in err 'did you mean `nodes`'
