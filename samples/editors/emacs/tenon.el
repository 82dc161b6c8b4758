;;; tenon.el --- Tenon's language server for Emacs, by Eglot  -*- lexical-binding: t -*-

;; Copy it to a folder of `load-path', and write (require 'tenon) into the init file. It needs Eglot: it is part of Emacs 29;
;; for 28, install it from GNU ELPA.
;;
;; `tenon-mode' is for YAML files whose name ends with .adl.yaml or whose text is a document of Tenon. It is derived from
;; a mode for YAML if there is one, and starts the server.

;;; Code:

(require 'eglot)

(defgroup tenon nil "Documents of Tenon." :group 'languages)

(defcustom tenon-program "tenon"
  "The program."
  :type 'string)

(defun tenon-document-p ()
  "True if the buffer begins like a document: with the sections that only a document has."
  (and buffer-file-name
       (string-match-p "\\.ya?ml\\'" buffer-file-name)
       (save-excursion
         (goto-char (point-min))
         (re-search-forward "^nodes:" 100000 t))
       (save-excursion
         (goto-char (point-min))
         (re-search-forward "^\\(edges\\|agent\\|channels\\):" 100000 t))))

(define-derived-mode tenon-mode
  text-mode "Tenon"
  "A mode for documents of Tenon."
  ;; With a mode for YAML, its colours and indentation.
  (let ((yaml (seq-find #'fboundp '(yaml-mode yaml-ts-mode))))
    (when yaml
      (delay-mode-hooks (funcall yaml))
      (setq major-mode 'tenon-mode
            mode-name "Tenon")))
  (setq-local comment-start "# ")
  (eglot-ensure))

(defun tenon-run ()
  "Run the document of this buffer."
  (interactive)
  (save-buffer)
  (compile (format "%s run %s" tenon-program (shell-quote-argument buffer-file-name))))

(define-key tenon-mode-map (kbd "C-c C-c") #'tenon-run)

(add-to-list 'auto-mode-alist '("\\.adl\\.ya?ml\\'" . tenon-mode))
(add-to-list 'magic-mode-alist '(tenon-document-p . tenon-mode))
(add-to-list 'eglot-server-programs
             `((tenon-mode :language-id "adl") . ,(lambda (&rest _) (list tenon-program "lsp"))))

(provide 'tenon)
;;; tenon.el ends here
