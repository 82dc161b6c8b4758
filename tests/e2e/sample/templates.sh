# `tenon plugin new` for every kind and language: the commands that it prints build and test the project.
command -v python3 >/dev/null || skips "python3 is not installed"
[ -z "$SANITIZE" ] || skips "the projects are built without the sanitizer, as by their users"
PATH=$PATH:${CARGO_HOME:-$owner_home/.cargo}/bin
if [ -d "${RUSTUP_HOME:-$owner_home/.rustup}" ]; then export RUSTUP_HOME=${RUSTUP_HOME:-$owner_home/.rustup}; fi
export CARGO_HOME=$work/cargo CMAKE_GENERATOR=Ninja
install_tenon
kinds="node tool model store"
languages="c cpp rust python"
command -v cargo >/dev/null || { languages="c cpp python"; echo "not tested, because cargo is not installed: Rust"; }

for language in $languages; do
    for kind in $kinds; do
        run tenon plugin new "acme-$kind" --kind "$kind" --language "$language" --directory "$language-$kind"
        expect_code 0 && expect_out ""
        ! grep -rnE "@(NAME|ID|IDENT|FILE:.*)@" "$language-$kind" || fails "a placeholder was not replaced"
        [ -z "$(find "$language-$kind" -name '*@*')" ] || fails "a placeholder in a file's name was not replaced"
        sed -n '/^  /p' "$work/err" >steps
        [ "$(wc -l <steps)" -ge 3 ] || fails "the steps are not printed"
        (sh -eu steps) >"$work/log" 2>&1 || { cat "$work/log" >&2; fails "$language, $kind: the steps that were printed"; }
        ! grep -iE 'warning|[1-9][0-9]* errors?' "$work/log" || fails "$language, $kind: expected no warning"
        readme_commands "$language-$kind/README.md" sh >readme
        sed 1d steps | sed 's/^ *//; s/ --output-on-failure//' | cmp -s - readme || fails "$language, $kind: README.md has other commands"
    done
done
