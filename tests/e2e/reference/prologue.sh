# Shared by the tests of `tenon reference`. They read from the sources what must be documented, so that a missing
# entry is noticed.

# topic NAME: writes the topic to the file NAME.md
topic() {
    run tenon reference "topic:${1#topic:}"
    expect_code 0 && [ ! -s "$work/err" ] && [ -s "$work/out" ] || fails "cannot print the topic $1"
    grep -qE '%[sdzu]|\(null\)' "$work/out" && fails "the topic contains a conversion specifier or (null)"
    cp "$work/out" "${1#topic:}.md"
}

# section FILE HEADING: prints the text of the section
section() { awk -v heading="## $2" '$0 == heading { on = 1; next } /^## / { on = 0 } on' "$1"; }
# blocks LANGUAGE FILE: prints the code blocks, with a line of % after each
blocks() { awk -v fence="\`\`\`$1" '$0 == fence { on = 1; next } /^```$/ { if (on) print "%"; on = 0 } on' "$2"; }
# of SED FILE…: prints what the sed script finds in the files; fails if it finds nothing
of() { sed -nE "$@" | grep . || fails "the sed script found nothing: $1"; }

# read_commands: sets `commands`, `groups` (the first words of those that have two) and `firsts`
read_commands() {
    run tenon --help
    groups=$(of 's/^  ([a-z]+) [a-z]+ .*/\1/p' "$work/out" | sort -u)
    mapfile -t commands < <({ of '/^Commands:/,/^$/s/^  ([a-z]+( [a-z]+)?) .*/\1/p' "$work/out"; } | sort -u)
    [ "${#commands[@]}" -ge 12 ] || fails "expected at least 12 commands, found: ${commands[*]}"
    mapfile -t firsts < <(printf '%s\n' "${commands[@]}" | sed 's/ .*//' | sort -u)
}
cat >hello.yaml <<'DOCUMENT'
version: "1.0"
channels: [{name: a, type: last_value, default: 1}]
nodes: [{id: n, type: passthrough}]
edges: [{from: START, to: n}, {from: n, to: END}]
DOCUMENT
