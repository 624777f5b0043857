"""Documents: pages as Firecrawl's clients read them.

One value of a wrong type breaks the whole answer for the clients, and much of it comes from strangers' pages.
So every value is made what they expect.
"""

from collections.abc import Mapping
from typing import Any, Final

# By the name of an Open Graph property; ours has the names without `og:`.
_OPEN_GRAPH: Final = {
    "title": "ogTitle",
    "description": "ogDescription",
    "url": "ogUrl",
    "image": "ogImage",
    "audio": "ogAudio",
    "determiner": "ogDeterminer",
    "locale": "ogLocale",
    "site_name": "ogSiteName",
    "video": "ogVideo",
}
_ABOUT_PAGE: Final = {  # texts in our metadata → their name
    "description": "description",
    "author": "author",
    "language": "language",
    "publishedAt": "publishedTime",
    "modifiedAt": "modifiedTime",
    "canonical": "canonical",
    "favicon": "favicon",
}
UNMET: Final = "Pages of a job have no such format, or were not visited with all the options given."


def document(page: Mapping[str, Any], asked_url: str, credits: int = 1) -> dict[str, Any]:
    """From an answer of ours about a page: one that was fetched, extracted from, captured or crawled."""
    found: dict[str, Any] = {
        name: page[name] for name in ("markdown", "html", "rawHtml") if page.get(name) is not None
    }
    if page.get("content") is not None:
        found["markdown"] = page["content"]
    if page.get("links") is not None:
        found["links"] = [link["url"] for link in page["links"]]
    if page.get("images") is not None:
        found["images"] = page["images"]
    if page.get("actions"):
        found["actions"] = _action_results(page["actions"])
    if page.get("outcome", "ok") != "ok":
        found["warning"] = f"This may not be the page that was asked for: {_outcome(page)}."
    found["metadata"] = _metadata(page, asked_url, credits)
    return found


def add_warnings(shown: dict[str, Any], warnings: list[str]) -> None:
    told = [*([shown["warning"]] if "warning" in shown else []), *warnings]
    if told:
        shown["warning"] = " ".join(told)


def picture(image: str, media_type: str = "image/png") -> str:
    return f"data:{media_type};base64,{image}"


def _outcome(page: Mapping[str, Any]) -> str:
    reason = page.get("outcomeReason")
    return f"{page['outcome']} ({reason})" if reason else str(page["outcome"])


def _metadata(page: Mapping[str, Any], asked_url: str, credits: int) -> dict[str, Any]:
    told = page.get("metadata") or {}
    graph = told.get("openGraph") or {}
    cache = page.get("cache") or {}
    status = page.get("statusCode")
    known: dict[str, Any] = {
        "title": page.get("title"),
        "description": page.get("description"),
        "language": page.get("language"),
        **{theirs: told.get(ours) for ours, theirs in _ABOUT_PAGE.items() if told.get(ours)},
        **{theirs: graph.get(ours) or graph.get(f"og:{ours}") for ours, theirs in _OPEN_GRAPH.items()},
        "keywords": ", ".join(map(str, told.get("keywords") or ())),
        "sourceURL": asked_url,
        "url": page.get("finalUrl") or asked_url,
        "contentType": page.get("contentType"),
        "scrapeId": page.get("requestId") or page.get("pageId"),
        "error": f"The page answered with status {status}." if status is not None and status >= 400 else None,
    }
    shown: dict[str, Any] = {name: str(value) for name, value in known.items() if value not in (None, "")}
    alternate = graph.get("locale:alternate") or graph.get("og:locale:alternate")
    if alternate:
        shown["ogLocaleAlternate"] = [str(alternate)]
    shown |= {"statusCode": int(status or 0), "proxyUsed": "basic", "creditsUsed": credits}
    if page.get("pageCount"):
        shown["numPages"] = int(page["pageCount"])
    if cache:
        shown["cacheState"] = "hit" if cache.get("hit") else "miss"
    return shown


def _action_results(reports: list[Mapping[str, Any]]) -> dict[str, Any]:
    pictures = [picture(report["screenshot"]) for report in reports if report.get("screenshot")]
    returned = [
        {"type": type(report.get("result")).__name__, "value": report.get("result")}
        for report in reports
        if report.get("type") == "evaluate"
    ]
    return {"screenshots": pictures, "scrapes": [], "javascriptReturns": returned, "pdfs": []}
