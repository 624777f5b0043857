"""A page in the reader's shape, made from the answers of our API."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from gossamer import problems
from gossamer.doors.http.core.relay import RelayedApi
from gossamer.doors.http.dropin.jina.dialect import TOKEN_BUDGET
from gossamer.doors.http.dropin.jina.options import PICTURES, ReaderOptions
from gossamer.problems import Problem
from gossamer.web.content import tokens
from gossamer.web.content.anchors import as_image, as_link, images_of, rewrite_anchors

PAGES: Final = {"screenshot": "screenshotUrl", "pageshot": "pageshotUrl"}


async def read(api: RelayedApi, url: str, options: ReaderOptions) -> dict[str, Any]:
    """The page as JSON shows it, with `usage`. Raises `Problem` if there is nothing to show."""
    if set(options.forms) <= set(PICTURES):
        return await _read_picture(api, url, options)
    answer = await _fetch(api, url, options)
    page = shape(answer, options)
    for form in set(options.forms) & set(PICTURES):
        page[PAGES[form]] = (await _read_picture(api, url, options))[PAGES[form]]
    return page


async def _fetch(api: RelayedApi, url: str, options: ReaderOptions) -> dict[str, Any]:
    """An element that the plain page does not have is waited for in a browser."""
    asked = {"url": url, **options.page_request()}
    answer: dict[str, Any] = await api.ask("POST", "/fetch", asked)
    if options.target_selector and not answer["words"] and options.render == "auto":
        selector = ", ".join(options.target_selector)
        waiting = {"waitForSelector": selector, **asked, "render": "always"}
        if "timeout" in waiting:
            waiting["timeout"] = max(5_000, waiting["timeout"])
        answer = await api.ask("POST", "/fetch", waiting)
    return answer


async def _read_picture(api: RelayedApi, url: str, options: ReaderOptions) -> dict[str, Any]:
    answer = await api.ask("POST", "/screenshot", {"url": url, **options.capture_request()})
    picture = f"data:image/png;base64,{answer['image']}"
    name = PAGES["pageshot" if "pageshot" in options.forms else "screenshot"]
    page = {"title": answer["title"], "url": answer["finalUrl"], name: picture, "usage": {"tokens": 0}}
    return _with_warnings(page, answer, options)


def shape(answer: Mapping[str, Any], options: ReaderOptions) -> dict[str, Any]:
    forms = options.forms
    metadata = answer["metadata"]
    page: dict[str, Any] = {
        "title": answer["title"],
        "description": metadata["description"] or "",
        "url": answer["finalUrl"],
    }
    if "content" in answer:
        page["content"] = _trim(_written(answer["content"], options), options.max_tokens)
    if "html" in forms:
        page["html"] = answer.get("rawHtml", "")
    if "text" in forms:
        page["text"] = _trim(answer.get("text", ""), options.max_tokens)
    if not any(str(page.get(name, "")).strip() for name in ("content", "html", "text")):
        raise Problem(
            problems.UNPROCESSABLE_ENTITY,
            f"No content available for URL {answer['url']}",
            details={"reason": answer.get("outcomeReason") or "no_content"},
        )
    if metadata["publishedAt"]:
        page["publishedTime"] = metadata["publishedAt"]
    if "pageCount" in answer:
        page["numPages"] = answer["pageCount"]
    _add_summaries(page, answer, options)
    page["metadata"] = {name: value for name, value in metadata.items() if isinstance(value, str)}
    page["usage"] = {"tokens": _within_budget(page, options.token_budget)}
    return _with_warnings(page, answer, options)


def _written(markdown: str, options: ReaderOptions) -> str:
    """With the links and images that are wanted."""
    link = {"none": lambda _text, _url: "", "text": lambda text, _url: text}.get(
        options.retain_links, as_link
    )
    image = {"none": lambda _alt, _url: "", "alt": lambda alt, _url: f"({alt})" if alt else ""}.get(
        options.retain_images.removesuffix("_p"), as_image
    )
    if link is as_link and image is as_image:
        return markdown
    return rewrite_anchors(markdown, link, image).strip()


def _trim(text: str, most: int | None) -> str:
    """As many whole lines as fit, and at least the beginning of the first."""
    if most is None or tokens.count(text) <= most:
        return text
    kept: list[str] = []
    left = most * 100  # as texts are weighed
    for line in text.split("\n"):
        left -= tokens.weigh(line) + tokens.GAP
        if left < 0:
            break
        kept.append(line)
    return "\n".join(kept) or text[:most]


def _add_summaries(page: dict[str, Any], answer: Mapping[str, Any], options: ReaderOptions) -> None:
    if options.with_links_summary:
        pairs = [(link["text"].strip() or link["url"], link["url"]) for link in answer.get("links", ())]
        page["links"] = pairs if options.with_links_summary == "all" else dict(pairs)
    if options.with_images_summary:
        found = images_of(answer.get("content", ""))
        page["images"] = {f"Image {at}: {alt}" if alt else f"Image {at}": url for at, (alt, url) in
                          enumerate(found, 1)}  # fmt: skip


def _within_budget(page: Mapping[str, Any], budget: int | None) -> int:
    """The tokens of the page."""
    used = tokens.estimate(str(page.get("content") or page.get("text") or page.get("html") or ""))
    if budget is not None and used > budget:
        raise Problem(
            problems.UNPROCESSABLE_ENTITY,
            f"The page has {used} tokens, which is more than the budget of {budget}.",
            hint="Raise X-Token-Budget, or give X-Max-Tokens to have the page trimmed.",
            details={"reason": TOKEN_BUDGET, "tokens": used},
        )
    return used


def _with_warnings(page: dict[str, Any], answer: Mapping[str, Any], options: ReaderOptions) -> dict[str, Any]:
    warnings = list(options.warnings)
    status, outcome = answer["statusCode"], answer["outcome"]
    if status >= 400:
        warnings.insert(0, f"Target URL returned error {status}.")
    if outcome not in ("ok", "error"):
        warnings.insert(0, f"This may not be the page that was asked for: {outcome}.")
    if warnings:
        page["warning"] = "\n".join(warnings)
    return page


def to_text(page: Mapping[str, Any]) -> str:
    """The page as text for people and models."""
    facts = [f"Published Time: {page['publishedTime']}"] if "publishedTime" in page else []
    facts += [f"Warning: {line}" for line in page.get("warning", "").splitlines()]
    facts += [f"Number of Pages: {page['numPages']}"] if "numPages" in page else []
    summaries = []
    if "images" in page:
        lines = [f"- ![{name}]({url})" for name, url in page["images"].items()]
        summaries.append("\n".join(["Images:", *lines]))
    if "links" in page:
        pairs = page["links"].items() if isinstance(page["links"], dict) else page["links"]
        summaries.append("\n".join(["Links/Buttons:", *(f"- [{text}]({url})" for text, url in pairs)]))
    head = f"Title: {page['title']}\n\nURL Source: {page['url']}\n"
    head += "\n" + "\n\n".join(facts) + "\n" if facts else ""
    tail = "\n" + "\n\n".join(summaries) + "\n" if summaries else ""
    return f"{head}\nMarkdown Content:\n{page['content']}\n{tail}"


async def search(api: RelayedApi, query: str, options: ReaderOptions) -> list[dict[str, Any]]:
    """The pages that were found, with their content unless only links are wanted."""
    asked: dict[str, Any] = {"query": query, "limit": min(max(options.count, 1), 20)}
    asked |= {"site": options.site[0]} if options.site else {}
    asked |= {"language": options.language} if options.language else {}
    found = (await api.ask("POST", "/search", asked))["results"]
    results = [
        {
            "title": result["title"],
            "url": result["url"],
            "description": result["snippet"].replace("**", ""),
        }
        | ({"date": result["publishedAt"]} if "publishedAt" in result else {})
        for result in found
    ]
    if options.respond_with != "no-content":
        await asyncio.gather(*(_add_content(api, result, options) for result in results))
    return results


async def _add_content(api: RelayedApi, result: dict[str, Any], options: ReaderOptions) -> None:
    """A page that cannot be read is shown without content."""
    try:
        page = await read(api, result["url"], options)
    except Problem as problem:
        result["warning"] = problem.detail
        result["content"] = ""
    else:
        result |= {name: page[name] for name in ("content", "html", "text", "usage") if name in page}


def results_to_text(results: list[dict[str, Any]]) -> str:
    blocks = []
    for at, result in enumerate(results, 1):
        lines = [f"[{at}] Title: {result['title']}", f"[{at}] URL Source: {result['url']}"]
        lines.append(f"[{at}] Description: {result['description']}")
        lines += [f"[{at}] Date: {result['date']}"] if "date" in result else []
        content = result.get("content") or result.get("text") or result.get("html") or ""
        blocks.append("\n".join(lines) + (f"\n\n{content}" if content else ""))
    return "\n\n".join(blocks) + "\n"
