"""The sentences that a page shows after a form has done its work, by the code in the address."""

from typing import Final

NOTICES: Final[dict[str, str]] = {
    "signed-out": "You are signed out.",
    "audit-started": "The audit has started.",
    "job-canceled": "The job is canceled.",
    "job-cancel-requested": "The job stops at its next step.",
}
