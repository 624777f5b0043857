"""The sentences that a page shows after a form has done its work, by the code in the address."""

from typing import Final

NOTICES: Final[dict[str, str]] = {
    "signed-out": "You are signed out.",
    "password-changed": "Your password is changed. Your other sessions have ended.",
    "key-disabled": "The key is disabled. Requests with it are refused.",
    "role-changed": "The role is changed.",
    "person-disabled": "The person is disabled. Their sessions have ended.",
    "person-enabled": "The person may sign in again.",
    "audit-started": "The audit has started.",
    "batch-started": "The batch has started.",
    "job-canceled": "The job is canceled.",
    "job-cancel-requested": "The job stops at its next step.",
    "alert-acknowledged": "You have acknowledged the alert. It lasts until its cause is gone.",
    "page-cached": "The page is cached and young enough, so nothing was rendered.",
    "render-failed": "The last render failed a moment ago. Another one would end alike, so none was queued.",
    "render-queued": "The page is being rendered.",
    "warming": "The renders are being queued.",
    "crawl-started": "The crawl has begun.",
    "crawl-paused": "The crawl is paused. Pages that were being fetched are still stored.",
    "crawl-resumed": "The crawl goes on.",
    "crawl-stopped": "The crawl is stopped for good. Its pages stay.",
    "crawl-deleting": "The crawl is being deleted, with all its pages.",
    "audit-deleting": "The audit is deleted. What was crawled for it goes now.",
    "batch-deleting": "The batch is being deleted, with its results.",
    "tenant-deleting": "The tenant is being deleted, with everything that it has. Its keys are refused.",
    "memory-restored": "The earlier version is in force again, as a new one.",
    "memory-deleted": "It is deleted.",
    "domain-reset": "The host is tried again. Its failures and its robots.txt are forgotten.",
}
