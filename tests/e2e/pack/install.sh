# `tenon pack install`, `list` and `remove`, and which version is used.
signed
run tenon pack list
expect_code 0 && expect_out "" && expect_in err "no packs are installed"
run tenon pack install again.tenonpack
expect_code 0 && expect_in err "warning: acme-text 1.0.0 is not signed" && expect_in err "acme-text 1.0.0 installed"
run tenon pack install again.tenonpack
expect_code 0 && expect_in err "was already installed"
run tenon pack install signed.tenonpack
expect_code 4 && expect_in err "is installed without a signature" && once
run tenon pack list
expect_code 0 && expect_in out "acme-text 1.0.0  A pack for tests" && expect_in out "not signed" && expect_in out "one.yaml"
run tenon plugin list
expect_code 0 && expect_in out "$packs/acme-text/1.0.0/plugins/nodes.so (pack acme-text 1.0.0)"
run tenon run "$packs/acme-text/1.0.0/one.yaml"
expect_code 0
[ -x "$packs/acme-text/1.0.0/plugins/nodes.so" ] && [ ! -x "$packs/acme-text/1.0.0/one.yaml" ] || fails "unexpected modes of installed files"

# A different build of the same version is refused. A newer version is used as long as it is installed.
echo "# changed" >>src/one.yaml
run tenon pack build src -o changed.tenonpack
run tenon pack install changed.tenonpack
expect_code 4 && expect_in err "a different build of acme-text 1.0.0 is installed" && once
sed -i 's/"1.0.0"/"1.10.0-rc.1"/' src/pack.json
run tenon pack build src
run tenon pack install acme-text-1.10.0-rc.1.tenonpack
expect_code 0
run tenon pack list --json
expect_in out '"version":"1.10.0-rc.1","folder":"'
run tenon plugin list
expect_in out "(pack acme-text 1.10.0-rc.1)" && expect_not_in out "(pack acme-text 1.0.0)"
run tenon pack remove acme-text 9.9.9
expect_code 4 && expect_in err "version 9.9.9 of the pack" && once
run tenon pack remove acme-text 1.10.0-rc.1
expect_code 0 && expect_in err "1 version removed"
run tenon plugin list
expect_in out "(pack acme-text 1.0.0)"
run tenon pack remove acme-tex
expect_code 4 && expect_in err 'did you mean `acme-text`?' && once

# A configuration that cannot be used is reported once.
printf 'packs: [' >tenon.yaml
for command in install verify; do
    run tenon pack $command again.tenonpack
    expect_code 4 && expect_in err "tenon.yaml:1:" && once
done
rm tenon.yaml
