# The topics events, annotations and reducers: all that the sources have, with examples that hold.
command -v python3 >/dev/null || skips "python3 is not installed"
for topic in events annotations reducers; do topic $topic; done
python3 - "$SOURCE" <<'P' || fails "the topic events"
import json, re, sys
schema = json.load(open(sys.argv[1] + "/sdk/schema/component/1/event.schema.json"))
types = schema["properties"]["type"]["enum"]
text = open("events.md").read()
sections = dict(zip(re.findall(r"^## (\S+)$", text, re.M), re.split(r"^## \S+$", text, flags=re.M)[1:]))
if list(sections) != types:
    sys.exit(f"sections: {list(sections)}, types: {types}")
for name, section in sections.items():
    event = json.loads(re.search(r"```json\n(.*?)\n```", section, re.S).group(1))
    required = re.findall(r"^- `(\w+)`: .*?required", section, re.M)
    described = re.findall(r"^ *- `\w+`: [^\n]*\. [A-Z`]", section, re.M)
    missing = set(required) - set(event)
    if event["type"] != name or missing or len(described) < 2:
        sys.exit(f"{name}: the example {event} lacks {missing}")
P
# Events of a real run have the members that the reference lists as required, and no others than it lists.
run tenon run hello.yaml --stream all --json
python3 - "$work/out" <<'P' || fails "an event of a run differs from the reference"
import json, re, sys
text = open("events.md").read()
sections = dict(zip(re.findall(r"^## (\S+)$", text, re.M), re.split(r"^## \S+$", text, flags=re.M)[1:]))
seen = set()
for line in open(sys.argv[1]):
    event = json.loads(line)
    members = dict(re.findall(r"^- `(\w+)`: ([^\n]*)", sections[event["type"]], re.M))
    required = {name for name, form in members.items() if "required" in form.split(". ")[0]}
    if required - set(event) or event["type"] != "debug" and set(event) - set(members):
        sys.exit(f"{line} lacks {required - set(event)}, has {set(event) - set(members)}")
    seen.add(event["type"])
if len(seen) < 5:
    sys.exit(f"saw only {seen}")
P

# Annotations: those that the sources read, and those that manifests and easy.h write.
rows=$(of 's/^ANNOTATION\("([a-z-]+)",.*/\1/p' "$SOURCE/adl/schema/annotations.def" | sort)
{
    grep -rhoE 'value_text_is\(annotation, "[a-z-]+"\)' "$SOURCE/adl" "$SOURCE/host"
    sed -n '/^} annotations\[\] = {/,/^};/p' "$SOURCE/adl/document/check_annotated.c" | grep -oE '\{"[a-z-]+", check_'
    grep -rhoE '"x-tenon"\), "[a-z-]+"' "$SOURCE/host"
    grep -rhoE --include=*.json '"x-tenon": "[a-z-]+"' "$SOURCE/plugins" | sed 's/.*: //'
    grep -hoE 'x-tenon\\":\\"[a-z-]+' "$SOURCE/sdk/include/tenon/fields.h" | sed 's/.*"/"/; s/$/"/'
} | grep -oE '"[a-z-]+"' | tr -d '"' | grep -vx x-tenon | sort -u >used
echo approval >>used # authority.c compares it with the kind of a call
[ "$(sort -u used)" = "$rows" ] || fails "the table of annotations differs from the sources: $(diff <(sort -u used) <(echo "$rows"))"
for row in $rows; do section annotations.md "$row" | grep -q '"x-tenon"' || fails "the topic annotations lacks $row"; done
blocks json annotations.md | sed '/^%$/d' | python3 -c 'import json, sys; [json.loads(line) for line in sys.stdin]' ||
    fails "an example of an annotation is not JSON"

# Reducers: a run merges as the table shows.
rows=$(of 's/^REDUCER\("([a-z]+)",.*/\1/p' "$SOURCE/adl/document/reducers.def")
for reducer in $rows; do
    IFS=$'\t' read -r before write after < <(section reducers.md "$reducer" | sed -nE 's/^\| `(.*)` \| `(.*)` \| `(.*)` \|$/\1\t\2\t\3/p')
    cat >reduce.json <<D
{"version": "1.0", "channels": [{"name": "result", "type": "reduce", "reducer": "$reducer", "default": $before}],
 "nodes": [{"id": "n", "type": "passthrough"}], "edges": [{"from": "START", "to": "n"}, {"from": "n", "to": "END"}]}
D
    run tenon run reduce.json --input "{\"result\": $write}"
    expect_code 0 && expect_out "{\"result\":$after}"
done
