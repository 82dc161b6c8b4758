# The completions of zsh and fish.
read_commands
"$TENON" reference --completion zsh >_tenon
if command -v zsh >/dev/null; then
    run zsh -fn _tenon
    expect_code 0 && [ ! -s "$work/err" ] || fails "cannot print the completion of zsh"
    run zsh -fc 'autoload -Uz compinit; compinit -u -D; source ./_tenon; print -r -- $_comps[tenon] $+functions[_tenon]'
    expect_code 0 && expect_out "_tenon 1"
fi

"$TENON" reference --completion fish >tenon.fish
if command -v fish >/dev/null; then
    run fish --no-execute tenon.fish
    expect_code 0 && [ ! -s "$work/err" ] || fails "cannot print the completion of fish"
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
[ -s _tenon ] && [ -s tenon.fish ] || fails "a completion file is empty"
