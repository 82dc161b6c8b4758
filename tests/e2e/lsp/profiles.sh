# pytest-lsp, once for each client whose capabilities it knows: Neovim, Emacs, VS Code.
lsp_packages
editor_files
export TENON
run timeout 120 python3 -m pytest -q -p no:cacheprovider --tb=short -W error::pytest_lsp.LspSpecificationWarning \
    -o asyncio_default_fixture_loop_scope=function "$SOURCE/tests/e2e/lsp/profiles.py"
expect_code 0
