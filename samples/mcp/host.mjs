// An agent host in miniature: lists the tools of a server of the Model Context Protocol, calls one, and asks the person at the
// terminal what the tool wants to know.
//
//     node host.mjs URL KEY                      lists the tools
//     node host.mjs URL KEY TOOL ARGUMENTS       calls one; ARGUMENTS is JSON
import { createInterface } from "node:readline/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [url, key, tool, text] = process.argv.slice(2);
const client = new Client({ name: "sample-host", version: "1.0.0" }, { capabilities: { elicitation: {} } });

client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
    const terminal = createInterface({ input: process.stdin, output: process.stdout });
    const answer = await terminal.question(`${params.message} [y/n] `);
    terminal.close();
    return { action: "accept", content: { value: answer.trim() === "y" } };
});

await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${key}` } } }));
if (tool) {
    const { content, structuredContent } = await client.callTool({ name: tool, arguments: JSON.parse(text) });
    console.log(structuredContent ? JSON.stringify(structuredContent) : content.map((part) => part.text).join("\n"));
} else {
    for (const { name, description } of (await client.listTools()).tools) console.log(`${name}: ${description}`);
}
await client.close();
