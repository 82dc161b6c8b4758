// ai_sdk_openai.mjs ADDRESS KEY: the AI SDK with @ai-sdk/openai-compatible, unchanged.
import assert from "node:assert/strict";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs, streamText, tool } from "ai7";

const [address, key] = process.argv.slice(2);
const provider = createOpenAICompatible({ name: "tenon", baseURL: `${address}/v1`, apiKey: key, includeUsage: true });

const answer = await generateText({ model: provider("reasoning"), prompt: "hi", maxRetries: 0 });
assert.equal(answer.text, "Hello there, how are you?");
assert.equal(answer.reasoningText, "The user wants a greeting.");

const stream = streamText({ model: provider("reasoning"), prompt: "hi", maxRetries: 0 });
assert.equal(await stream.text, "Hello there, how are you?");
assert.equal((await stream.usage).totalTokens, 19);

const { z } = await import("zod").catch(() => ({}));
if (z) {
  const used = await generateText({
    model: provider("weather"),
    prompt: "How is it in Kyoto?",
    maxRetries: 0,
    stopWhen: stepCountIs(3),
    tools: { weather: tool({ inputSchema: z.object({ city: z.string() }), execute: async ({ city }) => (city === "Kyoto" ? "sunny" : "?") }) },
  });
  assert.equal(used.text, "It is sunny.");
}
console.log("ok ai_sdk");
