# `tenon plugin check` finds what only running a plugin shows; one without defects passes, whatever the seed.
cc=${CC:-cc}
build() {
    "$cc" -shared -fPIC -fvisibility=hidden -I"$SOURCE/sdk/include" -DDEFECT="$1" \
        -Wl,--version-script="$SOURCE/sdk/cmake/tenon-plugin.map" -o "defect$1.so" "$SOURCE/tests/exercise/defects.c" \
        2>"$work/log" || { cat "$work/log" >&2; fails "defects.c"; }
}
for defect in 0 1 2 4; do build "$defect"; done

for seed in 1 2 3; do
    run tenon plugin check defect0.so --seed "$seed"
    expect_code 0
    expect_not_in err "error["
    run tenon plugin check "$BINARY/lib/tenon/plugins/core.so" --seed "$seed"
    expect_code 0
done
run tenon plugin check defect1.so --seed 1
expect_code 4
expect_in err "error[CRASHED]"
expect_in err 'it was asked to'
expect_in err "(seed 1)"
run tenon plugin check defect2.so
expect_code 4
expect_in err "error[CONTRACT]"
expect_in err "values that it never released"
run tenon plugin check defect4.so
expect_code 4
expect_in err "error[CRASHED]"
expect_in err "while allocations fail"
run tenon plugin check defect0.so --json --seed 5
expect_code 0
expect_in out '"seed":5'
