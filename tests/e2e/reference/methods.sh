# The topic methods, `tenon schema methods` and `tenon schema openrpc`: every method and event of the sources, complete.
command -v python3 >/dev/null || skips "python3 is not installed"
topic methods
rows=$(of '/^methods:/,/^[a-ln-z]/s/^  ([a-z_]+\/[a-z_]+):$/\1/p' "$SOURCE"/host/server/methods/*.yaml | sort)
events=$(of '/^events:/,/^[a-df-z]/s/^  ([a-z_]+\/[a-z_]+):$/\1/p' "$SOURCE"/host/server/methods/*.yaml | sort)
[ "$(wc -l <<<"$rows")" -ge 20 ] && [ "$(wc -l <<<"$events")" -ge 4 ] || fails "expected at least 20 methods and 4 events"
for row in $rows $events; do
    [ -n "$(section methods.md "$row")" ] || fails "the topic methods lacks the section $row"
    grep -q "^- \`$row\` (" methods.md || fails "the list at the beginning of the topic methods lacks $row"
done
for row in $rows; do
    section methods.md "$row" >section
    for part in Parameters Result Errors Example; do
        grep -qx "### $part" section || fails "the reference of $row lacks its part $part"
    done
    run tenon reference "$row"
    diff <(echo "$(sed 's/^#//' section)") <(tail -n +2 "$work/out") >&2 || fails "the page $row differs from its section in the topic"
done
for row in component/list component/show; do
    section methods.md "$row" >section
    grep -q 'reducers of the language .*`tenon reference reducers`' section || fails "$row does not say where reducers are"
done
for code in run/start:IO run/resume:IO thread/update:IO thread/update:INVALID_STATE run/subscribe:INVALID_INPUT; do
    grep -q "^- \`${code#*:}\`: " <(section methods.md "${code%:*}") || fails "the reference of ${code%:*} lacks the code ${code#*:}"
done
grep -q 'socket' methods.md && fails "an example names a kind of client"
grep -q 'any, required' <(section methods.md run/resume) && fails "a parameter of two parts has no form"

# The document of schemas: its references are inside, and the definitions have the names of the methods.
run tenon schema methods
cp "$work/out" methods.json
cmp -s methods.json "$BINARY/share/tenon/schema/methods.schema.json" || fails "the installed methods.schema.json differs"
run tenon schema openrpc
cp "$work/out" openrpc.json
cmp -s openrpc.json "$BINARY/share/tenon/schema/openrpc.json" || fails "the installed openrpc.json differs"
"$TENON" --version | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -n 1 >version
"$TENON" schema message >message.json
echo "$rows" >rows
echo "$events" >events
python3 - <<'P' || fails "a document of the methods"
import json, re, sys

rows, events = open("rows").read().split(), open("events").read().split()

def references(value):
    if isinstance(value, dict):
        for key, member in value.items():
            if key == "$ref" and isinstance(member, str):
                yield member
            else:
                yield from references(member)
    elif isinstance(value, list):
        for item in value:
            yield from references(item)

def expect(true, what):
    if not true:
        sys.exit(what)

def resolve(document, what):
    for reference in references(document):
        part = document
        for step in reference.removeprefix("#/").split("/"):
            part = part.get(step, {})
        expect(reference.startswith("#/") and part, f"{what}: {reference} is not inside")

document = json.load(open("methods.json"))
resolve(document, "methods")
expect(document["$schema"].endswith("2020-12/schema"), "the dialect")
names = {f"{row.replace('/', '_')}_{part}" for row in rows for part in ("params", "result")}
names |= {f"{event.replace('/', '_')}_event" for event in events}
expect({name for name in document["$defs"] if name[0].islower()} == names, "methods: the definitions")

# OpenRPC 1.3, by the rules of its specification that concern us.
api = json.load(open("openrpc.json"))
resolve(api, "openrpc")
expect(re.fullmatch(r"1\.3\.\d+", api["openrpc"]) and set(api["info"]) >= {"title", "version"}, "openrpc: the head")
expect(api["info"]["version"] == open("version").read().strip(), "openrpc: the version")
expect(set(api) <= {"openrpc", "info", "methods", "components"} | {key for key in api if key.startswith("x-")}, "openrpc: members")
expect(sorted(method["name"] for method in api["methods"]) == rows, "openrpc: the methods")
expect(sorted(event["name"] for event in api["x-tenon-events"]) == events, "openrpc: the events")
known = {"name", "summary", "description", "tags", "paramStructure", "params", "result", "errors", "examples"}
for method in api["methods"]:
    name, params = method["name"], method["params"]
    expect(known >= {key for key in method if not key.startswith("x-")}, f"{name}: members")
    expect(method["paramStructure"] == "by-name" and method["tags"] == [{"name": name.split("/")[0]}], f"{name}: tags")
    expect(method["x-tenon-scope"] in ("read", "run", "admin"), f"{name}: the scope")
    expect(len({param["name"] for param in params}) == len(params), f"{name}: a parameter is listed twice")
    for param in [*params, method["result"]]:
        expect({"name", "schema"} <= set(param) <= {"name", "schema", "required", "description"}, f"{name}: {param}")
        expect(isinstance(param["schema"], dict), f"{name}: {param['name']} has no schema")
    for error in method["errors"]:
        expect(set(error) == {"code", "message", "data"} and error["code"] == -32000, f"{name}: {error}")
        expect(error["message"].endswith(".") and len(error["message"]) < 200, f"{name}: {error['message']}")
    for example in method["examples"]:
        given = {param["name"] for param in example["params"]}
        expect(given <= {param["name"] for param in params}, f"{name}: the example has an unknown parameter")
        required = {param["name"] for param in params if param["required"]}
        expect(required <= given, f"{name}: the example lacks {required - given}")
        expect("value" in example["result"], f"{name}: the example has no result")
start = next(method for method in api["methods"] if method["name"] == "run/start")
expect("oneOf" in start["x-tenon-params"], "run/start: the rule about document and text is lost")
answer = next(method for method in api["methods"] if method["name"] == "model/test")["examples"][0]["result"]["value"]["message"]
types = json.load(open("message.json"))["properties"]["type"]["enum"]
expect(answer["type"] in types, f"model/test: the example has a message of the type {answer['type']}")
expect("x-tenon-params" not in api["methods"][0], "a method without such rules has x-tenon-params")
P
