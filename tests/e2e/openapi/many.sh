# Odd operation names, and descriptions with very many operations.
printf 'openapi: 3.1.0\nservers: [{url: "http://h"}]\npaths: {/a: {get: {operationId: ""}, post: {operationId: "../.."}, put: null, delete: 3}}' >odd-api.yaml
echo "plugins: {config: {tenon.openapi: {services: {odd: {document: odd-api.yaml}}}}}" >odd.yaml
run tenon tool list -c odd.yaml
expect_code 0 && expect_in out odd.get_a && expect_in out odd.post_a && expect_not_in out odd.put && expect_not_in out odd.delete
# Different operationIds can make one id. A title is the first line with text, cut between characters.
python3 -c 'import json; ops = {"a.b": "a" + "\u65e5" * 80, "a/b": "\n\nsecond line", "a_b": "a" + "\u65e5" * 60}; print(json.dumps({"openapi": "3.1.0", "servers": [{"url": "http://h"}], "paths": {f"/p{i}": {"get": {"operationId": name, "summary": ops[name]}} for i, name in enumerate(ops)}}))' >odd-api.yaml
run tenon tool list -c odd.yaml
expect_code 0 && expect_in out "odd.a_b " && expect_in out "odd.get_p1" && expect_in out "auto  second line" && expect_in out "odd.get_p2 " && expect_not_in err odd
sed 's/odd-api.yaml/odd-api.yaml, operations: [get_p1]/' odd.yaml >one.yaml
run tenon tool list -c one.yaml
expect_code 0 && expect_in out "odd.get_p1" && expect_not_in out "odd.a_b" && expect_not_in out "odd.get_p2"
python3 -c 'import json; print(json.dumps({"openapi": "3.1.0", "servers": [{"url": "http://h"}], "paths": {f"/p{i}": {"get": {}} for i in range(4097)}}))' >odd-api.yaml
run tenon tool list -c odd.yaml
expect_code 0 && expect_in err "odd: the description has more than 4096 operations" && [ "$(grep -c '^odd\.' "$work/out")" = 4096 ] || fails "expected 4096 tools"

# Few schemas that many operations share: they are in memory once, but each operation counts them.
python3 - >odd-api.yaml <<'EOF'
import json
names = range(450)
schemas = {f"S{i}": {"properties": {**{f"p{k}": {} for k in range(40)}, "n": {"$ref": f"#/components/schemas/S{(i + 1) % 450}"}}} for i in names}
body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S0"}}}}
paths = {f"/p{i}": {"post": {"operationId": f"o{i}", "requestBody": body}} for i in range(400)}
print(json.dumps({"openapi": "3.1.0", "servers": [{"url": "http://h"}], "paths": paths, "components": {"schemas": schemas}}))
EOF
run tenon tool list -c odd.yaml
expect_code 0 && expect_in err "the limit is 500000: the remaining 373 are left out; select operations with \`operations\`"
[ "$(grep -c '^odd\.' "$work/out")" = 27 ] || fails "expected 27 tools"
sed -i 's/odd-api.yaml/odd-api.yaml, operations: [o399]/' odd.yaml
run tenon tool list -c odd.yaml
expect_code 0 && expect_in out odd.o399 && expect_not_in err 'left out'
