"""Noise: what differs without meaning anything, and what must never be taken for it."""

import pytest
from msgspec.structs import replace

from gossamer.web.monitors.diff.text_diff import DiffRow, TextDiff, diff_texts
from gossamer.web.monitors.noise.noise_kind import ALL_NOISE, NoiseKind, NoiseOptions
from gossamer.web.monitors.noise.noise_lines import SeenText

DAY = 86_400.0
LONG = "who are elected for four years and meet in public on the first Monday"
SEEN_AT = 1_794_301_200.0  # Tuesday, 10 November 2026, 09:00 UTC


def compare(
    old: str, new: str, *, days: float = 1, options: NoiseOptions = ALL_NOISE, headings: tuple[int, ...] = ()
) -> TextDiff:
    return diff_texts(
        SeenText(old, SEEN_AT, headings), SeenText(new, SEEN_AT + days * DAY, headings), options
    )


@pytest.mark.parametrize(
    ("old", "new", "noise"),
    [
        ("Posted 5 minutes ago", "Posted 2 days ago", NoiseKind.AGE),
        ("Posted 5 minutes ago", "Posted yesterday", NoiseKind.AGE),
        ("vor 3 Stunden", "gestern", NoiseKind.AGE),
        ("publié il y a 2 heures", "publié il y a une semaine", NoiseKind.AGE),
        ("hace 3 días", "hace 4 días", NoiseKind.AGE),
        ("2 giorni fa", "un mese fa", NoiseKind.AGE),
        ("5 minut temu", "wczoraj", NoiseKind.AGE),
        ("3 часа назад", "вчера", NoiseKind.AGE),
        ("佐藤様、3日前", "佐藤様、4日前", NoiseKind.AGE),
        ("3시간 전", "2일 전", NoiseKind.AGE),
        ("1,204 views", "1.3k views", NoiseKind.COUNTER),
        ("Views: 10", "Views: 12", NoiseKind.COUNTER),
        ("12.871 Aufrufe", "13.004 Aufrufe", NoiseKind.COUNTER),
        ("1 532 vues · 3 réponses", "1 610 vues · 4 réponses", NoiseKind.COUNTER),
        ("14 people are looking at this", "1 person is looking at this", NoiseKind.COUNTER),
        ("調べ物 閲覧数:2,451回", "調べ物 閲覧数:2,498回", NoiseKind.COUNTER),
        ("Tuesday 10 November 2026", "Wednesday 11 November 2026", NoiseKind.DATE),
        ("10.11.2026", "11.11.2026", NoiseKind.DATE),
        ("2026年11月10日", "2026年11月11日", NoiseKind.DATE),
        ("Last updated: 4 March 2026", "Last updated: 9 November 2026, 10:12", NoiseKind.DATE),
        ("Stand: 01.02.2026", "Stand: 01.06.2026", NoiseKind.DATE),
        ("© 2019-2026 Somebody", "© 2019-2027 Somebody", NoiseKind.DATE),
        ("Server time 10:11:12", "Server time 23:59:01", NoiseKind.DATE),
        ("Sale ends in 5 days", "Sale ends in 4 days", NoiseKind.COUNTDOWN),
        ("Noch 3 Tage", "Noch 2 Tage", NoiseKind.COUNTDOWN),
        ("Request id 0x9f31c2aa77be", "Request id 0x02bb71c9d8ef", NoiseKind.ID),
        (
            "8f2c1e7a-90b1-4d0e-a3c4-6bd1f0a2c911",
            "0d94b7c3-1f1e-4a55-9c0e-2a77c1be0f42",
            NoiseKind.ID,
        ),
        ("Good morning, reader", "Good evening, reader", NoiseKind.GREETING),
        ("Colours: moss, slate, rust", "Colours: rust, moss, slate", NoiseKind.ORDER),
        ("It\u2019s  here \u2013 now", "It's here - now", NoiseKind.LAYOUT),
    ],
)
def test_noise_is_no_change_and_is_named(old: str, new: str, noise: NoiseKind) -> None:
    found = compare(f"A line before\n{old}\nA line after", f"A line before\n{new}\nA line after")
    assert found.changes == ()
    assert noise in {kind for row in found.ignored for kind in row.noise}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("£89.00", "£84.00"),
        ("Closing date: 15 January 2027", "Closing date: 29 January 2027"),
        ("Next performance: 28 November 2026, 19:00", "Next performance: 29 November 2026, 19:00"),
        ("Open 9:00 to 16:00", "Open 10:00 to 15:00"),
        ("Delivery in 3 days", "Delivery in 9 days"),
        ("You must be 16 years old", "You must be 18 years old"),
        ("Guarantee: 5 years", "Guarantee: 2 years"),
        ("sha256 1f0e3dad99908345f7439f8f", "sha256 aa77bd0199017622f7439f8f"),
        ("Version 3.4.1", "Version 3.4.2"),
        ("In stock, 4 left", "In stock, 2 left"),
        ("We never share your data", "We share your data"),
        (f"The council has 12 members {LONG}", f"The council has 14 members {LONG}"),
        ("残り4点", "残り1点"),
    ],
)  # fmt: skip
def test_what_people_wait_for_is_never_noise(old: str, new: str) -> None:
    assert compare(f"A line\n{old}", f"A line\n{new}").changes == (
        DiffRow(kind="changed", old=old, new=new),  # type: ignore[arg-type]
    )


