"""SimHash: small changes make small distances, others large ones; and the first text near to another."""

import random

from hypothesis import given
from hypothesis import strategies as st

from gossamer.web.simhash import MOST_FEATURES, NEAR, Neighbours, distance, is_near, simhash


def prose(seed: int, words: int = 400) -> list[str]:
    chosen = random.Random(seed)
    return [f"word{chosen.randrange(5_000)}" for _ in range(words)]


def test_it_is_the_same_in_every_process() -> None:
    assert simhash("the quick brown fox jumps over the lazy dog") == 7090601373588342822


def test_what_says_nearly_the_same_is_near() -> None:
    for seed in range(20):
        words = prose(seed)
        changed = [*words[:200], "another", *words[201:]]
        assert is_near(simhash(" ".join(words)), simhash(" ".join(changed))), seed


def test_what_says_something_else_is_far() -> None:
    numbers = [simhash(" ".join(prose(seed))) for seed in range(60)]
    assert min(distance(one, other) for one in numbers for other in numbers if one != other) > 2 * NEAR


def test_white_space_does_not_count() -> None:
    assert simhash("a  b\n\tc d") == simhash("d c b a") == simhash("a b c d d a")


def test_scripts_without_spaces_are_compared_by_pairs() -> None:
    chosen = random.Random(3)
    text = "".join(chr(0x4E00 + chosen.randrange(900)) for _ in range(500))
    assert is_near(simhash(text), simhash(text[:250] + "一" + text[251:]))
    assert not is_near(simhash(text), simhash("".join(chr(0x5E00 + at) for at in range(500))))


def test_no_text_is_near_to_nothing() -> None:
    assert simhash("") == simhash(" \n") == 0
    assert not is_near(0, 0)
    neighbours = Neighbours(10)
    neighbours.add(0, "empty")
    assert (len(neighbours), neighbours.find(0)) == (0, None)


def test_the_longest_texts_are_bounded() -> None:
    words = [f"w{number}" for number in range(3 * MOST_FEATURES)]
    assert simhash(" ".join(words)) == simhash(" ".join(words[:MOST_FEATURES])) != 0
    assert simhash("".join(chr(0x4E00 + at % 20_000) for at in range(100_000))) != 0


@given(st.text())
def test_it_fits_into_64_bits_with_sign(text: str) -> None:
    assert -(2**63) <= simhash(text) < 2**63
    assert distance(simhash(text), simhash(text)) == 0


@given(st.integers(-(2**63), 2**63 - 1).filter(bool), st.sets(st.integers(0, 63), max_size=NEAR))
def test_neighbours_finds_whatever_is_near(number: int, bits: set[int]) -> None:
    other = number
    for bit in bits:
        other ^= 1 << bit if bit < 63 else -(1 << 63)
    neighbours = Neighbours(10)
    neighbours.add(number, "first")
    assert -(2**63) <= other < 2**63
    assert neighbours.find(other) == ("first" if other else None)


def test_neighbours_forgets_what_is_too_much_and_finds_nothing_far() -> None:
    neighbours = Neighbours(2)
    for number, key in ((0b1111, "a"), (1 << 40, "b"), (~0, "c")):
        neighbours.add(number, key)
    assert len(neighbours) == 2
    assert neighbours.find(0b11110000) is None
    assert neighbours.find(-1) is None
    assert neighbours.find(1 << 40 | 1) == "b"
