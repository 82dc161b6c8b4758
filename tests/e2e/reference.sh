# The reference, the manual page and the completions: that they have all there is, and that what they show works.
# What there is is read from the sources, so that a row that is left out is missed.

# topic NAME: prints it to the file NAME.md
topic() {
    run tenon reference "$1"
    expect_code 0 && [ ! -s "$work/err" ] && [ -s "$work/out" ] || fails "the topic $1"
    grep -qE '%[sdzu]|\(null\)' "$work/out" && fails "a format, or nothing, was printed"
    cp "$work/out" "$1.md"
}

# section FILE HEADING: what is under it
section() { awk -v heading="## $2" '$0 == heading { on = 1; next } /^## / { on = 0 } on' "$1"; }
# blocks LANGUAGE FILE: the code blocks, each ended by a line of %
blocks() { awk -v fence="\`\`\`$1" '$0 == fence { on = 1; next } /^```$/ { if (on) print "%"; on = 0 } on' "$2"; }
# of SED FILE…: what the sources have, one a line; never nothing
of() { sed -nE "$@" | grep . || fails "found nothing by $1"; }

# The index, and topics.
run tenon reference
expect_code 0
cp "$work/out" index
topics=(commands diagnostics adl expressions errors config)
for topic in "${topics[@]}"; do
    grep -qF -- "- \`tenon reference $topic\`: " index || fails "the index has no $topic"
    topic "$topic"
done
[ "$(grep -c '^- ' index)" = "${#topics[@]}" ] || fails "the index has other topics than ${topics[*]}"

# Mistakes.
run tenon reference comands
expect_code 2 && expect_out "" && expect_in err 'the reference has no topic or code `comands`; did you mean `commands`?'
run tenon reference TIMOUT
expect_code 2 && expect_in err 'did you mean `TIMEOUT`?'
run tenon reference ''
expect_code 2 && expect_in err "no topic or code"
for both in "adl --man" "--man --completion bash" "adl --completion zsh"; do
    # shellcheck disable=SC2086
    run tenon reference $both
    expect_code 2 && expect_out "" && expect_in err "expected one"
done
run tenon reference --completion bsh
expect_code 2 && expect_out "" && expect_in err '--completion: found `bsh`, expected bash, zsh or fish; did you mean `bash`?'
for all in adl --man "--completion zsh"; do
    # shellcheck disable=SC2086
    run bash -c '"$TENON" reference "$@" >/dev/full' - $all
    expect_code 1 && expect_in err "cannot write to standard output"
done

# Diagnostics and errors: a section each, and a page each.
rows=$(of 's/^DIAGNOSTIC_CODE\(([EWH][0-9]{3}), .*/\1/p' "$SOURCE/adl/diagnostic/codes.def")
for row in $rows; do
    grep -q "^## ADL-$row: " diagnostics.md || fails "diagnostics have no section of $row"
    run tenon reference "ADL-$row"
    expect_code 0 && head -n 1 "$work/out" | grep -q "^## ADL-$row: " || fails "the page of $row"
    [ "$(grep -c '^## ' "$work/out")" = 1 ] && [ "$(wc -w <"$work/out")" -gt 15 ] || fails "the page of $row is one page"
    [ "$(section diagnostics.md "$(sed -n '1s/^## //p' "$work/out")" | tr -d '\n')" = "$(tail -n +2 "$work/out" | tr -d '\n')" ] ||
        fails "the page of $row is its section"
done
rows=$(of 's/^ *CODE\(([A-Z_]+), (true|false), .*/\1/p' "$SOURCE/adl/value/codes.h")
for row in $rows; do
    [ -n "$(section errors.md "$row")" ] || fails "errors have no section of $row"
    run tenon reference "$row"
    expect_code 0 && expect_in out "## $row" && expect_in out "Retryable: "
done

