// A question to the graph with OpenAI's client for Node: `node chat.mjs "…"`. OPENAI_BASE_URL and OPENAI_API_KEY say where it is. The
// response is a thread of the server: the second request continues it, and answers what the graph asks.
import OpenAI from "openai";

const client = new OpenAI();
let response = await client.responses.create({ model: "assistant", input: process.argv[2] });
console.log(response.output_text);
const asked = response.output.filter((item) => item.type === "mcp_approval_request");
if (asked.length) {
    const input = asked.map(({ id }) => ({ type: "mcp_approval_response", approval_request_id: id, approve: true }));
    response = await client.responses.create({ model: "assistant", previous_response_id: response.id, input });
    console.log(response.output_text);
}
