# The section `tools` of tenon.yaml: approval and audit.
# A rule that matches no tool is reported, because it may be a mistyped prohibition.
echo 'tools: {approval: {memory.pt: deny, "memry.*": deny, no.such.one: deny, "effect:destructve": ask, "effect:net": ask, "effect:network.http:x.example": deny, "t.*": auto, "node:prompt": auto, "node:promt": deny}}' >tenon.yaml
run tenon tool list "${plugin[@]}"
expect_code 0 && expect_in err '`memory.pt` matches no known tool and has no effect; did you mean `memory.put`?'
expect_not_in err 'node:prompt' && expect_in err '`node:promt` matches no known node type and has no effect; did you mean `prompt`?'
expect_in err 'did you mean `memory.*`?' && expect_in err 'did you mean `destructive`?' && expect_in err '`no.such.one` matches no known tool'
[ "$(grep -c warning "$work/err")" = 5 ] || fails "expected five warnings"
run tenon doctor
expect_code 4 && expect_in out 'did you mean `memory.put`?' && expect_in out 'no.such.one' # no plugin would add it
cp tenon.yaml saved.yaml
echo 'plugins: {config: {tenon.ffi: {libraries: [no.yaml]}}}' >>tenon.yaml
run tenon doctor
expect_code 4 && expect_in out 'did you mean `memory.put`?' && expect_not_in out 'no.such.one' # a plugin that is not loaded may have it
mv saved.yaml tenon.yaml
run tenon check "$SOURCE/samples/hello/hello.yaml" --strict
expect_code 3 && expect_in err 'did you mean `destructive`?'
echo 'tools: {approval: {"*": deny}, audit: ./denied.jsonl}' >tenon.yaml
run tenon tool call t.add '{}' "${plugin[@]}"
expect_code 1 && expect_in err "the tool \`t.add\` is denied: tenon.yaml sets \`deny\` for \`*\` [TOOL_DENIED]"
grep -q '"tool":"t.add".*"outcome":"TOOL_DENIED"' denied.jsonl || fails "the audit log lacks the denied call"
configure
run tenon tool list "${plugin[@]}"
expect_in out "auto  Adds." && expect_in out "deny  Deletes a file." && expect_in out "ask   Counts." && expect_in out "auto  Asks."
run tenon tool call t.delete --set path=x --yes "${plugin[@]}"
expect_code 1 && expect_in err 'the tool `t.delete` is denied: tenon.yaml sets `deny` for `effect:destructive` [TOOL_DENIED]'
expect_in err "warning: tool uses are not logged" && expect_in err "log/audit.jsonl cannot be opened"
mkdir log
run tenon tool call t.delete --set path=x --yes "${plugin[@]}"
run tenon tool call t.count --yes "${plugin[@]}"
expect_code 0
run tenon tool call t.add '{"a": 1, "b": 2}' "${plugin[@]}"
expect_code 0
[ "$(wc -l <log/audit.jsonl)" = 3 ] || fails "expected 3 lines in the audit log"
[ "$(stat -c %a log/audit.jsonl)" = 600 ] || fails "expected the mode 600 of the audit log"
cp log/audit.jsonl "$work/out"
expect_in out '"tool":"t.delete","effects":["destructive","fs.write:/data"],"approval":"deny","by":"operator"'
expect_in out '"outcome":"TOOL_DENIED"' && expect_in out '"agreed":"grant"' && expect_in out '"outcome":"ok"'
expect_not_in out '"arguments"'
cat >strict.yaml <<'Y'
tools: {audit: ./log/there/is/none, audit_required: true}
Y
run tenon tool call t.add '{"a": 1, "b": 2}' --config strict.yaml "${plugin[@]}"
expect_code 1 && expect_in err "[AUDIT_FAILED]" && expect_out ""
echo 'tools: {audit_required: true}' >strict.yaml
run tenon tool call t.add '{"a": 1, "b": 2}' --config strict.yaml "${plugin[@]}"
expect_code 1 && expect_in err "tools.audit is not set"
echo 'tools: {audit: /dev/full}' >strict.yaml
run tenon tool call t.add '{"a": 1, "b": 2}' --config strict.yaml "${plugin[@]}"
expect_code 0 && expect_in err "cannot be written"
echo 'tools: {approval: {t.add: maybe}}' >strict.yaml
run tenon tool list --config strict.yaml
expect_code 4 && expect_in err '`auto`, `ask` or `deny`'
echo 'tools: {aproval: {t.add: ask}}' >strict.yaml
run tenon tool list --config strict.yaml
expect_code 4 && expect_in err 'found the key `aproval`, which `tools` does not have; did you mean `approval`? [INVALID_CONFIG]'
