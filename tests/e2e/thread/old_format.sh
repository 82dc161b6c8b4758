# A store in the format of version 1 (schema.c): it is brought up to date when it is opened, with nothing lost, and then
# has the schema of a new file. A store that is open with read_only stays as it is.
command -v python3 >/dev/null || skips "there is no python3"
ask_document
run tenon run count.yaml --thread "done"
run tenon run ask.yaml --thread asked $nodes
expect_code 5
run tenon memory put n k '{"likes": "pizza"}' --text "likes Pizza"
run tenon task create work --payload '{"goal": "pizza"}'
expect_code 0
run tenon thread list --json
cp "$work/out" threads.before
cat >old.py <<'PY'
import re
import sqlite3
import sys

database = sqlite3.connect(sys.argv[1])
rows = database.execute("SELECT id, collection, key, version, json, bytes, expires_at, found_by FROM records").fetchall()
if len(sys.argv) > 2:
    names = dict(database.execute("SELECT id, name FROM collections"))  # the numbers may differ
    schema = []
    for kind, name, sql in database.execute("SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'texts%'"):
        if found := re.match(r"entries_(\d+)_", name):
            name = name.replace(found[1], names[int(found[1])], 1)
            sql = re.sub(r"entries_\d+_|\d+$", names[int(found[1])], sql)
        schema.append((kind, name, sql))
    print(*sorted(schema), sep="\n")
    for row in database.execute("SELECT name, path, prefix, leads FROM members JOIN collections ON id = collection"
                                " ORDER BY name, path"):
        print(row)
    print(sorted(rows), database.execute("PRAGMA user_version").fetchone(), database.execute("PRAGMA quick_check").fetchone())
    sys.exit()
database.executescript("""
DROP TABLE spaces; DROP TABLE slots; DROP TABLE codes;
DROP VIEW records; DROP TABLE entries; DROP TABLE members; DROP TABLE collections;
CREATE TABLE records (id INTEGER PRIMARY KEY, collection TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL,
 json TEXT, bytes BLOB, expires_at INTEGER, found_by INTEGER NOT NULL, UNIQUE (collection, key));
CREATE INDEX records_expire ON records (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX records_1 ON records (json_extract(json, '$."updated_at"'), key) WHERE collection = 'threads';
PRAGMA user_version = 1;
""")
database.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
database.commit()
PY
python3 old.py kept.db show >new.schema
python3 old.py kept.db || fails "cannot make a file of version 1"
printf 'store: {use: sqlite, path: ./kept.db, read_only: true}\n' >read.yaml
run tenon thread list --config read.yaml
expect_code 1
expect_in err "was written by an older release (its schema has version 1, this release needs 3)"
run tenon thread list --json
expect_code 0
cmp -s "$work/out" threads.before || fails "the list of threads has changed"
python3 old.py kept.db show >upgraded.schema
diff new.schema upgraded.schema || fails "an upgraded file differs from a new one"
run tenon memory search n --query pizza
expect_code 0
expect_in out likes
run tenon thread list --config read.yaml
expect_code 0
run tenon run ask.yaml --thread asked $nodes --resume
expect_code 5
