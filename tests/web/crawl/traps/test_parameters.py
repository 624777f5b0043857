"""Which parameters do not change the content of a page: proofs, what refutes them, and how far they reach."""

from tests.site.trap_pages import token, words

from gossamer.web.crawl.fingerprint import fingerprint
from gossamer.web.crawl.traps.parameters import (
    DRAWN_PROOFS,
    OTHER_PROOFS,
    SESSION_PROOFS,
    ParameterLearner,
    Sight,
    parts_of,
    without,
)
from gossamer.web.crawl.traps.url_pattern import pattern_of
from gossamer.web.url.url import Url


class Pages:
    def __init__(self) -> None:
        self.learner = ParameterLearner()

    def see(self, target: str, text: str) -> bool:
        url = Url.parse(f"http://a{target}")
        sight = Sight(
            parts_of(url, has_drawn=True), pattern_of(url).path, hash(text), fingerprint(words(text))
        )
        return self.learner.see(sight)

    def ignored(self, target: str) -> set[str]:
        return set(self.learner.ignored(pattern_of(Url.parse(f"http://a{target}")).path))


def test_a_session_id_is_ignored_on_the_whole_host_after_a_few_copies() -> None:
    pages = Pages()
    for number in range(SESSION_PROOFS + 1):
        assert not pages.ignored("/other")
        pages.see(f"/a?sid={token(number)}", "a")
    assert pages.ignored("/other") == {"sid"}


def test_drawn_values_under_another_name_need_one_proof_more() -> None:
    pages = Pages()
    for number in range(DRAWN_PROOFS):
        pages.see(f"/a?v={token(number)}", "a")
    assert not pages.ignored("/a")
    pages.see(f"/a?v={token(99)}", "a")
    assert pages.ignored("/b") == {"v"}


def test_other_values_need_many_proofs_and_are_ignored_where_these_were_found() -> None:
    pages = Pages()
    for number in range(OTHER_PROOFS + 1):
        assert not pages.ignored("/x/1")
        pages.see(f"/x/1?tab={number}", "a")
    assert pages.ignored("/x/2") == {"tab"}
    assert not pages.ignored("/y/2")


def test_parameters_that_change_together_are_learned_together() -> None:
    pages = Pages()
    for number in range(OTHER_PROOFS + 1):
        pages.see(f"/x/1?sid={token(number)}&t={number}", "a")
    assert pages.ignored("/x/2") == {"sid", "t"}


def test_what_changed_the_content_before_is_never_ignored() -> None:
    pages = Pages()
    for number in range(5):
        pages.see(f"/list?page={number}", f"page {number}")
    for number in range(5, 40):  # past the end
        pages.see(f"/list?page={number}", "nothing here")
    assert not pages.ignored("/list")


def test_what_is_refuted_later_is_not_ignored_any_more_and_its_urls_are_given_back() -> None:
    pages = Pages()
    for number in range(OTHER_PROOFS + 1):
        pages.see(f"/x/1?tab={number}", "a")
    tried = [
        pages.learner.count(frozenset(("tab",)), f"http://a/x/1?tab={number}") for number in range(20, 30)
    ]
    assert [number for number, is_tried in enumerate(tried, 1) if is_tried] == [4, 8]
    assert pages.see("/x/1?tab=24", "something else")
    assert not pages.ignored("/x/1")
    assert len(pages.learner.retracted) == 10


def test_a_folder_that_looks_drawn_is_a_parameter_too() -> None:
    pages = Pages()
    for number in range(DRAWN_PROOFS + 1):
        pages.see(f"/s/{token(number)}/a", "a")
    names = pages.learner.ignored("/s/{token}/{word}")
    assert without(Url.parse(f"http://a/s/{token(7)}/b?c=1"), names).href == "http://a/s/*/b?c=1"
    assert without(Url.parse("http://a/s/about/b"), names).href == "http://a/s/about/b"


def test_articles_named_by_a_drawn_value_are_all_different() -> None:
    pages = Pages()
    for number in range(50):
        pages.see(f"/article?id={token(number)}", f"article {number}")
    assert not pages.ignored("/article")