# On which errors the next model of a list is asked: of each code of the table that is retryable, and of no other.
for topic in adl config; do
    section=$(awk '/^###? models$|^## models$/ { on = 1; next } /^##/ { on = 0 } on' "$topic.md")
    next=$(printf '%s\n' "$section" | sed -n '/by its code:$/{n;p;}' | grep -oE '[A-Z_]+')
    [ "$next" = "$(of 's/^ *CODE\(([A-Z_]+), true, .*/\1/p' "$SOURCE/adl/value/codes.h")" ] || fails "$topic: the next is asked for $next"
    others=$(printf '%s\n' "$section" | sed -n '/^Any other one/p' | grep -oE '`[A-Z_]+`' | tr -d '`')
    [[ $others == *AUTH*CONTEXT_LENGTH* ]] || fails "$topic: it is not asked for $others"
    # The same, of those that a provider gives.
    for failure in OVERLOADED RATE_LIMITED INVALID_RESPONSE TIMEOUT CONNECT $others; do
        run tenon model test --no-config -M "[{\"provider\": \"scripted\", \"replies\": [{\"error\": {\"code\": \"$failure\"}}]}, {\"provider\": \"scripted\", \"replies\": [\"spare\"]}]"
        case " $(echo $next) " in
        *" $failure "*) expect_code 0 && expect_out spare ;;
        *) expect_code 1 && expect_in err "[$failure]" ;;
        esac
    done
done

# Every code that the sources give is one of them. A word in capitals that is none is one of these.
cat >words <<'W'
ABORTED ALREADY_EXISTS DATA_LOSS DEADLINE_EXCEEDED FAILED_PRECONDITION INVALID_ARGUMENT OUT_OF_RANGE RESOURCE_EXHAUSTED
UNAUTHENTICATED UNAVAILABLE UNIMPLEMENTED UNKNOWN
ANY AUTO NONE HIGH LOW MEDIUM MINIMAL BLOCKLIST MAX_TOKENS MODEL_ARMOR PROHIBITED_CONTENT RECITATION SAFETY SPII STOP
IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION IMAGE_SAFETY MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL
URL_RETRIEVAL_STATUS_SUCCESS RESTARTED
ANTHROPIC_API_KEY CLOUDSDK_CONFIG GCE_METADATA_HOST GEMINI_API_KEY GOOGLE_API_KEY GOOGLE_APPLICATION_CREDENTIALS HOME
LANG LC_ALL OPENAI_API_KEY PATH TMPDIR TZ VERTEX_LOCATION VERTEX_PROJECT_ID XDG_STATE_HOME
BEGIN COMMIT ROLLBACK DELETE GET HEAD OPTIONS PATCH POST PUT TRACE
API_KEY_ EC END FALSE JWT NULL TRUE WAVE WEBP
W
{ of 's/^ *CODE\(([A-Z_]+), .*/\1/p' "$SOURCE/adl/value/codes.h"; tr ' ' '\n' <words; } | sort -u >known
{ grep -rhoE --include=*.c --include=*.h '"[A-Z]{2}[A-Z_]*"' "$SOURCE/plugins"
  find "$SOURCE/host" "$SOURCE/adl" -name '*.c' -exec cat {} + | tr -d '\n' | grep -oE 'error_set\([^;"]*"[A-Z]{2}[A-Z_]*"' |
      grep -oE '"[A-Z_]+"'; } | tr -d '"' | sort -u >given
[ "$(wc -l <given)" -gt 100 ] || fails "found hardly a code in the sources"
[ -z "$(comm -23 given known)" ] || fails "the table of codes (adl/value/codes.h) has no" $(comm -23 given known)

