"""A call in two parts. Arguments: the URL and the key; the second part also has the requestState that the first one has
printed, and prints the text of the answer."""
import json
import sys
import urllib.request

URL, KEY = sys.argv[1:3]
NAME = "test_input_required_result_elicitation"
params = {"name": NAME, "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                                  "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}}
if len(sys.argv) > 3:
    params["requestState"] = sys.argv[3]
    params["inputResponses"] = {"user_name": {"action": "accept", "content": {"name": "Ada"}}}
headers = {"authorization": "Bearer " + KEY, "content-type": "application/json", "accept": "application/json, text/event-stream",
           "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": NAME}
body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
with urllib.request.urlopen(urllib.request.Request(URL, body, headers), timeout=60) as response:
    result = json.load(response)["result"]
print(result["content"][0]["text"] if len(sys.argv) > 3 else result["requestState"])
