# Neovim with samples/editors/neovim: a mistake, hover, completion, its repair, and the end of the server.
command -v nvim >/dev/null || skips "neovim is not installed"
editor_files
export SETTINGS=$SAMPLES/editors/neovim/tenon.lua TENON
run timeout 120 nvim --headless -u NONE -i NONE -n -c "luafile $SOURCE/tests/e2e/lsp/neovim.lua"
expect_code 0
