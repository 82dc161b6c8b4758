# The commands of samples/editors/README.md, for each editor: what they install is complete, and is what other tests use.
export XDG_CONFIG_HOME=$HOME/.config
cp -r "$SAMPLES/editors" editors
readme=$SAMPLES/editors/README.md
# block NAME: its commands.
block() { awk -v name="$1" '$0 == "```sh " name {on = 1; next} $0 == "```" {on = 0} on' "$readme"; }
names=$(sed -n 's/^```sh //p' "$readme" | tr '\n' ' ')
[ "$names" = "vscode neovim emacs helix kakoune " ] || fails "the README has the blocks: $names"
for name in $names; do
    [ "$name" != vscode ] || continue # vscode.sh
    block "$name" >commands
    [ -s commands ] || fails "the block $name is empty"
    (cd editors && bash -e ../commands) || fails "a command of the block $name failed"
done
cmp "$HOME/.config/nvim/plugin/tenon.lua" "$SAMPLES/editors/neovim/tenon.lua"
cmp "$HOME/.config/nvim/after/queries/yaml/injections.scm" "$SAMPLES/editors/neovim/after/queries/yaml/injections.scm"
cmp "$HOME/.config/kak/autoload/tenon.kak" "$SAMPLES/editors/kakoune/tenon.kak"
[ -s "$HOME/.config/helix/runtime/queries/adl/highlights.scm" ] || fails "the queries for Helix are missing"
for folder in "$SAMPLES"/editors/*/; do
    grep -q "\b$(basename "$folder")/\|cd $(basename "$folder")" "$readme" || fails "the README does not name $folder"
done

# Helix and Kakoune: their settings can be read, and start the server.
python3 - "$HOME/.config" <<'P'
import pathlib, re, sys, tomllib
config = pathlib.Path(sys.argv[1])
helix = tomllib.loads((config / "helix/languages.toml").read_text())
assert helix["language-server"]["tenon"] == {"command": "tenon", "args": ["lsp"]}
adl = [language for language in helix["language"] if language["name"] == "adl"][0]
assert adl["grammar"] == "yaml" and adl["language-servers"] == ["tenon"] and len(adl["file-types"]) == 2
kak = (config / "kak/autoload/tenon.kak").read_text()
assert kak.count("{") == kak.count("}"), "braces of Kakoune"
servers = tomllib.loads(re.search(r"lsp_servers %\{(.*?)\n    \}", kak, re.S).group(1))
assert servers["tenon"]["command"] == "tenon" and servers["tenon"]["args"] == ["lsp"]
P

# Emacs and Neovim start with what was installed.
if command -v nvim >/dev/null; then
    run nvim --headless -i NONE -c 'lua assert(vim.lsp.commands["tenon.run"])' -c 'quitall!'
    expect_code 0
    expect_not_in err Error
fi
if command -v emacs >/dev/null && emacs --batch --eval "(progn (package-initialize) (require 'eglot))" 2>/dev/null; then
    run emacs --batch --eval '(package-initialize)' -l "$HOME/.emacs.d/init.el" --eval "(unless (fboundp 'tenon-run) (kill-emacs 1))"
    expect_code 0
fi

# They are installed, without what npm has left there, and doctor has the path.
cmake --install "$BINARY" --prefix "$work/prefix" >"$work/log"
run "$work/prefix/bin/tenon" doctor
settings=$(sed -n 's/^ *✓ settings  *//p' "$work/out")
[ "$settings" = "$work/prefix/share/tenon/editors/README.md" ] || fails "doctor prints for the settings: $settings"
diff -r -x node_modules -x '*.vsix' "$SAMPLES/editors" "$(dirname "$settings")" || fails "the installed settings differ"
[ -e "$work/prefix/share/doc/tenon/samples/editors/README.md" ] || fails "the samples lack the editors"
for command in lsp "acp x"; do # on a terminal, where an editor is missing
    # shellcheck disable=SC2086 # the operand
    printf 'wait settings for editors are in %s\nend\n' "$(dirname "$settings")" |
        python3 "$SOURCE/tests/e2e/terminal.py" "$work/prefix/bin/tenon" $command >terminal && code=0 || code=$?
    expect_code 2
done
rm -r "$work/prefix/share/tenon/editors"
run "$work/prefix/bin/tenon" doctor
expect_in out "has no share/tenon/editors"
