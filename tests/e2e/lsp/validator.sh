# The validator of messages, with messages that are right and ones that are wrong.
lsp_test validator
