# Completion, hover, symbols and folding in a tenon.yaml.
lsp_test config
