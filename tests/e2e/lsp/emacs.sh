# Emacs with samples/editors/emacs and Eglot: a mistake, hover, completion, its repair, and the end of the server.
command -v emacs >/dev/null || skips "emacs is not installed"
editor_files
export SETTINGS=$SAMPLES/editors/emacs/tenon.el TENON
emacs --batch --eval '(progn (require (quote package)) (package-initialize) (kill-emacs (if (require (quote eglot) nil t) 0 1)))' \
    2>/dev/null || skips "eglot is not installed"
run timeout 120 emacs --batch -l "$SOURCE/tests/e2e/lsp/emacs.el"
expect_code 0
run emacs --batch --eval '(progn (package-initialize) (setq byte-compile-error-on-warn t byte-compile-warnings (quote (not docstrings)) byte-compile-dest-file-function (lambda (_) (expand-file-name "settings.elc"))) (unless (byte-compile-file (getenv "SETTINGS")) (kill-emacs 1)))'
expect_code 0

# With a mode for YAML, it is derived from it, and has its own keys.
cat >more.el <<'E'
(package-initialize)
(define-derived-mode yaml-mode text-mode "YAML" (setq-local indent-tabs-mode nil))
(provide 'yaml-mode)
(load (getenv "SETTINGS") nil t)
(find-file (getenv "DOCUMENT"))
(unless (and (eq major-mode 'tenon-mode) (derived-mode-p 'yaml-mode) (equal comment-start "# ")
             (eq (key-binding (kbd "C-c C-c")) 'tenon-run))
  (kill-emacs 1))
(find-file (getenv "OTHER"))
(when (derived-mode-p 'tenon-mode) (kill-emacs 2))
E
run emacs --batch -l more.el
expect_code 0
