# Interrupts that expire.
ask_document
run tenon run ask.yaml --thread late $nodes
expect_code 5
python3 - <<'PYTHON' || fails "cannot change the expiry in the store"
import sqlite3
store = sqlite3.connect("kept.db")
store.execute("UPDATE entries SET json = replace(json, '\"updated_at\":\"20', '\"updated_at\":\"19') WHERE key = 'late'")
store.commit()
PYTHON
printf 'store: {use: sqlite, path: ./kept.db}\nlimits: {interrupt_hours: 24}\n' >limited.yaml
run tenon thread answer late 0123456789abcdef=1 --config limited.yaml
expect_code 1
expect_in err "longer than the 24 hours of limits.interrupt_hours"
run tenon run ask.yaml --thread late $nodes --resume --config limited.yaml
expect_code 1
expect_in err "[EXPIRED]"
