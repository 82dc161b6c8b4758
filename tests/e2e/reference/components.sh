# The reference of components: every one of the bundled plugins is described, and its examples are valid.
command -v python3 >/dev/null || skips "python3 is not installed"
for topic in nodes tools models plugins; do topic $topic; done
run tenon plugin list --json
python3 -c 'import json, sys; [print(p["id"]) for p in json.load(sys.stdin)["plugins"] if p["id"].startswith("tenon.")]' <"$work/out" >plugins
[ "$(wc -l <plugins)" -ge 12 ] || fails "expected at least 12 bundled plugins"
for plugin in $(cat plugins); do
    "$TENON" plugin show "$plugin" --json >>manifests
    echo >>manifests
    [ -n "$(section plugins.md "$plugin")" ] || fails "the topic plugins lacks $plugin"
done
python3 -c 'import json, sys
json.dump([c for line in sys.stdin if line.strip() for c in json.loads(line).get("components", [])], sys.stdout)' <manifests >components
run python3 "$SOURCE/tests/e2e/reference/examples.py" describe <components
python3 "$SOURCE/tests/e2e/reference/examples.py" describe <components || fails "a component is not described"

# Each has its section, with what it does to the world in words.
python3 -c 'import json, sys; [print(c["kind"], c["id"]) for c in json.load(sys.stdin)]' <components >names
while read -r kind id; do
    [ -n "$(section "${kind}s.md" "$id")" ] || fails "the topic ${kind}s lacks $id"
done <names
grep -E '^- `[a-z]+\.?[a-z_.]*(:[^`]*)?`$' nodes.md tools.md models.md && fails "an effect has no explanation"

# The examples of node types and models are valid in a document.
mkdir documents
count=$(python3 "$SOURCE/tests/e2e/reference/examples.py" documents documents <components)
[ "$count" -ge 30 ] || fails "expected at least 30 examples, found $count"
echo 'tools: {approval: {"node:mcp.connect": auto}}' >tenon.yaml # a document may not start programs otherwise
run tenon check documents
expect_code 0 && expect_not_in err "error["

# Those of tools that need nothing else return what they show.
for tool in extract format_for_user finish rethink document.run; do
    run tenon reference "tool:$tool"
    awk '/^```console$/ { on = 1; next } /^```$/ { if (on) exit } on' "$work/out" >session
    sed -n '1s/^\$ tenon/"$TENON"/p' session >call
    run bash call
    expect_code 0
    [ "$(wc -l <session)" -lt 2 ] || expect_out "$(tail -n +2 session)"
done

# Every code that a manifest lists is in the table of codes, and no code of the sources is missing in it.
of 's/^ *CODE\(([A-Z_]+), .*/\1/p' "$SOURCE/adl/value/codes.h" | sort -u >known
python3 -c 'import json, sys; [print(code) for c in json.load(sys.stdin) for code in c.get("errors", {})]' <components | sort -u >listed
[ "$(wc -l <listed)" -gt 20 ] || fails "expected more than 20 codes in the manifests"
[ -z "$(comm -13 known listed)" ] || fails "the table of codes lacks: $(comm -13 known listed)"
# Codes of the host, of mistakes in the configuration, and of a host that lacks an interface.
printf '%s\n' CANCELLED ERROR FAILED INTERFACE_MISSING INTERNAL INTERRUPTED INVALID INVALID_CONFIG LIMIT NO_MEMORY \
    PERMISSION_DENIED TOOLS | sort >general
for folder in core agents openai anthropic gemini state; do
    grep -rhoE --include=*.c '"[A-Z]{4}[A-Z_]*"' "$SOURCE/plugins/$folder" | tr -d '"' | sort -u | comm -12 - known | comm -23 - general >used
    for code in $(cat used); do
        grep -q "\"$code\": \"" "$SOURCE/plugins/$folder"/*.json || fails "no component of plugins/$folder lists the error $code"
    done
done
