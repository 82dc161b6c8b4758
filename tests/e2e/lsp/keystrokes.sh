# Every sample and every document of the corpus, typed character by character.
lsp_test keystrokes
