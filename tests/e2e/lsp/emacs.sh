# Emacs with samples/editors/emacs and Eglot: a mistake, hover, completion, its repair, and the end of the server.
command -v emacs >/dev/null || skips "emacs is not installed"
editor_files
export SETTINGS=$SAMPLES/editors/emacs/tenon.el TENON
emacs --batch --eval '(progn (require (quote package)) (package-initialize) (kill-emacs (if (require (quote eglot) nil t) 0 1)))' \
    2>/dev/null || skips "eglot is not installed"
run timeout 120 emacs --batch -l "$SOURCE/tests/e2e/lsp/emacs.el"
expect_code 0
run emacs --batch --eval '(progn (package-initialize) (setq byte-compile-error-on-warn t byte-compile-warnings (quote (not docstrings)) byte-compile-dest-file-function (lambda (_) "/dev/null")) (unless (byte-compile-file (getenv "SETTINGS")) (kill-emacs 1)))'
expect_code 0
