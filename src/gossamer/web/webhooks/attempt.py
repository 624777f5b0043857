"""Attempts to deliver an event, and how they ended."""

from enum import StrEnum

from msgspec import Struct


class DeliveryState(StrEnum):
    WAITING = "waiting"  # to be sent, or sent again
    DELIVERED = "delivered"
    GIVEN_UP = "given_up"  # a dead letter, which can be sent again


class AttemptReason(StrEnum):
    """Why an attempt ended as it did."""

    DELIVERED = "delivered"
    STATUS = "status"  # an answer that is not 2xx
    GONE = "gone"  # 410: nobody wants to hear of this again
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    FORBIDDEN = "forbidden"  # the address may not be asked
    NOTHING_TO_TELL = "nothing_to_tell"  # what it was about is gone, or is of no interest to this receiver
    DISABLED = "disabled"  # the endpoint was, before it was sent
    EXPIRED = "expired"  # it waited for too long behind others that failed
    DEFECT = "defect"  # on our side

    @property
    def is_good(self) -> bool:
        return self in (AttemptReason.DELIVERED, AttemptReason.NOTHING_TO_TELL)


class DisabledReason(StrEnum):
    """Why an endpoint hears nothing."""

    ASKED = "asked"  # by its owner
    GONE = "gone"  # the receiver answered 410
    FAILING = "failing"  # for days


class DeliveryAttempt(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One attempt, as it is stored with its delivery."""

    at: int  # milliseconds
    reason: AttemptReason
    detail: str = ""  # in words
    duration_ms: int = 0
    status: int | None = None
    answer: str = ""  # the beginning, without secrets
    retry_after: int | None = None  # seconds, as the receiver asked
