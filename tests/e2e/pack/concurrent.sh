# Several processes install the same pack at once.
for i in 1 2 3 4 5 6; do "$TENON" pack install again.tenonpack 2>"$work/at-once-$i" & done
for i in 1 2 3 4 5 6; do wait -n || fails "one of several installers failed: $(cat "$work"/at-once-*)"; done
[ "$(cat "$work"/at-once-* | grep -c 'acme-text 1.0.0 installed')" = 1 ] || fails "expected one process to install the pack, and the others to find it"
run tenon pack list
expect_code 0 && expect_in out "acme-text 1.0.0"
run tenon pack remove acme-text
