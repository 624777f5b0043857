"""Messages of content management systems: which pages of the site they are about."""

import json

import pytest

from gossamer.problems import Problem
from gossamer.web.sites.changed_pages import MAX_CHANGED, find_changed

HERE = "https://a.example"
# As plugins for WordPress send it: the post with its address, and much else.
POST = {
    "post_id": 12,
    "post": {
        "ID": 12,
        "guid": f"{HERE}/?p=12",
        "post_content": f"See {HERE}/in-the-text",
        "link": f"{HERE}/2026/05/hello/",
        "_links": {"self": [{"href": f"{HERE}/wp-json/wp/v2/posts/12"}]},
    },
    "post_permalink": f"{HERE}/2026/05/hello/",
    "post_thumbnail_url": f"{HERE}/wp-content/uploads/a.jpg",
    "author": {"url": "https://elsewhere.example/me"},
    "taxonomies": {"category": [{"name": "News", "url": f"{HERE}/category/news/#top"}]},
}


def found(body: object) -> tuple[tuple[str, ...], int]:
    return find_changed(json.dumps(body).encode(), "application/json", HERE)


def test_a_message_names_pages_by_address_or_path() -> None:
    assert found({"url": "/a"}) == ((f"{HERE}/a",), 0)
    assert found({"urls": ["/a", f"{HERE}/b", "/a", "https://b.example/"]}) == ((f"{HERE}/a", f"{HERE}/b"), 1)


def test_any_field_that_is_named_so_counts_if_it_is_a_page_of_the_site() -> None:
    assert found(POST) == ((f"{HERE}/2026/05/hello/", f"{HERE}/category/news/"), 1)
    assert found([{"page": {"loc": f"{HERE}/x"}}]) == ((f"{HERE}/x",), 0)
    assert found({"event": "ping"}) == ((), 0)


def test_a_form_is_read_like_json() -> None:
    body = b"post_url=https%3A%2F%2Fa.example%2Fx&title=Hello"
    assert find_changed(body, "application/x-www-form-urlencoded; charset=utf-8", HERE) == ((f"{HERE}/x",), 0)


@pytest.mark.parametrize("body", [b"", b"hello", b"\xff", b"[" * 5_000 + b"]" * 5_000])
def test_anything_else_is_refused(body: bytes) -> None:
    with pytest.raises(Problem, match="neither JSON nor a form"):
        find_changed(body, "", HERE)


def test_a_message_is_bounded() -> None:
    urls, ignored = found({"urls": [f"/{number}" for number in range(MAX_CHANGED + 5)]})
    assert (len(urls), ignored) == (MAX_CHANGED, 5)
    deep: object = f"{HERE}/deep"
    for _ in range(50):
        deep = {"url": deep}
    assert found({"x": deep}) == ((), 0)