# Commands: every one that help has, every option of each, and nothing that is hidden.
run tenon --help
groups=$(of 's/^  ([a-z]+) [a-z]+ .*/\1/p' "$work/out" | sort -u)
mapfile -t commands < <({ of '/^Commands:/,/^$/s/^  ([a-z]+( [a-z]+)?) .*/\1/p' "$work/out"; } | sort -u)
[ "${#commands[@]}" -ge 12 ] || fails "found the commands ${commands[*]}"
run tenon reference --man
expect_code 0 && [ ! -s "$work/err" ] || fails "the manual page"
cp "$work/out" tenon.1
LC_ALL=C grep -q '[^ -~]' tenon.1 && fails "the manual page has characters beyond ASCII"
expect_not_in out "plugin serve"
for command in "${commands[@]}"; do
    section commands.md "tenon $command" >section
    grep -qF "    tenon $command [OPTION…]" section || fails "commands have no section of tenon $command"
    grep -qx ".SS tenon $command" tenon.1 || fails "the manual page has no section of tenon $command"
    # shellcheck disable=SC2086
    run tenon $command --help
    for option in $(sed '/^Options of every command:/,$d' "$work/out" | sed -nE 's/^  .{4}--([a-z-]+).*/\1/p'); do
        grep -qF -- "--$option" section || fails "tenon $command has no --$option in the reference"
        awk -v heading=".SS tenon $command" '$0 == heading { on = 1; next } /^\.S/ { on = 0 } on' tenon.1 |
            grep -qF -- "\\-\\-${option//-/\\-}\\fR" || fails "tenon $command has no --$option in the manual page"
    done
done
grep -q "plugin serve" commands.md && fails "a hidden command is in the reference"
rows=$(of 's/^#define COMMAND_[A-Z_]+ +([0-9]+).*/\1/p' "$SOURCE/host/command/command.h")
for row in $rows; do
    grep -q "^| $row | " commands.md || fails "the reference has no exit code $row"
    grep -qx "\\\\fB$row\\\\fR" tenon.1 || fails "the manual page has no exit code $row"
done
rows=$(grep -rhoE 'getenv\("[A-Z_]+"\)' "$SOURCE/host" "$SOURCE/adl" | grep -oE '[A-Z_]{2,}' | sort -u)
for name in $rows; do
    grep -qF -- "- \`$name\`: " commands.md || fails "the reference has not that the program reads $name"
    grep -qxF "\\fB$name\\fR" tenon.1 || fails "the manual page has not that the program reads $name"
done

# Every choice is one.
cat >hello.yaml <<'DOCUMENT'
version: "1.0"
channels: [{name: a, type: last_value, default: 1}]
nodes: [{id: n, type: passthrough}]
edges: [{from: START, to: n}, {from: n, to: END}]
DOCUMENT
# choices COMMAND OPTION: as the reference has them
choices() { section commands.md "tenon $1" | sed -nE "s/^- .*--$2 .*: (\`.*)/\1/p" | grep -o '`[a-z]*`' | tr -d '`'; }
[ "$(choices graph format | wc -l)" = 4 ] && [ "$(choices run stream | wc -l)" = 8 ] || fails "the choices"
for format in $(choices graph format); do
    run tenon graph hello.yaml --format "$format"
    expect_code 0
done
for mode in $(choices run stream); do
    run tenon run hello.yaml --stream "$mode"
    expect_not_in err "stream mode"
done
for shell in $(choices reference completion); do
    run tenon reference --completion "$shell"
    expect_code 0 && [ -s "$work/out" ] || fails "the completion of $shell"
done

# ADL: every key, with an example that is YAML; the document at the beginning is right.
awk -F '"' '/^DOCUMENT_KEY\(/ { split($1, row, /[(,]/); print row[2], $2 }' "$SOURCE/adl/document/keys.def" |
    while read -r mapping key; do
        name=$(of "s/^DOCUMENT_MAPPING\($mapping, .*, \"(.*)\",\$/\1/p; s/^DOCUMENT_MAPPING\($mapping, .*, \"([^\"]*)\", \".*/\1/p" \
            "$SOURCE/adl/document/keys.def")
        section adl.md "$name" >section
        grep -qx "### $key" section || fails "ADL has no key $key of $name"
    done
