# A compiler warning does not fail a plain build, whatever its type; it fails a build with a preset.
[ -z "$SANITIZE" ] || skips "a sanitizer does not change what this tests"
echo '#warning injected' >injected.h
object=CMakeFiles/tenon_adl.dir/adl/value/memory.c.o
# build_one ARGUMENT…: configures, and compiles one source with the warning
build_one() {
    CFLAGS="-include $PWD/injected.h" run cmake -S "$SOURCE" -G Ninja -DCMAKE_C_COMPILER="$CC" -DTENON_TESTS=OFF "$@" -B built
    expect_code 0
    run cmake --build built --target $object
}
for type in Release ""; do
    build_one -DCMAKE_BUILD_TYPE=$type
    expect_code 0 && expect_in out "warning" && expect_in out "injected"
    rm -r built
done
cd "$SOURCE"
CFLAGS="-include $work/here/injected.h" run cmake --preset release -DTENON_TESTS=OFF -DCMAKE_C_COMPILER="$CC" -B "$work/here/built"
expect_code 0
run cmake --build "$work/here/built" --target $object
expect_code 1 && expect_in out "Werror"
