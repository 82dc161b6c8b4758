# `tenon lsp --connect`: an editor of a host that runs sees the plugins that are loaded into it.
run tenon lsp --connect nobody
expect_code 1 && expect_in err 'start a host there with `tenon serve --socket nobody`'
for option in --tools --no-config "--plugins ."; do
    # shellcheck disable=SC2086 # the option, in words
    run tenon lsp --connect nobody $option
    expect_code 2 && expect_in err 'cannot be used with --connect'
done
lsp_test connect