blocks yaml adl.md | sed '/^%$/,$d' >first.yaml
grep -q '^nodes:' first.yaml || fails "no document at the beginning of adl.md"
run tenon check first.yaml
expect_code 0
{
    cat hello.yaml
    echo "x-examples:"
    blocks yaml adl.md | sed '1,/^%$/d; /^%$/d; s/^/  - /'
} >examples.yaml
[ "$(wc -l <examples.yaml)" -gt 60 ] || fails "few examples of keys"
run tenon check examples.yaml
expect_code 0 && expect_in err "no problems found"

# Expressions: every function, and every operator with an example that gives what it says.
of 's/^(FUNCTION|MACRO)\([^"]*"([^"]*)",$/\2/p' "$SOURCE/adl/expr/functions.def" | while read -r signature; do
    grep -qxF "### \`$signature\`" expressions.md || fails "expressions have no $signature"
done
[ "$(grep -cE '^(OPERATOR|BINARY)\(' "$SOURCE/adl/expr/operators.def")" = "$(section expressions.md Operators | grep -c '^### ')" ] ||
    fails "expressions have not every operator"
sed -nE 's/^- `(.*)` gives `(.*)`$/\1\t\2/p' expressions.md >gives
[ "$(wc -l <gives)" = "$(section expressions.md Operators | grep -c '^### ')" ] || fails "an operator has no example"
while IFS=$'\t' read -r expression result; do
    run tenon eval -- "$expression"
    expect_code 0 && expect_out "$result"
done <gives
for variable in state input run item config; do
    grep -q "^- \`$variable\`" expressions.md || fails "expressions have no $variable"
done

# tenon.yaml: every key, and examples that are accepted.
while read -r name; do
    [ -n "$(section config.md "$name")" ] || fails "tenon.yaml has no $name"
done < <(awk -F '"' '/^CONFIG_KEY\(/ { print ($2 == "" ? "" : $2 ".") $4 }' "$SOURCE/host/config/keys.def")
rows=$(of 's/^ *LIMIT\(([a-z_]+), .*/\1/p' "$SOURCE/host/config/config.h")
for limit in $rows; do
    grep -q "^| \`$limit\` | " config.md || fails "tenon.yaml has no limit $limit"
done
blocks yaml config.md | awk 'BEGIN { n = 1 } /^%$/ { n++; next } { print > ("example" n ".yaml") }'
[ "$(find . -name 'example[0-9]*.yaml' | wc -l)" = "$(grep -c '^CONFIG_KEY(' "$SOURCE/host/config/keys.def")" ] || fails "examples of tenon.yaml"
for example in example[0-9]*.yaml; do
    run tenon plugin list --config "$example"
    expect_code 0 && expect_not_in err "INVALID_CONFIG" && expect_not_in err "example"
done

# The manual page.
if command -v groff >/dev/null; then
    run groff -man -ww -Tutf8 -z tenon.1
    expect_code 0 && [ ! -s "$work/err" ] || fails "groff warns"
    groff -man -Tascii -P-c -rLL=110n tenon.1 2>/dev/null | sed 's/.\x08//g' >page
    grep -q '^SYNOPSIS' page && grep -qE '^ +-i, --input JSON' page && grep -q 'tenon eval .state.score > 80.' page ||
        fails "the manual page has not what is expected"
else
    echo "groff is not installed: the manual page was not read"
fi

