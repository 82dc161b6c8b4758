# The completion of bash, called as readline calls it.
read_commands
"$TENON" reference --completion bash >tenon.bash
bash -n tenon.bash || fails "the completion is not a valid bash script"
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
    [ -s "$work/err" ] && fails "the completion wrote to standard error"
    [ "$(sort "$work/out" | tr '\n' ' ')" = "$(printf '%s\n' "$@" | sort | sed '/^$/d' | tr '\n' ' ')" ] || fails "expected: $*"
}
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
offers tenon graph --format '' : svg html mermaid dot json text
offers tenon graph --format = me : mermaid
offers tenon graph --format = : svg html mermaid dot json text
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
offers tenon schema mo : model
offers tenon schema op : openrpc
offers tenon thread gc '' :
offers tenon nothing '' :
for command in "${commands[@]}"; do
    # shellcheck disable=SC2086
    run bash offered tenon $command --
    for option in $("$TENON" $command --help | sed -nE 's/^  .{4}(--[a-z-]+).*/\1/p'); do
        grep -qx -- "$option" "$work/out" || fails "the completion of tenon $command lacks $option"
    done
done
