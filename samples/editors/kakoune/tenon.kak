# tenon.kak - Tenon's language server for Kakoune, by kakoune-lsp 18 or later.
#
# Copy it to ~/.config/kak/autoload/tenon.kak. In files that are no documents of Tenon the server stays silent.

hook -group lsp-filetype-yaml global BufSetOption filetype=yaml %{
    set-option buffer lsp_servers %{
        [tenon]
        root_globs = ["tenon.yaml", ".git", ".hg"]
        command = "tenon"
        args = ["lsp"]
    }
}
