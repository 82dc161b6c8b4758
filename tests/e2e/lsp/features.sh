# Every feature that the server announces, on samples: what it answers is valid, and right where this test knows the answer.
lsp_test features
