# Keys and signatures.
run tenon pack keygen acme
expect_code 0
[ "$(stat -c %a acme.key)" = 600 ] || fails "expected the mode 600 of the secret key"
expect_in out "packs: {trust: [\"$(cat acme.pub)\"]}"
run tenon pack keygen acme
expect_code 2 && expect_in err "nothing was changed" && once
run tenon pack keygen other
cp again.tenonpack signed.tenonpack
run tenon pack sign signed.tenonpack --key acme.pub
expect_code 4 && expect_in err "found a public one" && once
run tenon pack sign signed.tenonpack
expect_code 2 && expect_in err "--key is missing"
chmod 644 other.key
run tenon pack sign signed.tenonpack --key other.key
expect_code 4 && expect_in err "chmod 600" && once
chmod 600 other.key
cmp signed.tenonpack again.tenonpack || fails "a rejected key changed the pack"
run tenon pack sign signed.tenonpack --key other.key
expect_code 0
run tenon pack sign signed.tenonpack --key acme.key # replaces the previous signature
expect_code 0 && expect_in err "$(cat acme.pub)"
run tenon pack verify signed.tenonpack --key acme.pub
expect_code 0 && expect_in out "3 files, signed by $(cat acme.pub), which is trusted"
run tenon pack verify signed.tenonpack --key "$(cat acme.pub)"
expect_code 0
run tenon pack verify signed.tenonpack --key other.pub
expect_code 4 && expect_in err "not signed by other.pub" && once
run tenon pack verify signed.tenonpack --key acme.key
expect_code 4 && expect_in err "expected a public key" && once
run tenon pack verify signed.tenonpack
expect_code 4 && expect_in err "packs.trust" && once
run tenon pack verify again.tenonpack --key acme.pub
expect_code 4 && expect_in err "it is not signed" && once
run tenon pack verify src
expect_code 4 && expect_in err 'is a folder; `tenon pack build`' && once
printf 'packs: {trust: [./acme.pub]}\n' >tenon.yaml
run tenon pack verify signed.tenonpack
expect_code 0
run tenon pack verify signed.tenonpack --no-config
expect_code 4
printf 'packs: {trust: ["%s", gone.pub]}\n' "$(cat acme.pub)" >tenon.yaml
run tenon pack verify signed.tenonpack
expect_code 0 && expect_in err "warning: packs.trust: cannot read the public key in $PWD/gone.pub"
rm tenon.yaml
