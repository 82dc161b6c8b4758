# Shared by the tests of deep research: a service on this machine (research_server.py), and documents that use it.
check_mode=1
command -v python3 >/dev/null || skips "python3 is not installed"
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
[ -e "$BINARY/lib/tenon/plugins/gemini.so" ] || skips "built without the Gemini provider"
unset VERTEX_PROJECT_ID VERTEX_LOCATION GOOGLE_APPLICATION_CREDENTIALS GOOGLE_API_KEY
export GEMINI_API_KEY=AIzaSyA-0123456789 OPENAI_API_KEY=sk-proj-0123456789abcdef

# serve SCRIPT: starts the service with a new log, and writes tenon.yaml
serve() {
    rm -f log
    echo "$1" >script.json
    server_start port research_server.py script.json --log log
    cat >tenon.yaml <<Y
plugins:
  config:
    tenon.gemini: {interactions_url: "http://127.0.0.1:$port/v1beta"}
    tenon.openai: {responses_url: "http://127.0.0.1:$port/v1"}
Y
}

# document FILE CONFIG: a document with the node
document() {
    cat >"$1" <<Y
version: "1.0"
agent: {name: report}
channels: [{name: question, type: last_value}, {name: research, type: last_value}]
nodes: [{id: research, type: deep_research, config: {$2, output_key: research}}]
edges: [{from: START, to: research}, {from: research, to: END}]
Y
}

count() { grep -c "\"method\": \"$1\", \"path\": \"[^\"]*$2" log || true; } # METHOD PATH_PATTERN
creates() { grep -cE '"method": "POST", "path": "[^"]*/(interactions|responses)"' log || true; }
expect_creates() { [ "$(creates)" = "$1" ] || fails "expected $1 created works, found $(creates)"; }
report='"text":"Heat pumps work in the cold. Really."'
