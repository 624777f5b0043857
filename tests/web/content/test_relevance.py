"""How much a page is about what is asked for."""

from gossamer.web.search.relevance import relevance

ROPE = [("silk", "rope")]
LONG = "word " * 2_000


def test_titles_say_more_than_descriptions_and_these_more_than_texts() -> None:
    scores = [
        relevance("silk rope", "", "x", ROPE),
        relevance("", "silk rope", "x", ROPE),
        relevance("", "", "x silk rope", ROPE),
        relevance("", "", f"{LONG} silk rope", ROPE),
        relevance("", "", "silken rope silk", ROPE),
    ]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 5
    assert scores[-1] == 0.0


def test_to_say_it_again_says_less_each_time_and_never_as_much_as_another_word() -> None:
    once, twice, often = (
        relevance("", "", "silk and " * times, [("silk",), ("rope",)]) for times in (1, 2, 100)
    )
    both = relevance("", "", "silk rope", [("silk",), ("rope",)])
    assert 0 < once < twice < often < 1
    assert twice - once < once
    assert both > twice
