# samples/client: builds its plugin against an installation, and lets its client load, upgrade and unload it in a host.
install_tenon
cp -r "$SOURCE/samples/client" client
cd client
[ "$(wc -l <client.py)" -le 60 ] || fails "client.py has more than 60 lines"
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name tenon-sdk.pc)")
export PKG_CONFIG_PATH
run ./run
expect_code 0 && expect_out "$(cat expected.txt)"
[ -z "$(cat "$work/err")" ] || fails "expected nothing on standard error"
run env TENON="$TENON" BUILD="$work/build" ./run # and again, in another folder
expect_code 0 && expect_out "$(cat expected.txt)"
