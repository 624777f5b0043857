"""PlaygroundResult: the answer to a call, as the playground shows it."""

import base64
from collections.abc import Mapping
from typing import Any, Final

from markupsafe import escape
from msgspec import Struct, field

from gossamer.doors.http.dashboard.core import formats
from gossamer.doors.http.dashboard.start.calls import ApiCall
from gossamer.doors.http.dashboard.start.outcomes import explain
from gossamer.web.content import tokens
from gossamer.web.content.content_warning import ContentWarning

MAX_SHOWN_CHARS: Final = 200_000  # of one text; a longer one would make the page slow
MAX_SHOWN_LINKS: Final = 300
MAX_SHOWN_FILE_BYTES: Final = 3_000_000
_CACHE_WORDS: Final[Mapping[str, str]] = {
    "HIT": "answered from the cache",
    "COLD": "answered from the cache (cold tier)",
    "MISS": "made now, and kept in the cache",
    "BYPASS": "made now; the cache was not asked",
}
_WARNING_WORDS: Final[Mapping[str, str]] = {
    ContentWarning.WHOLE_PAGE: "nothing looked like it, so this is the whole page",
    ContentWarning.PARTIAL: "most sentences of the page were left out",
    ContentWarning.UNCERTAIN: "look whether something is missing",
    ContentWarning.FROM_DATA: "the page shows next to nothing, so this is from the data in its scripts",
}
_METADATA_TITLES: Final[Mapping[str, str]] = {
    "description": "Description",
    "author": "Author",
    "publishedAt": "Published",
    "modifiedAt": "Modified",
    "language": "Language",
    "canonical": "Canonical address",
    "siteName": "Site",
    "image": "Image",
    "favicon": "Icon",
    "keywords": "Keywords",
}


class ShownText(Struct, frozen=True):
    """A text that may be too long to show whole."""

    text: str
    is_cut: bool

    @classmethod
    def of(cls, text: str) -> "ShownText":
        return cls(text[:MAX_SHOWN_CHARS], len(text) > MAX_SHOWN_CHARS)


class ShownFile(Struct, frozen=True):
    """A picture or a PDF, in the page itself."""

    name: str
    media_type: str
    size: int
    address: str  # a data: URI; empty if the file is too large for it

    @classmethod
    def of(cls, name: str, media_type: str, body: bytes) -> "ShownFile":
        fits = len(body) <= MAX_SHOWN_FILE_BYTES
        address = f"data:{media_type};base64,{base64.b64encode(body).decode()}" if fits else ""
        return cls(name, media_type, len(body), address)


class PlaygroundResult(Struct, frozen=True):
    call: ApiCall
    outcome: str = ""  # of the page
    words: str = ""  # the outcome in a sentence
    title: str = ""
    url: str = ""  # where the page was, after redirects
    facts: list[tuple[str, str]] = field(default_factory=list)
    preview: str = ""  # a document for a sandboxed frame
    content: ShownText | None = None
    html: ShownText | None = None
    metadata: list[tuple[str, str]] = field(default_factory=list)
    links: list[Mapping[str, Any]] = field(default_factory=list)
    more_links: int = 0  # that are not shown
    file: ShownFile | None = None
    data: Any = None  # extracted
    answer: Mapping[str, Any] = field(default_factory=dict)  # of the API
    job_id: str = ""  # of a render that is not done yet


def fetched(call: ApiCall, answer: Mapping[str, Any], cache: str, style: str) -> PlaygroundResult:
    """Of `/fetch`. `style` is the address of the style sheet for the preview."""
    content = answer.get("content", "") or answer.get("text", "")
    html = answer.get("html", "")
    links = answer.get("links", [])
    llm = answer.get("llm")
    count = llm["tokens"] if llm else tokens.estimate(content)
    facts = [
        *_page_facts(answer, answer["fetchTime"], cache),
        ("Read with", "a browser" if answer["via"] == "render" else "a plain request"),
        ("Words", formats.number(answer["words"])),
    ]
    if content:
        facts.append(("Tokens", f"about {formats.number(count)}"))
    if "confidence" in answer:
        facts.append(("Main content", _confidence_words(answer)))
    if llm and llm["truncated"]:
        facts.append(("Left out", "some sections, to fit the token budget"))
    if answer.get("truncated"):
        facts.append(("Cut", "the page exceeded a bound, so something is missing"))
    return PlaygroundResult(
        call,
        outcome=answer["outcome"],
        words=explain(answer["outcome"], answer.get("outcomeReason", "")),
        title=answer["title"],
        url=answer["finalUrl"],
        facts=facts,
        preview=_preview(html, style) if html else "",
        content=ShownText.of(content) if content else None,
        html=ShownText.of(html) if html else None,
        metadata=_metadata(answer["metadata"]),
        links=links[:MAX_SHOWN_LINKS],
        more_links=max(0, len(links) - MAX_SHOWN_LINKS),
        answer=answer,
    )


