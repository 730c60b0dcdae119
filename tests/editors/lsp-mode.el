;; -*- lexical-binding: t -*-
;; Opens FILE with lsp-mode, types TEXT at its end, completes, and writes the buffer to OUT.
(package-initialize)
(require 'lsp-mode)
(require 'lsp-completion)
(defvar codeserve-state nil)
(setq lsp-auto-guess-root t
      lsp-session-file (concat (getenv "OUT") ".session")
      lsp-enable-snippet nil
      lsp-client-packages nil
      lsp-response-timeout 30)
(lsp-register-client
 (make-lsp-client :new-connection (lsp-stdio-connection (split-string (getenv "SERVER") "\n"))
                  :activation-fn (lambda (&rest _) t)
                  :initialization-options (list :serverUrl (getenv "URL"))
                  :notification-handlers
                  (lsp-ht ("codeserve/status"
                           (lambda (_workspace params) (setq codeserve-state (lsp-get params :state)))))
                  :server-id 'codeserve))
(find-file (getenv "FILE"))
(lsp)
(with-timeout (30 (error "not connected: %s" codeserve-state))
  (while (not (equal codeserve-state "ready")) (accept-process-output nil 0.05)))
(lsp-completion-mode 1)
(goto-char (point-max))
(insert (getenv "TEXT"))
;; What company-mode and corfu do with the entry that is picked.
(let* ((found (lsp-completion-at-point))
       (start (nth 0 found))
       (end (nth 1 found))
       (picked (car (all-completions (buffer-substring start end) (nth 2 found)))))
  (delete-region start end)
  (insert picked)
  (funcall (plist-get (nthcdr 3 found) :exit-function) picked 'finished))
(let ((coding-system-for-write 'utf-8-unix)) (write-region nil nil (getenv "OUT")))
