# `tenon model embed` and the node `embed`: batches, order, usage, errors.
cat >embed.yaml <<'Y'
models: {vectors: {provider: scripted, dimensions: 4}, spare: [{provider: nobody}, {provider: scripted, dimensions: 4}]}
prices: {scripted: {input: 1000000, output: 0}}
Y
# The same vectors in the same order, whatever the batches are.
for i in {1..60}; do echo "line $i"; done >lines
run sh -c '"$0" model embed -c embed.yaml vectors <lines' "$TENON"
expect_code 0 && expect_in err '120 tokens in, cost 120' && cp "$work/out" whole && [ "$(wc -l <whole)" = 60 ] || fails "expected 60 vectors"
run sh -c '"$0" model embed -c embed.yaml vectors --batch 7 <lines' "$TENON"
expect_code 0 && expect_in err '120 tokens in, cost 120' && cmp "$work/out" whole || fails "expected the same vectors in batches"
run tenon model embed -c embed.yaml spare "line 1" --json --dimensions 2
expect_code 0 && expect_in out '{"model":"scripted","embeddings":[[' && expect_in out '"input_tokens":2' && expect_in err 'a fallback is left out'
run tenon model embed -c embed.yaml nowhere a
expect_code 4 && expect_in err 'no plugin offers the model `nowhere`'
run tenon model embed -c embed.yaml '{"provider": "scripted"}' a
expect_code 2 && expect_in err 'found JSON, expected a role or PROVIDER:NAME'
run tenon model embed -c embed.yaml --model 'own={"provider": "scripted", "dimensions": 2}' own a
expect_code 0
run tenon model embed -c embed.yaml vectors a --dimensions x
expect_code 2 && expect_in err '--dimensions: found `x`, expected an integer'
run tenon model embed -c embed.yaml vectors a --batch 0
expect_code 2 && expect_in err 'at least 1'
run sh -c '"$0" model embed -c embed.yaml vectors </dev/null' "$TENON"
expect_code 2 && expect_in err 'standard input: found no line'
run sh -c 'yes x | head -10001 | "$0" model embed -c embed.yaml vectors' "$TENON"
expect_code 2 && expect_in err 'found more than 10000 lines'
# A failure of one batch: nothing is printed. (scripted accepts 4096 dimensions at most.)
run sh -c '"$0" model embed -c embed.yaml vectors --batch 7 --dimensions 16384 <lines' "$TENON"
expect_code 1 && expect_in err 'texts 0 to 6 of 60: found 7 texts and 16384 dimensions' && [ ! -s "$work/out" ] || fails "expected no vectors"
# A model for messages only.
if [ -e "$BINARY/lib/tenon/plugins/anthropic.so" ]; then
    run tenon model embed -c embed.yaml anthropic:claude a --json
    expect_code 1 && expect_in err 'does not support embeddings'
fi

cat >embed_node.yaml <<'Y'
version: "1.0"
channels: [{name: texts, type: last_value}, {name: out, type: last_value}, {name: used, type: last_value}]
models: {vectors: {provider: scripted, dimensions: 2}}
nodes: [{id: e, type: embed, config: {model: vectors, input_key: texts, output_key: out, usage_key: used, batch: {texts: 2}}}]
edges: [{from: START, to: e}, {from: e, to: END}]
Y
run tenon run embed_node.yaml --input '{"texts": ["a", "b", "a"]}'
expect_code 0 && expect_in out '"input_tokens":3' && expect_in out '"llm_calls":1'
python3 -c 'import json, sys; v = json.load(sys.stdin)["out"]; sys.exit(not (len(v) == 3 and v[0] == v[2] != v[1]))' <"$work/out" || fails "expected three vectors"
run tenon run embed_node.yaml --input '{"texts": "a"}'
expect_code 0 && python3 -c 'import json, sys; v = json.load(sys.stdin)["out"]; sys.exit(len(v) != 2)' <"$work/out" || fails "expected one vector"
run tenon run embed_node.yaml --input '{"texts": []}'
expect_code 0 && expect_in out '"out":[]' && expect_in out '"llm_calls":0'
run tenon run embed_node.yaml --input '{"texts": ["a", 1]}'
expect_code 1 && expect_in err '`texts`, item 1: found an int, expected a text'
