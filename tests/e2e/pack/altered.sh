# An altered pack is reported with both hashes and is not used.
run tenon pack install again.tenonpack
# altered FILE: changes one byte of it.
altered() {
    local file=$packs/acme-text/1.0.0/$1 was now
    was=$(sha256sum "$file" | cut -d' ' -f1)
    cp -p "$file" "$work/kept"
    printf 'X' | dd of="$file" bs=1 seek=20 conv=notrunc 2>"$work/which"
    now=$(sha256sum "$file" | cut -d' ' -f1)
    run tenon pack list
    expect_code 4 && expect_in out "$1: " && expect_in out "$was" && expect_in out "$now" && expect_in out "PACK_ALTERED"
    run tenon pack install again.tenonpack
    expect_code 4 && expect_in err "$was"
}
restore() { cp -p "$work/kept" "$packs/acme-text/1.0.0/$1"; }
altered plugins/nodes.so
run tenon plugin list
expect_in err "PACK_ALTERED" && expect_not_in out "(pack acme-text"
run tenon doctor
expect_code 4 && expect_in out "PACK_ALTERED"
run tenon reference test.echo
expect_code 2 && expect_in err "it may be in $packs/acme-text/1.0.0/plugins/nodes.so"
restore plugins/nodes.so
altered pack.json
run tenon plugin list
expect_in err "PACK_ALTERED" && expect_not_in out "(pack acme-text"
restore pack.json
altered one.yaml
restore one.yaml
run tenon pack list
expect_code 0
head -c 5000 again.tenonpack >cut.tenonpack # the pack.json in it is the same
run tenon pack install cut.tenonpack
expect_code 4 && expect_in err "is truncated" && once
mv "$packs/acme-text/1.0.0/plugins/nodes.so" "$work/kept"
run tenon plugin list
expect_in err "plugins/nodes.so"
ln -s "$work/kept" "$packs/acme-text/1.0.0/plugins/nodes.so"
run tenon plugin list
expect_in err "it is a symbolic link"
rm "$packs/acme-text/1.0.0/plugins/nodes.so"
cp "$work/kept" "$packs/acme-text/1.0.0/plugins/nodes.so"
printf '{}' >"$packs/acme-text/1.0.0/plugins/nodes.tenon.json"
run tenon plugin list
expect_in err "is not a file of the pack"
rm "$packs/acme-text/1.0.0/plugins/nodes.tenon.json"
rm "$packs/acme-text/1.0.0/.installed.json"
run tenon plugin list
expect_in err "record of its installation is missing or invalid"
mkdir -p "$packs/acme-text/1.0.1" # not created by an installation
run tenon pack list
expect_code 4
run tenon pack remove acme-text
expect_code 0 && expect_in err "2 versions removed"
nothing_installed
[ ! -e "$packs/acme-text" ] || fails "remove left an empty folder"
