"""Main content: what is kept and left out on pages of many kinds, and how sure the answer is."""

import json
from html import escape

import pytest
from tests.web.content.page_kinds import KnownPage, known_pages, paragraphs, sentences

from gossamer.web.content.article import Article, extract
from gossamer.web.content.content_warning import ContentWarning
from gossamer.web.content.main.boilerplate import boilerplate_rank
from gossamer.web.content.main.content import LOW_CONFIDENCE
from gossamer.web.content.main.features import FEATURES
from gossamer.web.content.main.model import shipped_model
from gossamer.web.html.vocabulary import expand

PAGES = list(known_pages())
MIN_KEPT, MAX_SURPLUS = 0.99, 0.12  # of all that is wanted, and of all that is not


def of(html: str) -> Article:
    return extract(html, "https://example.org/page")


def _said(article: Article) -> str:
    return " ".join(f"{article.title} {article.markdown}".replace("\\", "").split())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_of_any_kind_is_lost(page: KnownPage) -> None:
    said = _said(of(page.html))
    missing = [passage for passage in page.wanted if passage not in said]
    assert len(missing) <= 1 < len(page.wanted)


def test_pages_of_all_kinds_together_are_kept_without_what_stands_beside_them() -> None:
    texts = [(page, _said(of(page.html))) for page in PAGES]
    wanted = [passage in text for page, text in texts for passage in page.wanted]
    unwanted = [passage in text for page, text in texts for passage in page.unwanted]
    assert sum(wanted) / len(wanted) >= MIN_KEPT
    assert sum(unwanted) / len(unwanted) <= MAX_SURPLUS


def test_a_name_counts_nothing_around_all_sentences() -> None:
    around = of(f'<div class="sidebar comments"><h1>All of it</h1>{paragraphs(3, 6)}</div>')
    assert sentences(3, 6)[5] in around.text
    beside = of(f'<div class="x">{paragraphs(3, 6)}</div><div class="sidebar">{paragraphs(40, 1)}</div>')
    assert sentences(40, 1)[0] not in beside.text


def test_text_without_an_element_of_its_own_can_be_left_out() -> None:
    lines = "<br><br>".join(sentences(5, 6))
    article = of(f'<div class="story">{lines}<br><br>Subscribe to our newsletter</div>')
    assert sentences(5, 6)[2] in article.text
    assert "Subscribe" not in article.text


def test_cards_that_are_links_are_not_prose() -> None:
    cards = "".join(
        f'<a href="/{at}"><h3>Card {at}</h3><p>{line}</p></a>' for at, line in enumerate(sentences(60, 9))
    )
    article = of(f"<div><div>{paragraphs(7, 6)}</div><div>{cards}</div></div>")
    assert sentences(7, 6)[5] in article.text
    assert sentences(60, 9)[4] not in article.text


def test_a_clear_article_is_sure() -> None:
    article = of(f"<nav><a href=/>Home</a></nav><article><h1>A</h1>{paragraphs(9, 8)}</article>")
    assert article.warning is None
    assert (article.confidence or 0) > 0.8


def test_the_whole_page_in_place_of_its_content_is_never_sure() -> None:
    links = "".join(f"<li><a href=/{at}>Entry {at}</a></li>" for at in range(60))
    article = of(f"<nav><ul>{links}</ul></nav><p>Some words only.</p>")
    assert article.warning is ContentWarning.WHOLE_PAGE
    assert article.confidence == 0


def test_the_full_page_has_no_confidence() -> None:
    article = extract("<p>Text</p>", "https://example.org/", main_content=False)
    assert article.confidence is None


def test_text_in_a_noscript_that_is_not_closed_is_read() -> None:
    article = of(f"<body><noscript><h1>Without scripts</h1>{paragraphs(11, 12)}</body>")
    assert sentences(11, 12)[11] in article.text


def test_a_body_in_the_structured_data_is_read_if_the_page_shows_nothing() -> None:
    body = "\n".join(sentences(13, 5))
    data = json.dumps({"@type": "NewsArticle", "headline": "Shell", "articleBody": body})
    shell = of(f'<script type="application/ld+json">{data}</script><div id="root"></div>')
    assert sentences(13, 5)[4] in shell.text
    assert shell.warning is ContentWarning.FROM_DATA
    whole = of(f'<script type="application/ld+json">{data}</script><article>{paragraphs(15, 6)}</article>')
    assert sentences(15, 6)[0] in whole.text
    assert sentences(13, 5)[4] not in whole.text


@pytest.mark.parametrize("text", ["\n".join(sentences(17, 5)), paragraphs(17, 5)], ids=["lines", "markup"])
def test_the_state_of_an_application_is_read_if_the_page_shows_nothing(text: str) -> None:
    state = json.dumps({"props": {"page": [{"id": 1, "body": text}]}})
    shell = of(f'<div id="__next"></div><script id="__NEXT_DATA__" type="application/json">{state}</script>')
    assert sentences(17, 5)[4] in shell.text
    assert "<p>" not in shell.text


OUTDATED = "<p>Your browser is out of date. Please download a newer one to see what is on this page.</p>"


def described(words: str, more: str = "") -> Article:
    notes = OUTDATED + "<p>Another note, about the cookies that this site would like to keep for you.</p>" * 2
    return of(f'<meta name="description" content="{words}">{notes}<nav>{"<a href=x>x</a> " * 9}</nav>{more}')


def test_content_that_says_less_than_its_description_is_doubtful() -> None:
    assert described("A page about browsers.").warning is None
    shell = described(" ".join(sentences(19, 12)))
    assert shell.warning is ContentWarning.UNCERTAIN
    assert shell.confidence is not None
    assert shell.confidence < LOW_CONFIDENCE


def test_content_that_says_less_than_its_description_is_read_from_the_state() -> None:
    state = escape(json.dumps({"steps": [{"text": one} for one in sentences(21, 12)]}))
    small = "<div data-react-props='{&quot;a&quot;:1}'></div>" * 7
    shell = described(" ".join(sentences(19, 12)), f'{small}<div data-react-props="{state}"></div>')
    assert sentences(21, 12)[11] in shell.text
    assert shell.warning is ContentWarning.FROM_DATA


def test_the_same_page_gives_the_same_content() -> None:
    first, second = of(PAGES[0].html), of(PAGES[0].html)
    assert (first.markdown, first.confidence) == (second.markdown, second.confidence)


def test_the_shipped_weights_are_those_of_the_features() -> None:
    assert len(shipped_model().weights) == len(FEATURES)


@pytest.mark.parametrize(
    ("hints", "rank"),
    [
        ("sidebar", 2),
        ("rightRail", 2),
        ("right-rail", 2),
        ("sign-up", 1),
        ("meta", 1),
        ("meta-data-table", 0),
        ("has-sidebar", 0),
        ("", 0),
    ],
)
def test_names_are_looked_up_word_by_word(hints: str, rank: int) -> None:
    assert boilerplate_rank(hints) == rank


def test_phrases_are_expanded() -> None:
    assert sorted(expand("a ?(?:b|cs?)d?")) == sorted(
        f"a{space}{letter}{end}" for space in ("", " ") for letter in ("b", "c", "cs") for end in ("", "d")
    )
