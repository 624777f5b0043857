"""Which media type an `Accept` header likes best (RFC 9110, 12.5.1)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.doors.http.core.negotiation import choose_media_type

OFFERED = ["application/json", "image/png", "image/webp", "image/jpeg"]


@pytest.mark.parametrize(
    ("accept", "liked"),
    [
        (None, "application/json"),
        ("", "application/json"),
        ("*/*", "application/json"),
        ("image/png", "image/png"),
        ("IMAGE/PNG", "image/png"),
        ("image/*", "image/png"),
        ("image/jpeg", "image/jpeg"),
        ("image/avif,image/webp,*/*;q=0.8", "image/webp"),
        ("image/jpeg;q=0.5, image/webp;q=0.9", "image/webp"),
        ("image/png;q=0.5, application/json;q=0.6", "application/json"),
        ("image/png, application/json", "application/json"),
        ("*/*;q=0.1, image/png;q=0", "application/json"),
        ("image/*, image/png;q=0", "image/webp"),
        ("application/json;q=0, */*", "image/png"),
        ("text/html", "application/json"),
        ("image/png;q=0", "application/json"),
        ("image/png;q=nonsense", "application/json"),
        ("image/png;q=nan", "application/json"),
        ("image/png;q=9, application/json", "application/json"),
        (" image/png ; q=1.0 ; x=y ", "image/png"),
        (";,;q=,/", "application/json"),
    ],
)
def test_rfc9110_accept(accept: str | None, liked: str) -> None:
    assert choose_media_type(accept, OFFERED) == liked


@given(st.text(alphabet="image/png*;q=0.19,json ", max_size=80))
def test_whatever_is_sent_one_of_ours_is_answered(accept: str) -> None:
    assert choose_media_type(accept, OFFERED) in OFFERED
