"""Fingerprints: texts that say nearly the same are near, others are not, and neighbours are found."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.web.crawl.fingerprint import MAX_WORDS, SAMPLE, Neighbours, fingerprint, is_near

LETTERS = "etaoinshrdlcumwfgypbvk"  # words with p or d, which come first, are a tenth of all
VOCABULARY = [f"{LETTERS[number % len(LETTERS)]}word{number}" for number in range(20_000)]
OFTEN = [1 / rank for rank in range(1, len(VOCABULARY) + 1)]  # Zipf's law


def prose(seed: int, words: int) -> list[str]:
    return random.Random(seed).choices(VOCABULARY, OFTEN, k=words)


def changed(words: list[str], count: int, seed: int) -> list[str]:
    chance, new = random.Random(seed), list(words)
    for at in chance.sample(range(len(words)), count):
        new[at] = chance.choice(VOCABULARY)
    return new


def printed(words: list[str]) -> str:
    return fingerprint(" ".join(words))


def test_it_is_the_same_in_every_process() -> None:
    assert fingerprint("the quick brown fox jumps over the lazy dog") == "00008624000000200800000000000002"


@pytest.mark.parametrize("words", [300, 500, 1_000, 3_000, 8_000])
def test_pages_with_ten_words_changed_are_near_and_all_others_are_not(words: int) -> None:
    """All of 140 pages find their twin among 140 others, and nothing else."""
    originals = [prose(seed, words) for seed in range(140)]
    neighbours = Neighbours(1_000)
    for number, text in enumerate(originals):
        assert neighbours.find(printed(text)) is None
        neighbours.add(printed(text), str(number))
    for number, text in enumerate(originals):
        assert set(neighbours.near(printed(changed(text, 10, seed=number)))) == {str(number)}


@pytest.mark.parametrize(
    ("units", "between", "length"),
    [
        ([f"{'оепдснвтркмилабзгуя'[at % 19]}слово{at}" for at in range(20_000)], " ", 2_000),
        ([f"{'אבגדהוזחטילמנסעפק'[at % 17]}מילה{at}" for at in range(20_000)], " ", 2_000),
        ([chr(0x4E00 + 7 * at % 20_000) for at in range(2_500)], "", 8_000),
        ([chr(0x3041 + at) for at in range(80)] + [chr(0x4E00 + 7 * at) for at in range(2_000)], "", 8_000),
        ([chr(0x4E00 + 7 * at % 20_000) for at in range(2_500)], "", 400),
    ],
    ids=["Cyrillic", "Hebrew", "Chinese", "Japanese", "short Chinese"],
)
def test_the_same_holds_for_other_scripts(units: list[str], between: str, length: int) -> None:
    often = [1 / rank for rank in range(3, len(units) + 3)]
    neighbours = Neighbours(1_000)
    for number in range(100):
        chance = random.Random(number)
        text = chance.choices(units, often, k=length)
        assert neighbours.find(fingerprint(between.join(text))) is None
        neighbours.add(fingerprint(between.join(text)), str(number))
        for at in chance.sample(range(length), max(1, length // 400)):
            text[at] = chance.choice(units)
        assert set(neighbours.near(fingerprint(between.join(text)))) == {str(number)}


def test_a_text_without_words_that_come_first_is_sampled_from_its_other_pairs() -> None:
    words = [word for word in prose(5, 4_000) if word[0] not in "pd"]
    assert is_near(printed(words), printed(changed(words, 10, seed=5)))
    assert not is_near(printed(words), printed([word for word in prose(6, 4_000) if word[0] not in "pd"]))


def test_texts_with_just_enough_and_just_too_few_words_that_come_first_are_compared() -> None:
    words, first = [f"w{number}" for number in range(1_000)], [f"p{number}" for number in range(SAMPLE + 2)]
    texts = [printed([*words[:500], *first[:count], *words[500:]]) for count in range(SAMPLE - 2, SAMPLE + 3)]
    assert all(is_near(one, other) for one in texts for other in texts)


def test_a_word_put_in_or_left_out_changes_little() -> None:
    words = prose(1, 400)
    assert is_near(printed(words), printed([*words[:100], "another", *words[100:]]))
    assert is_near(printed(words), printed([*words[:100], *words[101:]]))


def test_pages_that_share_half_of_their_text_are_not_near() -> None:
    frame = prose(0, 500)
    pages = [printed(frame + prose(seed, 500)) for seed in range(1, 60)]
    assert not any(is_near(one, other) for at, one in enumerate(pages) for other in pages[:at])


def test_the_same_words_in_another_order_are_another_text() -> None:
    words = prose(2, 400)
    assert not is_near(printed(words), printed(sorted(words)))


def test_white_space_does_not_count() -> None:
    assert fingerprint("a  b\n\tc d") == fingerprint("a b c d")


def test_scripts_without_spaces_are_compared_by_their_characters() -> None:
    chance = random.Random(3)
    text = "".join(chr(0x4E00 + chance.randrange(900)) for _ in range(500))
    assert is_near(fingerprint(text), fingerprint(text[:250] + "一" + text[251:]))
    assert not is_near(fingerprint(text), fingerprint("".join(chr(0x5E00 + at) for at in range(500))))


def test_short_texts_are_near_only_if_they_say_the_same() -> None:
    assert is_near(fingerprint("page not found"), fingerprint("page  not found"))
    assert not is_near(fingerprint("page not found"), fingerprint("page was removed"))
    assert fingerprint("one") not in ("", fingerprint("two"))


def test_no_text_is_near_to_nothing() -> None:
    assert fingerprint("") == fingerprint(" \n") == ""
    assert not is_near("", "")
    neighbours = Neighbours(10)
    neighbours.add("", "empty")
    assert (len(neighbours), neighbours.find("")) == (0, None)


def test_the_longest_texts_are_bounded() -> None:
    words = [f"w{number}" for number in range(3 * MAX_WORDS)]
    assert printed(words) == printed(words[:MAX_WORDS]) != ""
    assert fingerprint("".join(chr(0x4E00 + at % 20_000) for at in range(100_000))) != ""


def test_a_text_that_repeats_itself_is_sampled_whole() -> None:
    rare = [f"rare{number}" for number in range(SAMPLE)]
    assert printed(["again"] * 5_000 + rare) == printed(["again"] * 9_000 + rare)


@given(st.text())
def test_any_text_has_one_and_is_near_to_itself(text: str) -> None:
    found = fingerprint(text)
    assert is_near(found, found) == bool(found) == bool(text.split())
    assert len(found) in (0, 32)


bits = st.sets(st.integers(0, 127), min_size=62, max_size=66)


@given(bits, st.sets(st.integers(0, 127), max_size=10))
def test_neighbours_finds_whatever_is_near(one: set[int], flips: set[int]) -> None:
    number, other = (f"{sum(1 << bit for bit in each):032x}" for each in (one, one ^ flips))
    neighbours = Neighbours(10)
    neighbours.add(number, "first")
    assert neighbours.find(other) == ("first" if is_near(number, other) else None)


def test_neighbours_forgets_what_is_too_much() -> None:
    neighbours = Neighbours(2)
    texts = [printed(prose(seed, 100)) for seed in range(3)]
    for number, text in enumerate(texts):
        neighbours.add(text, str(number))
    assert len(neighbours) == 2
    assert [neighbours.find(text) for text in texts] == ["0", "1", None]
