# `tenon key`: keys of clients over HTTP are created, listed and revoked; their texts are printed once, and not stored.
[ -e "$BINARY/lib/tenon/plugins/sqlite.so" ] || skips "built without the SQLite store"
echo 'store: sqlite' >tenon.yaml

run tenon key list
expect_code 0 && expect_out '' && expect_in err 'the store has no keys'
run tenon key create alice
expect_code 0
secret=$(cat "$work/out")
grep -qE '^tn_[A-Za-z0-9_-]{49}$' "$work/out" || fails "expected a key on a line"
run tenon key create alice
expect_code 1 && expect_in err 'there is a key `alice` already' && expect_in err '[EXISTS]' && expect_out ''
run tenon key create robot --owner alice --scope read --expires 30 --requests-per-minute 60 --open-requests 5 --runs 2 \
    --tokens-per-day 1000000 --cost-per-day 1.5 --json
expect_code 0
expect_in out '"name":"robot","scope":"read","owner":"alice","limits":{"requests_per_minute":60,"open_requests":5,"runs":2,"tokens_per_day":1000000,"cost_per_day":1.5}'
expect_in out '"secret":"tn_'
run tenon key create root --scope admin
expect_code 0

# ---- Nothing shows a text or a hash again ----
run tenon key list
expect_code 0 && expect_in out 'alice  run  @alice  active  created 2' && expect_in out 'root  admin  operator  active'
grep -q '^robot  read  @alice  active  created .*Z  expires .*Z$' "$work/out" || fails "expected when robot expires"
expect_not_in out tn_
run tenon key list --json
expect_code 0 && expect_not_in out tn_ && expect_not_in out hash
grep -rqF -- "${secret#tn_}" .tenon && fails "the store has the text of a key"
hash=$(printf %s "$secret" | sha256sum | cut -d ' ' -f 1)
grep -rqF "$hash" .tenon || fails "expected the hash of a key in the store"

# ---- Mistakes ----
for name in Bob a:b -- '' "$(printf 'x%.0s' {1..33})" generated; do
    run tenon key create -- "$name"
    expect_code 2 && expect_out ''
done
for option in '--expires 0' '--expires x' '--expires 3651' '--runs 0' '--runs 1.5' '--cost-per-day -1' '--scope all' '--owner A'; do
    # shellcheck disable=SC2086 # an option and its value
    run tenon key create bob $option
    expect_code 2 && expect_out ''
done
run tenon key revoke bob
expect_code 1 && expect_in err 'the store has no key `bob`; `tenon key list` shows all [NOT_FOUND]'

# ---- revoke ----
run tenon key revoke alice
expect_code 0 && expect_in out 'alice  run  @alice  revoked  created 2'
run tenon key revoke alice --json
expect_code 0 && expect_in out '"state":"revoked"'
run tenon key create alice
expect_code 1 && expect_in err 'the name `alice` is that of a key that is revoked'

# ---- A running host ----
serve_start host --socket s
run tenon key create carol --connect s
expect_code 0
run tenon key list --connect s
expect_code 0 && expect_in out 'carol  run  @carol  active'
run tenon key list
expect_in out 'carol  run  @carol  active'
