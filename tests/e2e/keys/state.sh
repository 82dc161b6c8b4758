# The tools of the state kernel use the key of their call: the same key creates one Task or Artifact.
created() { run tenon tool call task.create '{"task_type": "work"}' --yes "$@"; expect_code 0; grep -o '"task_id":"[^"]*"' "$work/out"; }
one=$(created --idempotency-key order-17)
[ -n "$one" ] && [ "$(created --idempotency-key order-17)" = "$one" ] || fails "expected the Task of the same key"
[ "$(created)" != "$(created)" ] || fails "calls without a given key created one Task"
