# Google's own SDK: its types accept what the tools send, and its client reads what the service of these tests sends, so that
# the service is not only what the plugin expects. It needs `pip install google-genai==3.4.0` (PYTHONPATH is respected).
python3 -c 'from google.genai._gaos.types import interactions' 2>/dev/null || skips "the package google-genai 3.4.0 is not installed"
document report.yaml 'input_key: question'
serve '{}'
run tenon run report.yaml --input '{"question": {"query": "Why?", "agent_config": {"visualization": "off"}, "tools": [{"type": "google_search"}],
    "attachments": [{"type": "image", "media_type": "image/png", "data": "iVBORw0KGgo="}, {"type": "file", "media_type": "application/pdf", "url": "https://example.org/a.pdf"},
                    {"type": "audio", "media_type": "audio/wav", "data": "UklGRg=="}]}}'
expect_code 0
run tenon tool call interactions.create '{"input": "x", "results": [{"id": "c1", "name": "f", "result": "1"}], "previous_interaction_id": "v1_work1",
    "continuation_token": "t", "system_instruction": "s", "store": true}'
expect_code 0
cat >client.py <<'P'
import json, sys
from google import genai
from google.genai._gaos.types import interactions

client = genai.Client(api_key="k", http_options={"base_url": "http://127.0.0.1:" + sys.argv[1], "api_version": "v1beta"})
created = client.interactions.create(agent="deep-research-preview-04-2026", input="Why?", background=True)
names = [type(event).__name__ for event in client.interactions.get(created.id, stream=True)]
assert names[0] == "InteractionCreatedEvent" and names[-1] == "InteractionCompletedEvent" and names.count("StepDelta") > 5, names
found = client.interactions.get(created.id)
assert found.status == "completed" and type(found.steps[-1]).__name__ == "ModelOutputStep", found
bodies = [request["json"] for request in map(json.loads, open("log")) if request["method"] == "POST"]
for body in bodies:
    interactions.CreateAgentInteraction.model_validate(body)
    assert set(body) <= set(interactions.CreateAgentInteraction.model_fields), body
assert len(bodies) == 3
P
run python3 client.py "$port"
expect_code 0
