# `tenon plugin show` prints a whole configuration schema: references, alternatives, and recursion.
run tenon plugin show tenon.define
expect_in out "   (either)       string, a file's name" && expect_in out "     command      array of string"
expect_in out '     output_as    one of "text" or "json", default "text"' && expect_in out "       url        string, required"
run tenon plugin show tenon.openapi
expect_in out " (any name)       object" && expect_in out "   document       string, required, a file's name"
run tenon plugin show tenon.mcp
expect_in out "connect_timeout_ms integer, at least 1, at most 600000" && expect_in out "(or)           with url"
run tenon plugin show tenon.scripted
expect_in out "   contains       string" && expect_in out "   (either)       with contains"
# schema NAME JSON: builds a plugin with this configuration schema, and shows it
schema() {
    printf '#define NOTE(json) __asm__(".pushsection .note.tenon,\\"a\\"\\n.balign 4\\n.long 6, 2f - 1f, 1\\n.asciz \\"Tenon\\"\\n.balign 4\\n1: .ascii " json "\\n2: .balign 4\\n.popsection")\n' >"$1.c"
    printf '{"plugin":{"id":"test.%s","version":"1.0.0","title":"t","config":%s}}' "$1" "$2" |
        python3 -c 'import json, sys; print("NOTE(" + json.dumps(json.dumps(sys.stdin.read())) + ");")' >>"$1.c"
    "$CC" -shared -fPIC -o "$1.so" "$1.c" 2>"$work/log" || return 1
    run tenon plugin show "./$1.so"
    expect_code 0
}
if command -v python3 >/dev/null; then
    schema tree '{"type": "object", "properties": {"t": {"$ref": "#/$defs/t"}}, "$defs": {"t": {"type": "object", "required": ["left"], "properties": {"left": {"$ref": "#/$defs/t"}, "n": {"type": ["integer", "null"]}}}}}' || fails "the schema is not shown as an object"
    expect_in out "left             object, required, as above" && expect_in out "n                integer or null"
    schema round '{"$ref": "#", "allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"properties": {"x": {"$ref": "#/$defs/b"}}, "allOf": [{"$ref": "#/$defs/a"}]}}}' || fails "the schema is not shown as an object"
    schema deep "$(python3 -c 'print("{\"properties\":{\"a\":" * 25 + "{\"const\":1}" + "}}" * 25)')" || fails "the schema is not shown as an object"
    expect_in out "more levels, not shown"
    # Nine levels of nine alternatives: the output and the work are bounded.
    schema wide "$(python3 -c '
import json
defs = {"d9": {"type": "string", "description": "the end"}}
for i in range(9): defs["d%d" % i] = {"anyOf": [{"$ref": "#/$defs/d%d" % (i + 1), "x": j} for j in range(9)]}
print(json.dumps({"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs}))')" || fails "the schema is not shown as an object"
    expect_in out "use --json for the rest"
    [ "$(wc -l <"$work/out")" -lt 2100 ] || fails "expected less than 2100 lines"
fi
