# The life of a connection and of its sessions, content, settings, and mistakes of a client.
script lifecycle

# The sample for editors.
run tenon fmt --check "$SOURCE/samples/editors/zed/assistant.yaml"
expect_code 0
python3 -m json.tool "$SOURCE/samples/editors/zed/settings.json" >/dev/null || fails "settings.json is not JSON"
if [ -e "$BINARY/lib/tenon/plugins/openai.so" ]; then
    run tenon check --strict "$SOURCE/samples/editors/zed/assistant.yaml"
    expect_code 0
fi
