# `tenon plugin new` for every kind and language: the commands that it prints build and test the project.
command -v python3 >/dev/null || skips "python3 is not installed"
[ -z "$SANITIZE" ] || skips "the projects are built without the sanitizer, as by their users"
PATH=$PATH:${CARGO_HOME:-$owner_home/.cargo}/bin
if [ -d "${RUSTUP_HOME:-$owner_home/.rustup}" ]; then export RUSTUP_HOME=${RUSTUP_HOME:-$owner_home/.rustup}; fi
export CARGO_HOME=$work/cargo CMAKE_GENERATOR=Ninja
install_tenon
# On a busy machine, a check takes longer than its limit. CMake of a project has the program's own path.
mkdir "$work/patient"
printf '#!/bin/sh\n[ "$1 $2" = "plugin check" ] && set -- "$@" --timeout 120\nexec %s "$@"\n' "$TENON" >"$work/patient/tenon"
chmod +x "$work/patient/tenon"
PATH=$work/patient:$PATH
kinds="node tool model store"
languages="c cpp rust python"
command -v cargo >/dev/null || { languages="c cpp python"; echo "not tested, because cargo is not installed: Rust"; }

# A store names its file when the disk is full, and does not change the file of another program.
check_store_failures() { # FOLDER
    local plugin
    plugin=$(find "$PWD/$1" -maxdepth 3 \( -name '*acme[_-]store.so' -o -name acme-store -type f \) ! -path '*/deps/*' | head -n 1)
    rm -rf saved
    mkdir saved
    printf 'plugins: {path: "%s", drafts: acme.store}\nstore: {use: acme.store, path: saved/records}\n' "$plugin" >store.yaml
    run bash -c 'ulimit -f 8; exec "$@"' limited "$TENON" run tenon:hello --thread a -c store.yaml --set "name=$(head -c 20000 /dev/zero | tr '\0' x)"
    expect_code 1 && expect_in err "$PWD/saved/records: " && expect_in err "[STORE_FULL]"
    printf 'my diary' >saved/records
    run tenon run tenon:hello --thread a -c store.yaml
    expect_code 4 && expect_in err "$PWD/saved/records does not " && expect_in err "[STORE_CORRUPT]"
    [ "$(cat saved/records)" = "my diary" ] || fails "$1: the file of another program was changed"
}

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
        [ $kind != store ] || check_store_failures "$language-store"
    done
done
