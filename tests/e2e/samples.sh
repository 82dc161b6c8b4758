# samples/hello, samples/triage and others print what their expected files contain. (install.sh builds the plugin of triage and
# samples/embed against an installation.)
check_mode=1
run tenon run "$SOURCE/samples/hello/hello.yaml"
expect_code 0
expect_out "$(cat "$SOURCE/samples/hello/expected.json")"
[ "$(grep -cv '^ *\(#\|$\)' "$SOURCE/samples/hello/hello.yaml")" -le 10 ] || fails "hello.yaml has more than ten lines"
for document in "$SOURCE"/samples/*/*.yaml; do
    run tenon fmt --check "$document"
    expect_code 0
done

# ---- samples/deep-research: one command, from any folder, without a network and without keys ----
run env -u OPENAI_API_KEY -u GEMINI_API_KEY TENON="$TENON" "$SOURCE/samples/deep-research/run"
expect_code 0 && expect_in out '"sources":["https://example.org/study"]' && expect_in out '[2]: https://example.org/prices'

# ---- samples/chat: one document, every provider, from recordings ----
[ -e "$BINARY/lib/tenon/plugins/openai.so" ] || skips "built without providers"
said='What is the capital of Japan?\nHow many people live there?\n'
talk() { printf "$said" | "$TENON" chat "$SOURCE/samples/chat/chat.yaml" "$@"; }
for model in openai:gpt-4o-mini:openai anthropic:claude-sonnet-4-5:claude gemini:gemini-3-flash-preview:gemini; do
    case $model in gemini*) [ -e "$BINARY/lib/tenon/plugins/gemini.so" ] || continue ;; esac
    run talk --model "${model%:*}" --replay "$SOURCE/samples/chat/recorded/${model##*:}"
    expect_code 0 && expect_out "The capital of Japan is Tokyo.
About 14 million people live in Tokyo itself."
done
run talk --model scripted
expect_code 0 && expect_in out "How many people live there?"
run talk --model openai:gpt-4o-mini --replay "$SOURCE/samples/chat/recorded/claude"
expect_code 1 && expect_in err "[NOT_RECORDED]"

# ---- samples/generator: a model writes a document, corrects it, and runs it ----
if [ -e "$BINARY/lib/tenon/plugins/gemini.so" ]; then
    run tenon run "$SOURCE/samples/generator/generator.yaml" --set task='Make a title from a topic' --set given.topic=tea \
        --replay "$SOURCE/samples/generator/recorded"
    expect_code 0 && expect_in out '"tries":2,"result":{"topic":"tea","title":"On tea"}}'
fi
