# What the guides say works: their listings are the files, their commands succeed and print what is shown. They are followed as
# they are installed, with the installed program.
command -v python3 >/dev/null || skips "python3 is not installed"
cmake --install "$BINARY" --prefix "$work/prefix" >"$work/log" || { cat "$work/log" >&2; fails "cannot install"; }
export PATH=$work/prefix/bin:$PATH TMPDIR=$work
documentation=$work/prefix/share/doc/tenon
# follow GUIDE [FOLDER [FILE…]]: in a copy of FOLDER; the guide writes each FILE
follow() {
    rm -rf followed "$work/data" "$work/state"
    if [ -n "${2:-}" ]; then cp -r "$2" followed; else mkdir followed; fi
    (cd followed && python3 "$SOURCE/tests/e2e/guide.py" "$1" "${@:3}") || fails "the guide $1 does not work"
}
follow "$documentation/samples/first-agent/README.md" "$documentation/samples/first-agent"
follow "$documentation/samples/from-langgraph/README.md" "$documentation/samples/from-langgraph"
follow "$documentation/host/server/acp/README.md" "$documentation/samples/first-agent"
follow "$documentation/samples/chat/README.md" "$documentation/samples/chat"
follow "$documentation/samples/retrieval/README.md" "$documentation/samples/retrieval"
follow "$documentation/samples/evaluate/README.md" "$documentation/samples/evaluate"
follow "$documentation/samples/deep-research/README.md" "$documentation/samples/deep-research"
# Strategies: a copy of the installed folder.
follow "$documentation/plugins/strategies/README.md"
for strategy in "$documentation"/plugins/strategies/*/; do follow "$strategy/README.md"; done
[ ! -e "$BINARY/lib/tenon/plugins/gemini.so" ] ||
    follow "$documentation/samples/generator/README.md" "$documentation/samples/generator"
# Samples that are built: a copy of the folder needs only the installation.
PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name tenon-sdk.pc)")
export PKG_CONFIG_PATH
if [ -z "$SANITIZE" ]; then
    follow "$documentation/samples/agent/README.md" "$documentation/samples/agent"
    follow "$documentation/samples/triage/README.md" "$documentation/samples/triage"
fi
[ -f "$documentation/samples/languages/rust/src/tenon.rs" ] && [ ! -L "$documentation/samples/languages/rust/src/tenon.rs" ] ||
    fails "the sample in Rust cannot be copied alone"
# What a sanitized tenon prints besides is another test's.
if [ -z "$SANITIZE" ]; then
    follow "$documentation/sdk/guide/first-plugin.md" "" src/plugin.c
    mkdir -p packed/acme-text/plugins
    cp followed/acme-text/build/acme-text.so packed/acme-text/plugins/
    cp followed/acme-text/count.yaml packed/acme-text/
    follow "$documentation/sdk/guide/pack.md" packed
fi

# The other guides have no steps. What they contain is checked: settings, components, commands.
guides=()
for guide in authority idempotency isolation pack promise protocol serve store; do guides+=("$documentation/sdk/guide/$guide.md"); done
[ "$(ls "$documentation"/sdk/guide/*.md | wc -l)" = $((${#guides[@]} + 2)) ] || fails "a guide is not checked"
if [ -z "$SANITIZE" ]; then
    mkdir parts
    (cd parts && python3 "$SOURCE/tests/e2e/guide_parts.py" "${guides[@]}" >"$work/out") || fails "a guide is wrong"
fi

# Links between the installed files lead somewhere.
cd "$documentation"
mapfile -t files < <(find . -name '*.md' | sed 's|^\./||')
[ "${#files[@]}" -ge 25 ] || fails "expected at least 25 installed documents"
python3 "$SOURCE/tests/e2e/links.py" . "${files[@]}" || fails "a link of the installed documentation is wrong"
