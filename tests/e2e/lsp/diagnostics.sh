# Diagnostics: pushed and pulled, of half-written and of huge documents, and of documents inside documents.
lsp_test diagnostics
