# The key of a row is sent only to the host of the row's address: neither a document nor a binding can send it elsewhere.
command -v python3 >/dev/null || skips "python3 is not installed"
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
server_start port ../providers/dialect_server.py --log requests
export GROQ_API_KEY=gsk-0123456789abcdef LAB_KEY=lab-0123456789abcdef LAB_TOKEN=tok-0123456789abcdef
other=http://localhost:$port # the same server with another name: another origin
cat >tenon.yaml <<Y
providers:
  lab: {provider: groq, base_url: "http://127.0.0.1:$port/groq/v1", api_key: {secret: LAB_KEY}, headers: {x-token: {secret: LAB_TOKEN}}}
  moved: {provider: lab, base_url: "$other/groq/v1"}
  keyed: {provider: lab, timeout_ms: {total: 60000}}
models:
  plain: "lab:m"
  bound: {provider: keyed, model: m}
  kept: {provider: groq, model: m, api_key: {secret: LAB_KEY}}
Y
document() { # BINDING CONFIG
    cat <<Y
version: "1.0"
agent: {name: keys}
models: {asked: $1}
channels: [{name: out, type: last_value}]
nodes: [{id: ask, type: llm, config: {model: $2, prompt: "Well?", output_key: out ${3:-}}}]
edges: [{from: START, to: ask}, {from: ask, to: END}]
Y
}
last_request() { tail -1 requests >request; }
sent() { # a text that the last request must have
    last_request
    grep -qF "$1" request || fails "the request has no $1: $(cat request)"
}
no_key() {
    expect_code 0
    last_request
    for key in "$GROQ_API_KEY" "$LAB_KEY" "$LAB_TOKEN"; do ! grep -qF "$key" request || fails "$key was sent to another host"; done
    rm requests
}

# To its own address, from a document and from tenon.yaml.
for model in asked plain bound; do
    document '"lab:m"' $model >graph.yaml
    run tenon run graph.yaml
    expect_code 0 && sent "Bearer $LAB_KEY" && sent "$LAB_TOKEN" && ! grep -qF "$GROQ_API_KEY" request || fails "$model: $(cat request "$work/err")"
done
# Another path on the same host.
document "{provider: lab, model: m, base_url: \"http://127.0.0.1:$port/groq/v2\"}" asked >graph.yaml
run tenon run graph.yaml
expect_code 0 && sent "Bearer $LAB_KEY"

# To another host: by the binding of a document, by a node, by another row, and by --model.
for provider in groq lab keyed; do
    document "{provider: $provider, model: m, base_url: \"$other/groq/v1\"}" asked >graph.yaml
    run tenon run graph.yaml
    no_key
done
for model in asked plain bound kept; do
    document '"lab:m"' $model ", base_url: \"$other/groq/v1\"" >graph.yaml
    run tenon run graph.yaml
    no_key
done
run tenon model test moved:m --prompt Hello
no_key
run tenon model test --model "{\"provider\": \"lab\", \"model\": \"m\", \"base_url\": \"http://localhost.:$port/groq/v1\"}" --prompt Hello
[ ! -e requests ] || no_key
# A key that the binding itself names is its own.
document "{provider: lab, model: m, base_url: \"$other/groq/v1\", api_key: mine}" asked >graph.yaml
run tenon run graph.yaml
expect_code 0 && sent "Bearer mine"
# An error of a row names the model: the plugin knows only the component that the row is based on.
document '{provider: lab, model: m, extra: {bogus: 1}}' asked >graph.yaml
run tenon run graph.yaml
expect_code 1 && expect_in err 'openai refused the request (status 422)' && expect_in err 'the role `asked` is the model `lab:m`'
