# `tenon plugin install FOLDER`: if the disk fails at any step, all plugins are installed or none, and nothing is left. If
# the process is killed, the next installation restores the files that were not replaced.
"${CC:-cc}" -shared -fPIC -D_GNU_SOURCE -o kill.so "$SOURCE/tests/e2e/pack_kill.c" -ldl
[ -z "$SANITIZE" ] || export ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0
folder=$XDG_DATA_HOME/tenon/plugins
script() { # FILE ID VERSION: a plugin that is a program
    printf '#!/bin/sh\n# %s\n' "$3" >"$1"
    chmod +x "$1"
    printf '{"plugin": {"id": "%s", "version": "%s", "title": "T"}, "components": [{"kind": "node", "id": "acme.%s", "title": "T", "documentation": "D", "style": "async", "effects": []}]}\n' "$2" "$3" "${2#*.}" >"$1.tenon.json"
}
contents() { (cd "$folder" 2>/dev/null && ls -A && sha256sum -- *) 2>/dev/null || true; }
mkdir several
script several/one acme.one 1.0.0
script several/two acme.two 1.0.0
# at_each_step OPTION…: installs the folder, with a failure at each step in turn
at_each_step() {
    local step=1 before failures=0
    before=$(contents)
    while rm -f "$work/hit" && run env LD_PRELOAD="$PWD/kill.so" STEPS="$work/hit" FAIL_AT=$step "$TENON" plugin install several "$@" && [ -L "$work/hit" ]; do
        if [ "$code" = 0 ]; then
            rm -rf "$folder" && cp -a kept "$folder"
        else
            expect_code 4 && expect_in err "No space left on device" && expect_not_in err "installed in" && expect_not_in err "replaced in"
            [ "$(contents)" = "$before" ] || fails "a failure at step $step changed the folder: $(contents)"
            failures=$((failures + 1))
        fi
        step=$((step + 1))
    done
    expect_code 0
    [ $failures -ge 8 ] || [ -n "$SANITIZE" ] || fails "expected at least 8 failures, found $failures"
}
mkdir -p "$folder" && cp -a "$folder" kept
at_each_step
[ "$(ls -A "$folder" | tr '\n' ' ')" = "one one.tenon.json two two.tenon.json " ] || fails "unexpected files: $(ls -A "$folder")"
# A replaced plugin is restored, also if it has another name.
mv several/two several/zwei && mv several/two.tenon.json several/zwei.tenon.json
script several/one acme.one 2.0.0
script several/zwei acme.two 2.0.0
rm -rf kept && cp -a "$folder" kept
at_each_step --force
[ "$(ls -A "$folder" | tr '\n' ' ')" = "one one.tenon.json zwei zwei.tenon.json " ] || fails "unexpected files: $(ls -A "$folder")"
grep -q 2.0.0 "$folder/one" && grep -q 2.0.0 "$folder/zwei.tenon.json" || fails "expected the new plugins"
# Without links, a file is renamed before it is replaced.
rm -rf kept && cp -a "$folder" kept
script several/one acme.one 3.0.0
script several/zwei acme.two 3.0.0
mkdir other
script other/three acme.three 1.0.0
preload() { run env LD_PRELOAD="$PWD/kill.so" NO_LINKS=1 STEPS="$work/hit" "$@"; }
step=1 lost=0
while rm -f "$work/hit" && preload KILL_AT=$step "$TENON" plugin install several --force && [ -L "$work/hit" ]; do
    expect_code 137
    for name in one one.tenon.json zwei zwei.tenon.json; do [ -e "$folder/$name" ] || lost=$((lost + 1)); done
    preload "$TENON" plugin install other
    expect_code 0
    [ "$(ls -A "$folder" | tr '\n' ' ')" = "one one.tenon.json three three.tenon.json zwei zwei.tenon.json " ] ||
        fails "unexpected files after a kill at step $step: $(ls -A "$folder")"
    rm -rf "$folder" && cp -a kept "$folder"
    step=$((step + 1))
done
expect_code 0
[ $lost -ge 4 ] || fails "expected that each of 4 files was missing after a kill, found $lost"
grep -q 3.0.0 "$folder/one" && grep -q 3.0.0 "$folder/zwei.tenon.json" || fails "expected the new plugins"
