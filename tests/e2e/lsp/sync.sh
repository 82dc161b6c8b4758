# Documents stay equal to the client's: incremental and full changes, untitled and reopened documents, line ends, limits.
lsp_test sync
