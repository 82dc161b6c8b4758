# What the node `deep_research` sends and writes: each member of its input and configuration, and its outputs.
serve '{}'
sent() { tail -3 log | head -1; } # the request that created the last research
expect_sent() { sent | grep -qF -- "$1" || fails "expected in the request: $1; found: $(sent)"; }

# ---- A DeepResearchInput replaces the configuration ----
document input.yaml 'input_key: question, agent: deep-research-preview-04-2026, agent_config: {visualization: "off"}, system_prompt: "Be brief"'
run tenon run input.yaml --input '{"question": {"query": "Why?", "agent": "deep-research-max-preview-04-2026", "agent_config": {"thinking_summaries": "none"},
    "tools": [{"type": "google_search"}], "previous_interaction_id": "v1_0", "attachments": [{"type": "image", "media_type": "image/png", "data": "iVBORw0KGgo="}]}}'
expect_code 0 && expect_in out "$report"
expect_sent '"input": [{"type": "text", "text": "Why?"}, {"type": "image", "data": "iVBORw0KGgo=", "mime_type": "image/png"}]'
expect_sent '"agent": "deep-research-max-preview-04-2026", "agent_config": {"type": "deep-research", "thinking_summaries": "none"}'
expect_sent '"previous_interaction_id": "v1_0"' && expect_sent '"tools": [{"type": "google_search"}]' && expect_sent '"system_instruction": "Be brief"'
run tenon run input.yaml --input '{"question": {"type": "user", "content": [{"type": "text", "text": "A message"}]}}'
expect_code 0 && expect_sent '"input": "A message", "agent": "deep-research-preview-04-2026", "agent_config": {"type": "deep-research", "thinking_summaries": "auto", "visualization": "off"}'
for wrong in '{"agent": "x"}' '[]' '5' 'null' '{"query": "x", "attachments": "a.pdf"}' '{"query": "x", "attachments": [5]}'; do
    run tenon run input.yaml --input "{\"question\": $wrong}"
    expect_code 1 && expect_in err '[INVALID_INPUT]'
done

# ---- The configuration, and the outputs ----
cat >config.yaml <<'Y'
version: "1.0"
agent: {name: config}
channels:
  - {name: topic, type: last_value}
  - {name: before, type: last_value, default: ""}
  - {name: files, type: last_value, default: [{type: file, media_type: application/pdf, url: "https://example.org/a.pdf"}]}
  - {name: text, type: last_value}
  - {name: message, type: last_value}
  - {name: usage, type: last_value}
nodes:
  - {id: a, type: deep_research, config: {prompt: "About {topic}", attachments_key: files, previous_interaction_id: "{before}", output: text, output_key: text, usage_key: usage}}
  - {id: b, type: deep_research, config: {prompt: "Again", previous_interaction_id: "{text}", tools: [{type: url_context}], output: message, output_key: message}}
edges: [{from: START, to: a}, {from: a, to: b}, {from: b, to: END}]
Y
run tenon run config.yaml --set topic=pumps
expect_code 0 && expect_in out "$report" && expect_in out '"message":{"type":"ai","content":[{"type":"reasoning"' && expect_in out '"usage":{"input_tokens":150'
expect_sent '"previous_interaction_id": "Heat pumps work' && expect_sent '"tools": [{"type": "url_context"}]'
grep -qF '"input": [{"type": "text", "text": "About pumps"}, {"type": "document", "uri": "https://example.org/a.pdf", "mime_type": "application/pdf"}]' log || fails "the attachment was not sent"
grep -F '"About pumps"' log | grep -q previous_interaction_id && fails "an empty text is no research before"

# ---- What cannot be configured ----
document both.yaml 'input_key: question, prompt: x'
run tenon check both.yaml
expect_code 3
document planned.yaml 'input_key: question, approve_plan: true, backend: responses'
run tenon run planned.yaml --set question=x
expect_code 3 && expect_in err '`approve_plan` is not possible with the backend `responses`'
document other.yaml 'input_key: question, backend: nowhere'
run tenon run other.yaml --set question=x
expect_code 3 && expect_in err 'there is no tool `nowhere.create`'

# ---- A person must approve what costs money, if the operator says so ----
document asked.yaml 'input_key: question'
echo 'tools: {approval: {interactions.create: ask}}' >>tenon.yaml
before=$(creates)
run tenon run asked.yaml --thread asked --set question=x
expect_code 5 && expect_in err 'interactions.create' && expect_creates "$before"
