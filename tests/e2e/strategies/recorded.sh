# The recorded runs in tests/strategies are replayed with today's strategies (tests/strategies/record makes them).
for folder in "$SOURCE"/plugins/strategies/*/; do
    name=$(basename "$folder")
    ls "$SOURCE/tests/strategies/$name"-*.json >/dev/null || fails "there is no recorded run of $name"
done
run tenon test "$SOURCE"/tests/strategies/*.json
expect_code 0
# A changed result is detected.
sed 's/The report is ready/The report is late/2' "$SOURCE/tests/strategies/notify-done.json" >changed.json
cmp -s changed.json "$SOURCE/tests/strategies/notify-done.json" && fails "nothing was changed"
run tenon test changed.json
expect_code 1
