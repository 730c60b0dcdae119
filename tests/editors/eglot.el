;; -*- lexical-binding: t -*-
;; Opens FILE with Eglot, types TEXT at its end, completes, and writes the buffer to OUT.
(package-initialize)
(require 'eglot)
(setq eglot-sync-connect 30)
(add-to-list 'eglot-server-programs
             `(python-mode . (,@(split-string (getenv "SERVER") "\n")
                              :initializationOptions (:serverUrl ,(getenv "URL")))))
(find-file (getenv "FILE"))
(apply #'eglot--connect (eglot--guess-contact))
(defvar codeserve-state nil)
(cl-defmethod eglot-handle-notification (_server (_method (eql codeserve/status)) &key state &allow-other-keys)
  (setq codeserve-state state))
(with-timeout (30 (error "not connected: %s" codeserve-state))
  (while (not (equal codeserve-state "ready")) (accept-process-output nil 0.05)))
(goto-char (point-max))
(insert (getenv "TEXT"))
(completion-at-point)
(let ((coding-system-for-write 'utf-8-unix)) (write-region nil nil (getenv "OUT")))
