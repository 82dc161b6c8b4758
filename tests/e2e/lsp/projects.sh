# Projects: each document uses the tenon.yaml above it, which may change, and which is checked itself.
lsp_test projects
