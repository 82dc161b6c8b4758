# `tenon doctor`
run tenon doctor
expect_code 0 && expect_in out "no problems found" && expect_in out "✓ tenon " && expect_in out "tenon.core"
run tenon doctor --json
expect_code 0
python '
import json, sys
told = json.load(sys.stdin)
assert told["problems"] == 0 and {f["state"] for f in told["facts"]} <= {"ok", "note"}
assert {"versions", "configuration", "plugins"} <= {f["section"] for f in told["facts"]}'
problem "absent does not exist" --plugins absent
problem "not a shared object" --plugins fake.so
problem "is for Tenon >=900.1" --plugins "$(plugin later)"
problem "two files claim" --plugins "$(plugin good)" --plugins "$(plugin impostor)"
problem "two plugins claim the node" --plugins "$(plugin good)" --plugins "$(plugin duplicate)"
problem "cannot read absent.yaml" --config absent.yaml
while IFS='|' read -r text wanted; do
    printf '%b' "$text" >tenon.yaml
    problem "$PWD/tenon.yaml:1:"
    expect_in out "$wanted"
    run tenon run "$SOURCE/samples/hello/hello.yaml"
    expect_code 4 && once "$PWD/tenon.yaml:1:" && expect_in err "$wanted"
    run tenon run "$SOURCE/samples/hello/hello.yaml" --no-config
    expect_code 0
done <<'TABLE'
plugins: {pth: [x]}|did you mean `path`?
limits: {concurrency: 0}|found 0, expected 1 to 1000000
limits: {recursion_limit: many}|`limits.recursion_limit`: found `many`, expected a whole number
log: loud|expected debug, info, warn or error
[]|expected a mapping
{|expected it to be closed
\xff|UTF-8
TABLE
printf 'plugins: {path: [./absent]}\n' >tenon.yaml
problem "absent does not exist"