def test_a_countdown_that_jumps_is_a_change() -> None:
    assert compare("Offer ends in 5 days", "Offer ends in 4 days", days=1).changes == ()
    assert compare("Offer ends in 5 days", "Offer ends in 9 days", days=1).changes != ()


def test_lines_in_another_order_are_noise_unless_order_matters() -> None:
    old, new = "first\nsecond\nthird\nfourth", "fourth\nfirst\nthird\nsecond"
    assert compare(old, new).changes == ()
    assert {kind for row in compare(old, new).ignored for kind in row.noise} == {NoiseKind.ORDER}
    assert compare(old, new, options=NoiseOptions(order=False)).changes != ()


def test_a_line_that_is_gone_while_others_move_is_a_change() -> None:
    found = compare("first\nsecond\nthird\nfourth", "fourth\nthird\nfirst")
    assert [row.old for row in found.changes] == ["second"]


def test_one_of_two_equal_lines_that_is_gone_is_a_change() -> None:
    assert [row.old for row in compare("item\nother\nitem", "item\nother").changes] == ["item"]


def test_the_same_words_in_other_lines_are_noise() -> None:
    found = compare("One sentence. Another one.\nEnd", "One sentence.\nAnother one.\nEnd")
    assert found.changes == ()
    assert found.ignored[0].noise == (NoiseKind.LAYOUT,)


def test_a_block_of_related_things_ends_at_the_next_heading() -> None:
    head = "Some text about the thing itself\nMore of it\nAnd more\nAnd the end of it\n"
    old, new = "You may also like\nA tent\nA lamp\n", "You may also like\nA tarp\nA lamp\n"
    headings = (len(head), len(head) + len(old))
    assert compare(f"{head}{old}Details\nBlue", f"{head}{new}Details\nBlue", headings=headings).changes == ()
    found = diff_texts(
        SeenText(f"{head}{old}Details\nBlue", SEEN_AT, headings),
        SeenText(f"{head}{old}Details\nRed", SEEN_AT, headings),
        ALL_NOISE,
    )
    assert [(row.old, row.new) for row in found.changes] == [("Blue", "Red")]


def test_a_page_of_the_latest_news_is_about_the_latest_news() -> None:
    old, new = "Latest news\nFire in town\nRain in May", "Latest news\nFlood in town\nRain in May"
    assert [row.new for row in compare(old, new).changes] == ["Flood in town"]


def test_an_advertisement_is_the_line_after_its_label() -> None:
    old = "Text\nAdvertisement\nBuy tyres\nMore text"
    assert compare(old, old.replace("tyres", "sofas")).changes == ()
    assert compare(old, old.replace("More text", "Less text")).changes != ()


def test_the_callers_own_phrases_are_ignored() -> None:
    old, new = "Temperature: 9 degrees\nText", "Temperature: 6 degrees\nText"
    assert compare(old, new).changes != ()
    found = compare(old, new, options=NoiseOptions(ignore=("temperature",)))
    assert (found.changes, found.ignored[0].noise) == ((), (NoiseKind.IGNORED,))


def test_a_line_that_was_on_the_page_before_is_not_new() -> None:
    """The main content may end elsewhere at the next look."""
    found = diff_texts(
        SeenText("The text", SEEN_AT, rest="Contact us"), SeenText("The text\nContact us", SEEN_AT), ALL_NOISE
    )
    assert (found.changes, found.ignored[0].noise) == ((), (NoiseKind.BESIDE,))


def test_each_kind_of_noise_can_be_switched_off() -> None:
    pairs = {
        "ages": ("5 minutes ago", "6 minutes ago"),
        "counters": ("10 views", "11 views"),
        "dates": ("Updated 4 March 2026", "Updated 5 March 2026"),
        "ids": ("Session abc123def456", "Session fed654cba321"),
    }
    for name, (old, new) in pairs.items():
        assert compare(old, new).changes == (), name
        assert compare(old, new, options=replace(ALL_NOISE, **{name: False})).changes != (), name
