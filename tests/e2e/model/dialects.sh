# Each row of the vendors with a compatible API, over a connection: a server that refuses every field that the vendor does
# not know, for one run with a node of each row, which asks for an answer of a schema and sets options.
command -v python3 >/dev/null || skips "python3 is not installed"
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
server_start port ../providers/dialect_server.py --log requests
rows=$(python3 -c 'import json, sys; print(*sorted(json.load(open(sys.argv[1]))))' "$SOURCE/tests/providers/dialect_fields.json")
python3 - "$port" $rows >graph.json <<'P'
import json, sys
port, rows = sys.argv[1], sys.argv[2:]
schema = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"], "additionalProperties": False}
config = {"system_prompt": "Be short.", "prompt": "Well?", "output_schema": schema, "api_key": "none-needed",
          "options": {"seed": 1, "temperature": 0, "max_tokens": 9, "stop": ["X"], "reasoning": {"effort": "low"}}}
names = {row: row.replace(".", "_") for row in rows}
print(json.dumps({
    "version": "1.0", "agent": {"name": "rows"},
    "models": {names[row]: {"provider": row, "model": "m", "base_url": f"http://127.0.0.1:{port}/{row}/v1"} for row in rows},
    "channels": [{"name": name, "type": "last_value"} for name in names.values()],
    "nodes": [{"id": f"ask_{name}", "type": "llm", "config": {**config, "model": name, "output_key": name}} for name in names.values()],
    "edges": [edge for name in names.values() for edge in ({"from": "START", "to": f"ask_{name}"}, {"from": f"ask_{name}", "to": "END"})],
}))
P
run tenon check graph.json
expect_code 0
run tenon run graph.json
expect_code 0
for row in $rows; do expect_in out "\"$(echo "$row" | tr . _)\":{\"answer\":\"yes\"}"; done
[ "$(sort -u requests | wc -l)" -ge "$(echo "$rows" | wc -w)" ] || fails "a row sent no request"
grep '"row": "azure"' requests | grep -q '"api-key": "none-needed"' || fails "Azure did not get the key in its header"

# The server is strict: the fields that OpenAI knows are too many for others.
run tenon model test --model "{\"provider\": \"openai\", \"model\": \"m\", \"base_url\": \"http://127.0.0.1:$port/mistral/v1\"}"
expect_code 1 && expect_in err "422"

# Speech: what a service streams as samples is saved as a WAV file. A row without speech sends no request.
spoken() { run tenon model test "{\"provider\": \"$1\", \"model\": \"m\", \"api_key\": \"k\", \"base_url\": \"http://127.0.0.1:$port/$1/v1\", \"speech\": {\"voice\": \"ash\"}}"; }
rm requests
spoken openrouter
expect_code 0 && expect_out spoken && expect_in err "· audio/wav, 48 bytes: $XDG_STATE_HOME/tenon/chat/"
python3 -c 'import sys, wave; file = wave.open(sys.argv[1]); print(file.getparams()[:4], file.readframes(9))' "$XDG_STATE_HOME"/tenon/chat/*.wav >heard
[ "$(cat heard)" = "(1, 2, 24000, 2) b'\x01\x00\x02\x00'" ] || fails "another file: $(cat heard)"
grep -q '"audio": {"voice": "ash", "format": "pcm16"}' requests || fails "another request: $(cat requests)"
rm requests
spoken groq
expect_code 1 && expect_in err "UNSUPPORTED" && expect_in err "this service returns no speech"
[ ! -e requests ] || fails "a request was sent: $(cat requests)"
