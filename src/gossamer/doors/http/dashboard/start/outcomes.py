"""Outcomes in plain words: what a page turned out to be, why, and what to do about it."""

from collections.abc import Mapping
from typing import Final

from gossamer.web.outcome.outcome import Outcome

_OUTCOMES: Final[Mapping[Outcome, str]] = {
    Outcome.OK: "This is the page that was asked for.",
    Outcome.BLOCKED: "The site did not let us in. What came back is its wall, not the page.",
    Outcome.SOFT_404: "The page does not exist, although its server answers as if it did.",
    Outcome.LOGIN_WALL: "The page is behind a login.",
    Outcome.PARKED: "There is no site at this address yet, only a placeholder.",
    Outcome.EMPTY: "There is nothing to read on this page.",
    Outcome.ERROR: "The site answered with an error, or reports one in place of the page.",
}
_REASONS: Final[Mapping[str, str]] = {
    "challenge": "It asks visitors to prove that they are people.",
    "captcha": "It shows a captcha.",
    "rate_limited": "It says that there were too many requests. Wait a while before the next one.",
    "access_denied": "It says that access is denied.",
    "consent": "It sends visitors to a page that asks for consent first.",
    "legal_reasons": "It withholds the page for legal reasons.",
    "authentication_required": "It asks for a user name and a password.",
    "payment_required": "It asks for a payment.",
    "not_found": "It says that there is no such page. Check the address.",
    "gone": "It says that the page is gone for good.",
    "unavailable": "It says that it is not available now. Try again later.",
    "server_error": "The fault is on its side. Try again later.",
    "database_error": "It cannot reach its database. Try again later.",
    "script_error": "A program of the site failed. Try again later.",
    "http_error": "The status says more.",
    "domain_parked": "The domain is parked.",
    "domain_for_sale": "The domain is for sale.",
    "default_page": "It is the default page of a web server.",
    "no_site": "Its host knows no site of this name.",
    "single_sign_on": "It sends visitors to an identity provider.",
    "login_form": "It shows a login form.",
    "login_redirect": "It sends visitors to its login.",
    "login_needed": "It asks visitors to sign in.",
    "paywall": "It shows a few sentences and asks for a subscription.",
    "no_body": "Its answer was empty.",
    "no_text": "It has no text.",
    "scanned": "Its pages are pictures of text, which are read if tesseract is installed on the server.",
    "script_needed": "Its scripts fill it in. Choose a browser: automatic or always.",
    "meta_refresh": "It only leads on to another page.",
    "frames": "It consists of frames, each a page of its own.",
}


def explain(outcome: str, reason: str = "") -> str:
    """The outcome in a sentence, and its reason in another."""
    known = [_OUTCOMES[Outcome(outcome)]] if outcome in _OUTCOMES else []
    if outcome != Outcome.OK and reason in _REASONS:
        known.append(_REASONS[reason])
    return " ".join(known)