def captured(call: ApiCall, headers: Mapping[str, str], body: bytes, elapsed_ms: int) -> PlaygroundResult:
    """Of `/screenshot` and `/pdf`, which answer with the file itself."""
    outcome = headers["x-outcome"]
    facts = [
        ("Status", headers["x-page-status"]),
        ("Time", formats.duration(elapsed_ms)),
        ("Cache", _CACHE_WORDS[headers["x-cache-status"]]),
        ("Size", formats.size(len(body))),
    ]
    if "x-page-count" in headers:
        facts.append(("Pages", headers["x-page-count"]))
    if "x-missing-scripts" in headers:
        facts.append(("Missing letters", f"no font here has {headers['x-missing-scripts']}"))
    return PlaygroundResult(
        call,
        outcome=outcome,
        words=explain(outcome),
        url=headers["x-final-url"],
        facts=facts,
        file=ShownFile.of(call.file, call.accept, body),
    )


def extracted(call: ApiCall, answer: Mapping[str, Any], cache: str) -> PlaygroundResult:
    facts = [
        *_page_facts(answer, answer["fetchTime"], cache),
        ("Fits the schema", "yes" if answer["valid"] else "no: something that it requires is missing"),
    ]
    if model := answer.get("model"):
        facts.append(("Language model", f"{model['name']}: {model['status']}"))
    return PlaygroundResult(
        call,
        outcome=answer["outcome"],
        words=explain(answer["outcome"], answer.get("outcomeReason", "")),
        title=answer["title"],
        url=answer["finalUrl"],
        facts=facts,
        data=answer["data"],
        answer=answer,
    )


def found(call: ApiCall, answer: Mapping[str, Any], cache: str, elapsed_ms: int) -> PlaygroundResult:
    count = len(answer["results"])
    facts = [
        ("Found", "nothing" if count == 0 else f"{count} page{'s' if count > 1 else ''}"),
        ("Time", formats.duration(elapsed_ms)),
        ("Cache", _CACHE_WORDS[cache]),
        *((name, _account(account)) for name, account in answer["providers"].items()),
    ]
    return PlaygroundResult(call, facts=facts, answer=answer)


def rendered(
    call: ApiCall, html: str, facts: list[tuple[str, str]], *, url: str, outcome: str = "ok"
) -> PlaygroundResult:
    return PlaygroundResult(
        call, outcome=outcome, words=explain(outcome), url=url, facts=facts, html=ShownText.of(html)
    )


def cache_words(status: str) -> str:
    return _CACHE_WORDS[status]


def _page_facts(answer: Mapping[str, Any], elapsed_ms: int, cache: str) -> list[tuple[str, str]]:
    return [
        ("Status", str(answer["statusCode"])),
        ("Time", formats.duration(elapsed_ms)),
        ("Cache", _CACHE_WORDS[cache]),
    ]


def _confidence_words(answer: Mapping[str, Any]) -> str:
    sure = f"{answer['confidence']:.0%} sure"
    warning = answer.get("contentWarning")
    return f"{sure}: {_WARNING_WORDS[warning]}" if warning else sure


def _account(account: Mapping[str, Any]) -> str:
    said = account["status"] if account["status"] == "ok" else f"{account['status']}: {account['reason']}"
    return f"{said}, {account['count']} found in {formats.duration(account['latency'])}"


def _metadata(metadata: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = [(title, metadata[name]) for name, title in _METADATA_TITLES.items() if metadata.get(name)]
    return [(title, ", ".join(value) if isinstance(value, list) else str(value)) for title, value in rows]


def _preview(html: str, style: str) -> str:
    """A document for a sandboxed frame. The content is our own clean HTML, which has nothing that runs; the
    frame has the page's Content-Security-Policy, so nothing is loaded from elsewhere either."""
    head = f'<meta charset="utf-8"><base target="_blank"><link rel="stylesheet" href="{escape(style)}">'
    return f"<!doctype html><html><head>{head}</head><body>{html[:MAX_SHOWN_CHARS]}</body></html>"
