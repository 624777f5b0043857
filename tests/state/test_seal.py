import pytest

from gossamer.state.seal import NONCE_BYTES, TAG_BYTES, BrokenSeal, Seal

KEY, OTHER_KEY = bytes(32), bytes(31) + b"\1"


def test_what_was_sealed_is_opened_with_the_same_key_about_the_same() -> None:
    sealed = Seal(KEY).seal(b"clear", "a place")
    assert Seal(KEY).open(sealed, "a place") == b"clear"
    assert len(sealed) == len(b"clear") + NONCE_BYTES + TAG_BYTES
    assert b"clear" not in sealed


def test_no_two_seals_are_alike() -> None:
    assert Seal(KEY).seal(b"clear", "a place") != Seal(KEY).seal(b"clear", "a place")


@pytest.mark.parametrize("at", [0, NONCE_BYTES, -1])
def test_a_change_breaks_it(at: int) -> None:
    sealed = bytearray(Seal(KEY).seal(b"clear", "a place"))
    sealed[at] ^= 1
    with pytest.raises(BrokenSeal):
        Seal(KEY).open(bytes(sealed), "a place")


@pytest.mark.parametrize(("key", "about"), [(OTHER_KEY, "a place"), (KEY, "another place")])
def test_another_key_and_another_subject_do_not_open_it(key: bytes, about: str) -> None:
    with pytest.raises(BrokenSeal):
        Seal(key).open(Seal(KEY).seal(b"clear", "a place"), about)


@pytest.mark.parametrize("length", [0, 5, NONCE_BYTES, NONCE_BYTES + TAG_BYTES - 1])
def test_what_is_too_short_is_broken(length: int) -> None:
    with pytest.raises(BrokenSeal):
        Seal(KEY).open(bytes(length), "a place")
