;;; emacs.el --- opens a document with a mistake with samples/editors/emacs, and repairs it  -*- lexical-binding: t -*-

(require 'package)
(package-initialize)
(require 'eglot)
(load (getenv "SETTINGS") nil t)
(setq tenon-program (getenv "TENON")
      eglot-autoshutdown nil
      eglot-sync-connect 60
      eglot-send-changes-idle-time 0.01
      make-backup-files nil)

(defun fail (&rest arguments)
  (princ (concat "failed: " (apply #'format arguments) "\n") #'external-debugging-output)
  (kill-emacs 1))

(defun wait (what condition)
  "Let Emacs work until CONDITION is true."
  (let ((limit (+ (float-time) 60)))
    (while (not (funcall condition))
      (when (> (float-time) limit) (fail "waited for %s" what))
      (accept-process-output nil 0.01)
      (flymake-start nil))))

(defun ask (method)
  (jsonrpc-request (eglot--current-server-or-lose) method (eglot--TextDocumentPositionParams) :timeout 60))

(condition-case why
    (progn
      (find-file (getenv "DOCUMENT"))
      (unless (eq major-mode 'tenon-mode) (fail "the mode is %s" major-mode))
      (apply #'eglot--connect (eglot--guess-contact)) ; what eglot-ensure does after a command
      (wait "the server" (lambda () (eglot-current-server)))
      (wait "a diagnostic" (lambda () (= (length (flymake-diagnostics)) 1)))
      (let ((found (car (flymake-diagnostics))))
        (goto-char (point-min))
        (search-forward "passthroug}")
        (unless (and (= (flymake-diagnostic-beg found) (match-beginning 0))
                     (= (flymake-diagnostic-end found) (1- (match-end 0)))
                     (string-match-p "unknown node type" (flymake-diagnostic-text found)))
          (fail "the diagnostic is %S" found)))
      (when (eglot--server-capable :hoverProvider)
        (goto-char (point-min))
        (search-forward "channels")
        (unless (plist-get (ask :textDocument/hover) :contents) (fail "no hover")))
      (goto-char (point-min))
      (search-forward "passthroug}")
      (backward-char)
      (when (eglot--server-capable :completionProvider)
        (let ((items (plist-get (ask :textDocument/completion) :items)))
          (unless (seq-some (lambda (item) (equal (plist-get item :label) "passthrough")) items)
            (fail "`passthrough' is not offered: %S" items))))
      (insert "h")
      (eglot--signal-textDocument/didChange)
      (wait "no diagnostics" (lambda () (null (flymake-diagnostics))))
      (let ((server (eglot-current-server)))
        (eglot-shutdown server)
        (wait "the end of the server" (lambda () (not (jsonrpc-running-p server))))))
  (error (fail "%S" why)))
(set-buffer-modified-p nil)
(kill-emacs 0)
