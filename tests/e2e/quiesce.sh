# The end of a host, in process and isolated: a plugin that still expects components is quiesced, and is waited for, but
# for at most two seconds.
cc=${CC:-cc}
"$cc" -shared -fPIC -fvisibility=hidden -I"$SOURCE/sdk/include" \
    -Wl,--version-script="$SOURCE/sdk/cmake/tenon-plugin.map" -o expects.so "$SOURCE/tests/isolate/expects.c" 2>"$work/log" ||
    { cat "$work/log" >&2; fails "expects.c does not compile"; }
ends() { # HOW: the plugin finishes like this; the command must not wait for the tools that are never added
    printf 'plugins: {config: {test.expects: {finishes: %s}}}\n' "$1" >tenon.yaml
    SECONDS=0
    # shellcheck disable=SC2086
    run tenon tool call test.added --plugins expects.so $isolate
    expect_code 0
    [ $SECONDS -lt 30 ] || fails "the command waited for $SECONDS s"
    expect_in err "test.expects: quiesces"
}
for isolate in "" "--isolate test.expects"; do
    ends "at once"
    expect_not_in err "finish"
    ends late
    expect_in err "test.expects: has finished late"
    ends never
    expect_in err "test.expects: the host ends, but the plugin did not finish its work within 2 s"
done
