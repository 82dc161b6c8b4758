# `memory.embed` in tenon.yaml: memories get vectors of their texts, and `similar` finds them, in every store and by every way.
stores="memory sqlite"
[ -e "$BINARY/lib/tenon/plugins/sqlite.so" ] || stores=memory
cat >graph.yaml <<'Y'
version: "1.0"
channels: [{name: q, type: last_value}, {name: put, type: last_value}, {name: found, type: last_value}, {name: kept, type: last_value}]
nodes:
  - {id: one, type: tool, config: {tool: memory.put, arguments: {namespace: "['d']", key: "'one'", value: "'a cat sleeps on the sofa'"}, output_key: put}}
  - {id: two, type: tool, config: {tool: memory.put, arguments: {namespace: "['d']", key: "'two'", value: "{'text': 'the stock market fell'}"}, output_key: put}}
  - {id: none, type: tool, config: {tool: memory.put, arguments: {namespace: "['d']", key: "'none'", value: "'a cat sleeps'", vector: false}, output_key: put}}
  - {id: mute, type: tool, config: {tool: memory.put, arguments: {namespace: "['d']", key: "'mute'", value: 5}, output_key: put}}
  - {id: find, type: tool, config: {tool: memory.search, arguments: {namespace: "['d']", similar: state.q, exact: true}, output_key: found}}
  - {id: keys, type: set, config: {values: {kept: "state.found.memories.map(m, m.key)"}}}
edges: [{from: START, to: one}, {from: one, to: two}, {from: two, to: none}, {from: none, to: mute}, {from: mute, to: find}, {from: find, to: keys}, {from: keys, to: END}]
Y
for store in $stores; do
    printf 'models: {v: {provider: scripted, dimensions: 128}}\nmemory: {embed: v}\nstore: {use: %s, path: ./%s.db}\nprices: {scripted: {input: 1000000, output: 0}}\n' $store $store >$store.yaml
    run tenon run graph.yaml -c $store.yaml --set q='where does a cat sleep?'
    expect_code 0 && expect_in out '"kept":["one","two"]' # best first, and only those with a vector
done
# The calls count towards the budget of the run.
sed '1a budget: {tokens: 3}' graph.yaml >poor.yaml
run tenon run poor.yaml -c memory.yaml --set q=x
expect_code 1 && expect_in err BUDGET
# Without the key, nothing is different, and `similar` is refused.
printf 'store: memory\n' >plain.yaml
run tenon run graph.yaml -c plain.yaml --set q=x
expect_code 1 && expect_in err '`similar`: no model makes vectors of texts; set `memory: {embed: ROLE}`'
# A model that fails: nothing is stored, and the error names the key.
printf 'memory: {embed: "scripted:x", dimensions: 9000}\nstore: {use: memory, path: a}\n' >fails.yaml
run tenon memory put n k text -c fails.yaml
expect_code 1 && expect_in err 'the model of `memory.embed` in tenon.yaml: found 1 texts and 9000 dimensions'
printf 'memory: {embed: nowhere}\nstore: {use: memory, path: a}\n' >nowhere.yaml
run tenon memory put n k text -c nowhere.yaml
expect_code 1 && expect_in err 'the model of `memory.embed` in tenon.yaml, `nowhere`: '
run tenon memory put n k 7 -c nowhere.yaml # no text: no model is needed
expect_code 0
for wrong in 'embed: 7' 'embed: a, dimensions: 0' 'embed: a, bytes: 15' 'embed: a, model: b'; do
    printf 'memory: {%s}\n' "$wrong" >wrong.yaml
    run tenon memory get n k -c wrong.yaml
    expect_code 4 && expect_in err 'memory'
done
# The model knows what a vector is for: a text of a memory, or of a search. An `embed` node says it.
if command -v python3 >/dev/null && [ -e "$BINARY/lib/tenon/plugins/http.so" ]; then
    echo '[{}]' >script.json
    server_start port provider_server.py script.json --log requests
    v="{provider: cohere, model: m, base_url: \"http://127.0.0.1:$port/v2\"}"
    printf 'models: {v: %s}\nmemory: {embed: v, dimensions: 2}\nstore: {use: memory, path: a}\n' "$v" >purpose.yaml
    printf 'version: "1.0"\nchannels: [{name: q, type: last_value}]\nnodes: [{id: e, type: embed, config: {model: v, input_key: q, output_key: q, purpose: query}}]\nedges: [{from: START, to: e}, {from: e, to: END}]\n' >embed.yaml
    run tenon memory put n k text -c purpose.yaml
    run tenon memory search n --similar text -c purpose.yaml
    run tenon run embed.yaml -c purpose.yaml --set q=text
    expect_code 0 && expect_in out '"q":[4,1]'
    run tenon model embed v text -c purpose.yaml
    expect_code 0 && expect_out '[4,0]'
    types=$(grep -o '"input_type": "[a-z_]*"' requests | cut -d'"' -f4 | tr '\n' ' ')
    [ "$types" = "search_document search_query search_query search_document " ] || fails "input types: $types"
    servers_stop
fi
[ "$stores" = memory ] && exit 0
# A long text is cut: the vector is that of its first bytes.
printf 'models: {v: {provider: scripted, dimensions: 64}}\nmemory: {embed: v, bytes: 16, dimensions: 8}\nstore: {use: sqlite, path: ./cut.db}\n' >cut.yaml
run tenon memory put n long "$(printf '0123456789abcdef%.0s' {1..100})" -c cut.yaml
run tenon memory put n short 0123456789abcdef -c cut.yaml
run tenon memory search n --similar 0123456789abcdefXYZ --json -c cut.yaml
expect_code 0 && [ "$(grep -o '"score":1.0\|"score":0.99999' "$work/out" | wc -l)" = 2 ] || fails "expected two equal vectors"
# After another model, the memories are there, but are not compared: the command says so.
sed 's/dimensions: 8}/dimensions: 9}/' cut.yaml >other_model.yaml
run tenon memory search n --similar 0123456789abcdefXYZ -c other_model.yaml
expect_code 0 && expect_out "" && expect_in err "with another model, must be stored again"
# A store that does not know `exact` refuses it; the host then asks without it.
command -v python3 >/dev/null || exit 0
mkdir saved
printf 'models: {v: {provider: scripted, dimensions: 128}}\nmemory: {embed: v}\nstore: {use: sample.log, path: saved/l.jsonl}\nplugins: {path: "%s/samples/python/store.py", drafts: [sample.log]}\n' "$SOURCE" >other.yaml
run tenon memory put d one 'a cat sleeps' -c other.yaml
expect_code 0
run tenon memory search d --similar 'a cat' --exact -c other.yaml
expect_code 0 && expect_out 'd  one  "a cat sleeps"'
