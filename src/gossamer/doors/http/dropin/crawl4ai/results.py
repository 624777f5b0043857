"""A page as Crawl4AI's clients read it. No key is named `error`: a line with one would be thrown away."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from gossamer.doors.http.core.relay import RelayedApi
from gossamer.doors.http.dropin.crawl4ai.configs import CrawlConfig
from gossamer.doors.http.dropin.crawl4ai.extraction import schema_of
from gossamer.doors.http.dropin.shared.pages import RelayedPage
from gossamer.flows.pages.encoding import MAX_ANSWER_BYTES
from gossamer.problems import CONTENT_TOO_LARGE, Problem
from gossamer.web.content.anchors import images_of, rewrite_anchors
from gossamer.web.url.domain import domain_of
from gossamer.web.url.url import Url

MAX_CAPTURE_SECONDS: Final = 30.0
_ROOM: Final = 10_000  # bytes of an answer around its results


class ResultsThatFit:
    """Results that fit into one answer, encoded."""

    def __init__(self) -> None:
        self.encoded: list[msgspec.Raw] = []
        self._room = MAX_ANSWER_BYTES - _ROOM

    def add(self, result: Mapping[str, Any]) -> None:
        """Raises `Problem` if there is no room: results are never left out."""
        encoded = msgspec.json.encode(result)
        self._room -= len(encoded) + 1
        if self._room < 0:
            raise Problem(
                CONTENT_TOO_LARGE,
                f"The pages have more than {MAX_ANSWER_BYTES // 1_000_000} MB",
                hint="Ask for fewer pages, or for a stream.",
                details={"reason": "answer_too_large"},
            )
        self.encoded.append(msgspec.Raw(encoded))


async def complete(api: RelayedApi, page: RelayedPage, config: CrawlConfig) -> dict[str, Any]:
    """The page with its picture, its PDF and its data, if they are wanted."""
    result = result_of(page, config)
    if page.trouble:
        return result
    asked = {"url": page.url, **config.visit(most=MAX_CAPTURE_SECONDS)}
    try:
        if config.crawler.screenshot:
            result["screenshot"] = (await api.ask("POST", "/screenshot", {**asked, "fullPage": True}))[
                "image"
            ]
        if config.crawler.pdf:
            result["pdf"] = (await api.ask("POST", "/pdf", asked))["pdf"]
        if config.extraction is not None:
            result["extracted_content"] = await _extract(api, page.url, config)
    except Problem as problem:
        result |= {"success": False, "error_message": problem.detail}
    return result


async def _extract(api: RelayedApi, url: str, config: CrawlConfig) -> str:
    assert config.extraction is not None  # noqa: S101  (the caller has looked)
    visit = {name: value for name, value in config.visit().items() if name != "waitForSelector"}
    asked = {"url": url, "schema": schema_of(config.extraction), "model": False, "render": config.render}
    found = await api.ask("POST", "/extract", {**asked, **visit})
    return msgspec.json.encode(found["data"] or []).decode()


def result_of(page: RelayedPage, config: CrawlConfig) -> dict[str, Any]:
    if page.trouble:
        return {
            "url": page.url,
            "html": "",
            "success": False,
            "error_message": page.trouble,
            "status_code": None,
            "markdown": markdown_of("", filtered=False),
        }
    answer = page.answer
    content = answer.get("content", "")
    links = _links(answer)
    if config.crawler.exclude_external_links:
        links["external"] = []
    return {
        "url": page.url,
        "html": answer.get("rawHtml", ""),
        "cleaned_html": answer.get("html", ""),
        "success": page.is_ok,
        "error_message": page.complaint,
        "status_code": answer["statusCode"],
        "redirected_url": answer["finalUrl"],
        "response_headers": {"content-type": answer["contentType"]},
        "markdown": markdown_of(content, filtered=config.is_filtered),
        "links": links,
        "media": {"images": _images(content), "videos": [], "audios": []},
        "metadata": _metadata(answer),
        "tables": [],
    }


def markdown_of(content: str, *, filtered: bool) -> dict[str, Any]:
    """With each link as a number, and the list of their targets."""
    numbers: dict[str, tuple[int, str]] = {}

    def cite(text: str, url: str) -> str:
        number, _ = numbers.setdefault(url, (len(numbers) + 1, text))
        return f"{text}⟨{number}⟩"

    cited = rewrite_anchors(content, cite)
    lines = [f"⟨{number}⟩ {url}: {text}\n" for url, (number, text) in numbers.items()]
    return {
        "raw_markdown": content,
        "markdown_with_citations": cited,
        "references_markdown": "\n\n## References\n\n" + "".join(lines) if lines else "",
        "fit_markdown": content if filtered else "",
        "fit_html": "",
    }


def _links(answer: Mapping[str, Any]) -> dict[str, list[dict[str, str]]]:
    home = domain_of(Url.parse(answer["finalUrl"]).host)
    links: dict[str, list[dict[str, str]]] = {"internal": [], "external": []}
    for link in answer.get("links", ()):
        try:
            domain = domain_of(Url.parse(link["url"]).host)
        except Problem:
            continue
        shown = {"href": link["url"], "text": link["text"], "title": "", "base_domain": domain}
        links["internal" if domain == home else "external"].append(shown)
    return links


def _images(content: str) -> list[dict[str, Any]]:
    return [
        {"src": url, "alt": alt, "desc": "", "score": 0, "type": "image", "group_id": number}
        for number, (alt, url) in enumerate(images_of(content))
    ]


def _metadata(answer: Mapping[str, Any]) -> dict[str, Any]:
    metadata = answer["metadata"]
    shown = {"title": answer["title"], "description": metadata["description"], "author": metadata["author"]}
    shown["keywords"] = ", ".join(metadata.get("keywords", ())) or None
    return shown | {f"og:{name}": value for name, value in metadata.get("openGraph", {}).items()}
