# Draft interfaces are allowed per plugin in tenon.yaml, in process and isolated.
node test.draft
for isolate in "" "--isolate test.draft"; do
    rm -f tenon.yaml
    run tenon run test.draft.yaml -P "$TEST_PLUGINS/draft" $isolate
    expect_code 4 && expect_in err '(a draft: allow it with `plugins: {drafts: [test.draft]}` in tenon.yaml, or --allow-drafts)'
    printf 'plugins: {drafts: test.good}\n' >tenon.yaml
    run tenon run test.draft.yaml -P "$TEST_PLUGINS/draft" -P "$TEST_PLUGINS/good" $isolate
    expect_code 4 && expect_in err "drafts: [test.draft]"
    printf 'plugins: {drafts: [test.draft]}\n' >tenon.yaml
    run tenon run test.draft.yaml -P "$TEST_PLUGINS/draft" $isolate
    expect_code 0 && expect_out "{}"
done
run tenon check test.draft.yaml -P "$TEST_PLUGINS/draft"
expect_code 0
run tenon plugin check "$(plugin draft)"
expect_code 0 && expect_in err "note[DRAFT]: " && expect_in err "which is allowed here"
printf 'plugins: {drafts: [test.daft]}\n' >tenon.yaml
run tenon run test.draft.yaml -P "$TEST_PLUGINS/draft"
expect_code 4 && expect_in err 'plugins.drafts: unknown plugin `test.daft`; did you mean `test.draft`?'
