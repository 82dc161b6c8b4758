# The same document against a third-party server: @copilotkit/aimock, from npm, implements both interfaces of OpenAI, and
# those of Anthropic and Gemini. It is lenient and sometimes wrong, so it does not replace the recordings of
# tests/providers; it shows that the providers work with a server that this project has not written.
check_mode=1
[ -e "$BINARY/lib/tenon/plugins/http.so" ] || skips "built without the HTTP client"
npm_packages @copilotkit/aimock

cat >server.mjs <<'J'
import { createRequire } from "node:module";
import { renameSync, writeFileSync } from "node:fs";
const { LLMock } = createRequire(process.argv[2] + "/")("@copilotkit/aimock");
const mock = new LLMock({ port: 0 });
const call = { name: "extract", arguments: JSON.stringify({ from: "see https://a.example/ü", what: "links" }) };
mock.on({ userMessage: "Which links?", hasToolResult: false }, { content: "I look.", toolCalls: [call] });
mock.on({ userMessage: "Which links?", hasToolResult: true }, { content: "One: ü" });
mock.on({ userMessage: "Break off" }, { content: "Nobody will read all of this." }, { truncateAfterChunks: 2 });
mock.on({ userMessage: "Too many" }, { error: { message: "slow down", type: "rate_limit_error" }, status: 429 });
await mock.start();
writeFileSync("url.new", mock.url);
renameSync("url.new", "url");
J
node server.mjs "$modules" >server.log 2>&1 &
server_wait url
at=$(cat url)
echo '{}' >tenon.yaml
cat >agent.yaml <<'Y'
version: "1.0"
agent: {name: agent}
channels:
  - {name: messages, type: append}
  - {name: usage, type: last_value}
nodes:
  - id: ask
    type: agent
    config: {model: main, system_prompt: You find links., tools: [extract], messages_key: messages, usage_key: usage}
edges:
  - {from: START, to: ask}
  - {from: ask, to: END}
Y

ask() {
    run tenon run agent.yaml --model "main=$1" --input "{\"messages\": [{\"type\": \"user\", \"content\": \"$2\"}]}"
}
with() {
    for more in "" ', "stream": false'; do
        ask "$1, \"model\": \"m\", \"api_key\": \"k\"$more}" "Which links?"
        expect_code 0 && expect_in out '"One: ü"' && expect_in out '"llm_calls":2' && expect_in out '"name":"extract"'
        ask "$1, \"model\": \"m\", \"api_key\": \"k\"$more}" "Too many"
        expect_code 1 && expect_in err '[RATE_LIMITED]'
    done
    ask "$1, \"model\": \"m\", \"api_key\": \"k\"}" "Break off"
    expect_code 1 # the server may close the connection before all data was sent
    grep -qF -e '[INVALID_RESPONSE]' -e '[CONNECT]' "$work/err" || fails "expected an incomplete answer"
}
with "{\"provider\": \"openai\", \"base_url\": \"$at/v1\""
with "{\"provider\": \"openai\", \"api\": \"responses\", \"base_url\": \"$at/v1\""
with "{\"provider\": \"anthropic\", \"base_url\": \"$at/v1\""
[ ! -e "$BINARY/lib/tenon/plugins/gemini.so" ] || with "{\"provider\": \"gemini\", \"base_url\": \"$at/v1beta\""
