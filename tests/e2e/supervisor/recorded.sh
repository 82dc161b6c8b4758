# The recorded runs of tenon:supervisor are replayed with today's strategy (tests/strategies/record_supervisor makes them).
run tenon test "$SOURCE"/tests/strategies/supervisor-*.json
expect_code 0
# A changed result is detected.
sed 's/Ada likes engines/Ada likes boats/2' "$SOURCE/tests/strategies/supervisor-card.json" >changed.json
cmp -s changed.json "$SOURCE/tests/strategies/supervisor-card.json" && fails "nothing was changed"
run tenon test changed.json
expect_code 1
