# A process that is killed, or fails, at any step leaves a whole pack or none.
"${CC:-cc}" -shared -fPIC -D_GNU_SOURCE -o kill.so "$SOURCE/tests/e2e/pack_kill.c" -ldl
[ -z "$SANITIZE" ] || export ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0
# at_step VARIABLE N COMMAND…: true if the command reached step N.
at_step() {
    rm -f "$work/hit"
    run env LD_PRELOAD="$PWD/kill.so" STEPS="$work/hit" "$1=$2" "$TENON" "${@:3}"
    [ -L "$work/hit" ]
}
whole_or_nothing() {
    run tenon pack list
    expect_code 0
    run tenon plugin list
    expect_code 0
    [ ! -s "$work/err" ] || fails "expected nothing on standard error"
}
step=1
while at_step KILL_AT $step pack install again.tenonpack; do
    [ "$code" = 137 ] || fails "step $step: expected exit code 137"
    whole_or_nothing
    step=$((step + 1))
    [ -e "$packs/acme-text/1.0.0" ] && { run tenon pack remove acme-text && expect_code 0; }
done
expect_code 0
if [ $step -gt 10 ]; then
    [ ! -e "$packs/.new" ] || fails "the next installation did not remove the temporary folder"
    step=1
    while at_step KILL_AT $step pack remove acme-text; do
        whole_or_nothing
        step=$((step + 1))
        run tenon pack install again.tenonpack
        expect_code 0
    done
    expect_code 0
    [ $step -gt 5 ] || fails "expected more steps"
    step=1
    while at_step FAIL_AT $step pack install again.tenonpack; do
        [ "$code" != 0 ] || fails "a failure at step $step was ignored"
        once
        expect_in err "nothing was installed"
        nothing_installed
        [ ! -e "$packs/.new" ] || fails "a failure at step $step left a temporary folder"
        whole_or_nothing
        run tenon pack remove acme-text
        step=$((step + 1))
    done
elif [ -z "$SANITIZE" ]; then
    fails "expected more than $step steps"
fi
