# Warnings: shown with every output format, except with --quiet.
run tenon run empty.yaml
expect_code 0 && once 'warning: plan: the list of its map edge is empty' && expect_in err 'with `empty`'
run tenon run empty.yaml --json
expect_code 0 && once 'warning: plan: the list of its map edge is empty' && expect_not_in out debug
run tenon run empty.yaml --stream debug
expect_code 0 && expect_in err '"event":"empty_map","level":"warning","node":"plan"' && expect_not_in err "warning:"
run tenon run empty.yaml --quiet
expect_code 0 && quiet
run tenon run empty.yaml --set list=[1]
expect_code 0 && quiet
# Those of the host, too.
printf 'plugins: {config: {acme.absent: {}}}\nlog: debug\n' >absent.yaml
run tenon run "$hello" --config absent.yaml --set name=Ada
expect_code 0 && expect_in err "warning: " && expect_in err acme.absent
run tenon run "$hello" --config absent.yaml --set name=Ada --quiet
expect_code 0 && quiet && expect_out "$result"
