# The compatibility kit of A2A (github a2aproject/a2a-tck, branch 1.0-dev), its level `must`, with both bindings. The kit
# sends no key, so a proxy adds it. Its schema for cards allows no members of 0.3, and it does not say which version it
# expects, so the proxy does that, too.
for plugin in serve a2a_server sqlite; do
    [ -e "$BINARY/lib/tenon/plugins/$plugin.so" ] || skips "built without $plugin"
done
kit=${TENON_SUITES:-}/a2a-tck
[ -e "$kit/run_tck.py" ] || skips "the compatibility kit is not at $kit"
pip_packages a2a_kit pytest==9.0.2 pytest-asyncio httpx==0.28.1 grpcio protobuf googleapis-common-protos jsonschema pytest-html gherkin-official Jinja2
cat >tenon.yaml <<'END_OF_FILE'
store: {use: sqlite, path: ./store.db}
serve: {protocols: [tenon.a2a_server]}
plugins: {config: {tenon.a2a_server: {push: {allow: [https://example.com, "http://localhost:*"]}}}}
END_OF_FILE
key=$("$TENON" key create kit)
serve_start serve --port 0 "$SOURCE/tests/a2a/tck.yaml"
python3 "$SOURCE/tests/a2a/with_key.py" "${address##*:}" "$key" >proxy.out 2>proxy.err </dev/null &
servers+=("$!")
wait_until eval 'grep -qs "http://" proxy.out'
cp -r "$kit" "$work/kit"
cd "$work/kit"
timeout 240 "$python" -m pytest tests/compatibility -q -m must --sut-host "$(cat "$work/here/proxy.out")" --transport jsonrpc,http_json \
    -p no:cacheprovider >"$work/kit.log" 2>&1 || { grep -aE '^(E  .*Error|FAILED)' "$work/kit.log" >&2; fails "the kit's level must"; }
grep -aqE '1[6-9][0-9] passed' "$work/kit.log" || { tail -n 3 "$work/kit.log" >&2; fails "the kit has skipped more tests than it did"; }