# Completions. bash, as readline calls it:
"$TENON" reference --completion bash >tenon.bash
bash -n tenon.bash || fails "the completion of bash is no script"
mkdir -p folder/inside && touch folder/one.yaml folder/in.json
cat >offered <<'SCRIPT'
set -u
source ./tenon.bash
complete -p tenon | grep -qx 'complete -F _tenon tenon' || exit 1
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_tenon
[ "${#COMPREPLY[@]}" = 0 ] || printf '%s\n' "${COMPREPLY[@]}"
SCRIPT
# offers WORD… : EXPECTED…
offers() {
    local words=()
    while [ "$1" != : ]; do words+=("$1"); shift; done
    shift
    run bash offered "${words[@]}"
    expect_code 0
    [ -s "$work/err" ] && fails "the completion said something"
    [ "$(sort "$work/out" | tr '\n' ' ')" = "$(printf '%s\n' "$@" | sort | sed '/^$/d' | tr '\n' ' ')" ] || fails "expected: $*"
}
mapfile -t firsts < <(printf '%s\n' "${commands[@]}" | sed 's/ .*//' | sort -u)
offers tenon '' : "${firsts[@]}" help --help --version
offers tenon help '' : "${firsts[@]}"
offers tenon gr : graph
for group in $groups; do
    mapfile -t seconds < <(printf '%s\n' "${commands[@]}" | sed -n "s/^$group //p")
    offers tenon "$group" '' : "${seconds[@]}" --help
done
offers tenon help plugin sh : show
offers tenon help run '' :
offers tenon run --str : --stream
offers tenon plugin show --v : --validate
offers tenon run --stream values,up : values,updates
offers tenon graph --format '' : mermaid dot json text
offers tenon graph --format = me : mermaid
offers tenon graph --format = : mermaid dot json text
offers tenon graph folder/ : folder/in.json folder/inside folder/one.yaml
offers tenon graph -f d : dot
offers tenon run --color al : always
offers tenon run --input @ folder/in. : folder/in.json
offers tenon run --input = @ folder/in. : folder/in.json
offers tenon run --input @folder/in. : @folder/in.json
offers tenon run --input folder/in. :
offers tenon plugin new --directory folder/ : folder/inside
offers tenon reference ex : expressions
offers tenon reference --completion '' : bash zsh fish
offers tenon run -- --st :
offers tenon schema '' :
offers tenon nothing '' :
for command in "${commands[@]}"; do
    # shellcheck disable=SC2086
    run bash offered tenon $command --
    for option in $("$TENON" $command --help | sed -nE 's/^  .{4}(--[a-z-]+).*/\1/p'); do
        grep -qx -- "$option" "$work/out" || fails "bash is not offered $option of tenon $command"
    done
done

"$TENON" reference --completion zsh >_tenon
if command -v zsh >/dev/null; then
    run zsh -fn _tenon
    expect_code 0 && [ ! -s "$work/err" ] || fails "the completion of zsh is no script"
    run zsh -fc 'autoload -Uz compinit; compinit -u -D; source ./_tenon; print -r -- $_comps[tenon] $+functions[_tenon]'
    expect_code 0 && expect_out "_tenon 1"
fi

"$TENON" reference --completion fish >tenon.fish
if command -v fish >/dev/null; then
    run fish --no-execute tenon.fish
    expect_code 0 && [ ! -s "$work/err" ] || fails "the completion of fish is no script"
    # fished COMMAND-LINE EXPECTED…
    fished() {
        run fish --no-config -c 'source tenon.fish; complete -C $argv[1]' -- "$1"
        shift
        [ "$(cut -f 1 "$work/out" | sort | tr '\n' ' ')" = "$(printf '%s\n' "$@" | sort | tr '\n' ' ')" ] || fails "expected: $*"
    }
    fished 'tenon ' "${firsts[@]}" help
    fished 'tenon help plugin sh' show
    fished 'tenon run --str' --stream
    fished 'tenon run --stream values,up' values,updates
    fished 'tenon graph --format=me' --format=mermaid
    fished 'tenon graph folder/o' folder/one.yaml
    fished 'tenon run --input @folder/in.' @folder/in.json
    fished 'tenon reference ex' expressions
fi
[ -s _tenon ] && [ -s tenon.fish ] || fails "a completion is empty"
command -v groff >/dev/null || skips "groff is not installed: the manual page was not read; all else holds"
