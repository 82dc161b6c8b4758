# `tenon plugin check` of a store: the suite, a killed process, two processes. tests/plugins/bad_store.c has the defects.
[ -z "$SANITIZE" ] || skips "a sanitizer's report is not what the check finds"
# In memory if possible, because the suite waits for the disk at every commit.
TMPDIR=$(mktemp -d -p /dev/shm tenon-check-XXXXXX 2>/dev/null || mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR" "$work"' EXIT
echo 'plugins: {drafts: [acme.folder]}' >tenon.yaml
defect() {
    cp "$(plugin bad_store)" "$1.so"
    run tenon plugin check "$1.so" --timeout 120
}
defect none
expect_code 0 && expect_in err "no problems found" && expect_not_in err note
defect wrong
expect_code 4 && expect_in err "error[STORE]" && expect_in err 'search.txt: `words, in any case and order`: `query {"search"' && expect_in err "; found {"
defect lenient
expect_code 0 && expect_in err "warning[STORE_LENIENT]" && expect_in err "wrong.txt: " && expect_not_in err "error["
defect crashes
expect_code 4 && expect_in err "error[CRASHED]" && expect_in err "the store had to run the cases of share/tenon/store/conformance"
defect late
expect_code 4 && expect_in err "batches are lost whose commit had returned"
defect half
expect_code 4 && expect_in err "each batch had one of both: a batch must be applied completely or not at all"
defect away
expect_code 4 && expect_in err "error[STORE]: isolated: " && expect_in err "STORE_READ_ONLY"
defect alone
expect_code 4 && expect_in err "a commit must see the commits of other processes"
[ -z "$(ls "$TMPDIR")" ] || fails "the check left its stores behind"
# A program is isolated, and its clock is the real one.
if command -v python3 >"$work/which"; then
    cp "$SOURCE/samples/python/store.py" "$SOURCE/samples/python/store.py.tenon.json" .
    run tenon plugin check store.py --allow-drafts --timeout 120
    expect_code 0 && expect_in err "no problems found" && expect_in err "note[PROGRAM]"
fi
run tenon plugin check "$BINARY/lib/tenon/plugins/memory.so"
expect_code 0 && expect_in err "note[STORE_WITHOUT_FILES]" && expect_in err "no problems found"
