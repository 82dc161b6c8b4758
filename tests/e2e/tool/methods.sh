# The method tool/call: the operator's policy and the audit log, as for `tenon tool call`.
mkdir log
configure
run tenon call tool/call '{"tool": "t.add", "arguments": {"a": 1, "b": 2}}' "${plugin[@]}"
expect_code 0 && expect_out '{"output":{"sum":3}}'
grep -q '"tool":"t.add".*"outcome":"ok"' log/audit.jsonl || fails "the audit log lacks the call"
run tenon call tool/call '{"tool": "t.count"}' "${plugin[@]}"
expect_code 1 && expect_in err 'the tool `t.count` needs approval' && expect_in err '[APPROVAL_NEEDED]'
grep -q '"tool":"t.count"' log/audit.jsonl && fails "a call that was not approved is in the audit log"
run tenon call tool/call '{"tool": "t.count", "approved": true}' "${plugin[@]}"
expect_code 0 && expect_out '{"output":1}'
grep -q '"tool":"t.count".*"agreed":"grant"' log/audit.jsonl || fails "the audit log lacks the approval"
run tenon call tool/call '{"tool": "t.delete", "arguments": {"path": "x"}, "approved": true}' "${plugin[@]}"
expect_code 1 && expect_in err '[TOOL_DENIED]'

# The row is the one that the command prints.
run tenon tool show t.count --json "${plugin[@]}"
cp "$work/out" shown.json
run tenon call tool/show '{"tool": "t.count"}' "${plugin[@]}"
expect_code 0 && cmp "$work/out" shown.json || fails "tool/show differs from the command"
