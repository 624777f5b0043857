"""The sentences that a page shows after a form has done its work, by the code in the address."""

from typing import Final

NOTICES: Final[dict[str, str]] = {
    "signed-out": "You are signed out.",
    "password-changed": "Your password is changed. Your other sessions have ended.",
    "role-changed": "The role is changed.",
    "person-disabled": "The person is disabled. Their sessions have ended.",
    "person-enabled": "The person may sign in again.",
}
