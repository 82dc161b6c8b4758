# The scripts that install Debian packages print them first. With --no-install they only list them.
# dpkg-query says that nothing is installed, and apt-get only records how it was called.
mkdir bin
cat >bin/dpkg-query <<'S'
#!/bin/sh
exit 1
S
cat >bin/apt-get <<'S'
#!/bin/sh
echo "apt-get $*" >>"$CALLS"
S
cat >bin/sudo <<'S'
#!/bin/sh
[ "$1" = -n ] || exec "$@"
S
printf '#!/bin/sh\nexit 1\n' >bin/python3 # it has no modules
chmod +x bin/*
export CALLS=$work/calls PATH=$PWD/bin:$PATH
for command in "$SOURCE/samples/run" "$SOURCE/tests/run"; do
    run "$command" --no-install
    expect_code 0 && expect_in out "missing Debian packages: gcc" && expect_in out "libuv1-dev"
    [ ! -e "$CALLS" ] || fails "$command --no-install called apt-get"
done
expect_in out "valgrind" && expect_in out "python3-jsonschema"
run "$SOURCE/tests/tools/packages" build --list
expect_code 0 && expect_in out "libyaml-dev" && expect_not_in out "valgrind"
[ ! -e "$CALLS" ] || fails "--no-install called apt-get"

run "$SOURCE/tests/tools/packages" build
expect_code 0 && expect_in err "installing missing Debian packages: gcc " && expect_in err "--no-install"
grep -q '^apt-get install .* gcc .* libuv1-dev ' "$CALLS" || fails "apt-get was not called"

# Everything is installed: nothing is printed.
printf '#!/bin/sh\necho install ok installed\n' >bin/dpkg-query
rm "$CALLS"
run "$SOURCE/tests/tools/packages" test --list
expect_code 0 && expect_not_in out "jsonschema"
run "$SOURCE/tests/tools/packages" build
expect_code 0 && expect_out "" && [ ! -s "$work/err" ] && [ ! -e "$CALLS" ] || fails "expected no installation"
run "$SOURCE/samples/run" --no-install
expect_code 0 && expect_out "missing Debian packages: none"
run "$SOURCE/tests/tools/packages" tests
expect_code 2 && expect_in err "expected build or test"
