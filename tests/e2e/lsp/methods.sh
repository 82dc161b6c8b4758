# The methods of the host on the connection of an editor, plugins that are loaded meanwhile, several editors on one socket.
lsp_test methods
