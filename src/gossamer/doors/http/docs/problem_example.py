"""Example documents of each kind of problem, for the documentation."""

from typing import Any, Final

from gossamer.problems import Problem, ProblemKind
from gossamer.settings.values import Money
from gossamer.web.pages.timestamps import iso
from gossamer.web.pay.x402 import BASE, Offer, PaidResource, terms

REQUEST_ID: Final = "wl_m5x7k2qa_a3b9c1"
_AMOUNT: Final = 5_000
_SECONDS: Final = 300
_PAY_TO: Final = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
_NOON: Final = 1_767_268_800.0


def document(kind: ProblemKind, public_url: str, instance: str) -> dict[str, Any]:
    """The body. A 402 is an offer too."""
    members = {**kind.extra}
    if kind.status == 402:
        details = {"quote": _quote(instance), **members.get("details", {})}
        members = {**_offer(kind, public_url, instance).members(), "details": details}
    return Problem(kind, kind.detail, **members).document(public_url, instance, REQUEST_ID)


def headers(kind: ProblemKind, public_url: str, instance: str) -> dict[str, str]:
    """The relevant headers of the example."""
    if kind.status == 402:
        return {"PAYMENT-REQUIRED": _offer(kind, public_url, instance).header()}
    return {}


def _offer(kind: ProblemKind, public_url: str, instance: str) -> Offer:
    resource = PaidResource(
        public_url + instance, "Fetch a page as clean content", "application/json", "Gossamer"
    )
    return Offer(resource, [terms(BASE, _PAY_TO, _AMOUNT, _SECONDS, {})], kind.extra["error"], {})


def _quote(instance: str) -> dict[str, Any]:
    return {
        "endpoint": instance,
        "requestHash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "amount": str(_AMOUNT),
        "price": str(Money(_AMOUNT)),
        "cached": False,
        "expiresAt": iso(_NOON + _SECONDS),
    }
