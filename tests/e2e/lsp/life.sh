# The life of a connection: capabilities, encodings of positions, cancellation, shutdown and exit codes.
lsp_test life
