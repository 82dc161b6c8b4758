# An installation works in its place and after it is moved. A new plugin, a third-party plugin and a program that embeds the
# host are built against it with the commands of the documentation.
cmake --install "$BINARY" --prefix "$work/first" >"$work/install.log" || { cat "$work/install.log" >&2; exit 1; }
libdir=$(cd "$work/first" && dirname "$(find . -name 'libtenon.so' | head -n 1)" | sed 's|^\./||')

for file in bin/tenon "$libdir/libtenon.so" "$libdir/tenon/plugins/core.so" include/tenon.h include/tenon/easy.h \
    include/tenon/embed.h "$libdir/cmake/Tenon/TenonConfig.cmake" "$libdir/pkgconfig/tenon.pc" "$libdir/pkgconfig/tenon-sdk.pc" \
    share/man/man1/tenon.1 share/bash-completion/completions/tenon share/zsh/site-functions/_tenon \
    share/fish/vendor_completions.d/tenon.fish share/tenon/template/c/common/CMakeLists.txt share/tenon/template/python/node/@NAME@ share/tenon/schema/manifest.schema.json share/tenon/schema/component/1/event.schema.json \
    share/tenon/schema/methods.schema.json share/tenon/schema/openrpc.json share/tenon/clients/methods.ts share/tenon/clients/methods.py share/doc/tenon/methods.md \
    share/doc/tenon/diagnostics.md share/doc/tenon/nodes.md share/doc/tenon/README.md share/doc/tenon/sdk/guide/promise.md; do
    [ -s "$work/first/$file" ] || fails "not installed: $file"
done

# Moved to a path with a space; nothing refers to the old path or to the build.
prefix="$work/moved here"
mv "$work/first" "$prefix"
TENON=$prefix/bin/tenon
run tenon run tenon:hello
expect_code 0 && expect_out "$(cat "$SOURCE/samples/hello/expected.json")"
run tenon run "$SOURCE/samples/hello/hello.yaml"
expect_code 0
expect_out "$(cat "$SOURCE/samples/hello/expected.json")"
run tenon reference llm
expect_code 0 && expect_in out "$(sed -n '/^## llm$/,$p' "$prefix/share/doc/tenon/nodes.md" | sed -n '/^- `model`: /{p;q;}')"
run tenon plugin list
expect_in out "$prefix/$libdir/tenon/plugins/core.so (installed)"
grep -rlF -e "$BINARY" -e "$work/first" "$prefix/$libdir/cmake" "$prefix/$libdir/pkgconfig" "$prefix/share" &&
    fails "these files contain the path of the build"

# The program and the library need only the libraries that they use.
needed() { objdump -p "$1" | sed -n 's/^ *NEEDED *//p' | grep -vE '^(libasan|libubsan|libtsan|libclang_rt)' | sort | tr '\n' ' '; }
[ -n "$SANITIZE" ] || for file in bin/tenon "$libdir/libtenon.so"; do
    for library in $(needed "$prefix/$file"); do
        case $library in
        libseccomp.so.* | libedit.so.*) [ "$file" = bin/tenon ] || fails "$file needs $library, which only the program may" ;;
        libc.so.* | libm.so.* | libuv.so.* | libyaml-0.so.* | libpcre2-8.so.* | libsodium.so.* | libdl.so.* | libpthread.so.* | ld-linux*) ;;
        *) fails "$file needs $library" ;;
        esac
    done
done
exported=$(nm -D --defined-only "$prefix/$libdir/libtenon.so" | awk '{print $3}' | grep -v '^tenon_' || true)
[ -z "$exported" ] || [ -n "$SANITIZE" ] || fails "libtenon.so exports more than tenon/embed.h: $exported"

# `tenon plugin new`, and the three commands that it prints.
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fails "$*"; }; }
export PATH="$prefix/bin:$PATH"
run tenon plugin new acme-text
expect_code 0
cd acme-text
quietly cmake -B build
quietly cmake --build build
quietly ctest --test-dir build --output-on-failure
run tenon plugin show build/acme-text.so
expect_in out "acme.text.words"
run tenon plugin check build/acme-text.so
expect_code 0 && expect_not_in out warning && expect_not_in err warning
cp "$SOURCE/sdk/examples/node.c" src/plugin.c # the README's, in place of the project's own
quietly cmake --build build
quietly ctest --test-dir build --output-on-failure
cd ..

# The same with pkg-config and one compiler command.
export PKG_CONFIG_PATH="$prefix/$libdir/pkgconfig"
cp -r "$prefix" "$work/plain" # pkg-config's variables cannot have spaces
export PKG_CONFIG_PATH="$work/plain/$libdir/pkgconfig"
# shellcheck disable=SC2046
quietly cc $(pkg-config --cflags --variable=plugin_flags tenon-sdk) $(pkg-config --cflags tenon-sdk) -o one.so "$SOURCE/sdk/examples/tool.c"
run tenon plugin check one.so
expect_code 0

# samples/triage.
quietly env TENON_PREFIX="$work/plain" BUILD="$work/triage" "$SOURCE/samples/triage/run"
cmp "$work/triage/report.json" "$SOURCE/samples/triage/expected.json" || fails "the report differs from expected.json"
diff "$work/log" "$SOURCE/samples/triage/expected.txt" >&2 || fails "the table differs from expected.txt"
# Without BUILD it builds in TENON_BUILD, from any directory.
quietly env -u BUILD TENON_PREFIX="$work/plain" TENON_BUILD=other "$SOURCE/samples/triage/run"
cmp other/triage/report.json "$SOURCE/samples/triage/expected.json" || fails "the report is not in TENON_BUILD"
run tenon plugin check "$work/triage/triage.so"
expect_code 0

# The host as a library: each program of samples/embed, built with the command of its README.
if [ -z "$SANITIZE" ]; then
    cp "$SOURCE"/samples/embed/*.c .
    build=$(grep '^cc threads.c ' "$SOURCE/samples/embed/README.md") || fails "the README has no command to build a sample"
    for sample in embed pipe components graph threads loop; do
        one=${build//threads/$sample}
        quietly sh -c "cc -Wall -Wextra -Werror ${one#cc }"
    done
    run ./embed "$SOURCE/samples/hello/hello.yaml"
    expect_code 0 && expect_out "$(cat "$SOURCE/samples/embed/expected.txt")"
    for sample in pipe components graph; do
        run "./$sample"
        expect_code 0 && expect_out "$(cat "$SOURCE/samples/embed/$sample.expected")"
    done
    run ./threads refunds.db
    expect_code 0 && expect_out "$(cat "$SOURCE/samples/embed/threads.expected")"
    run ./loop
    expect_code 0 && expect_out "$(cat "$SOURCE/samples/embed/loop.expected")"
fi
