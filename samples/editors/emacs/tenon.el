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

(defvar tenon-mode-map (make-sparse-keymap)
  "Keys of `tenon-mode'.")

;; A mode can be derived only from one that exists: the package yaml-mode, or the mode of Emacs 29 if its grammar is
;; installed.
(eval `(define-derived-mode tenon-mode
         ,(cond ((require 'yaml-mode nil t) 'yaml-mode)
                ((and (fboundp 'treesit-ready-p) (treesit-ready-p 'yaml t)) 'yaml-ts-mode)
                (t 'text-mode))
         "Tenon"
         "A mode for documents of Tenon."
         (setq-local comment-start "# ")
         (eglot-ensure))
      t)

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
