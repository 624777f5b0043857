"""Map, search and extract, which are answered at once."""

from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import urlsplit

from gossamer.doors.http.core.relay import RelayedApi
from gossamer.doors.http.dropin.firecrawl.dialect import succeed
from gossamer.doors.http.dropin.firecrawl.page_wishes import PageWishes
from gossamer.doors.http.dropin.firecrawl.requests import ExtractBody, MapBody, ScrapeOptions, SearchBody
from gossamer.doors.http.dropin.firecrawl.scraping import scrape_several
from gossamer.problems import Problem, validation_error
from gossamer.web.pages.map_request import MAX_LINKS
from gossamer.web.pages.page_request import MAX_TIMEOUT

MAX_RESULTS: Final = 50
MAX_EXTRACTED: Final = 10  # pages of one request
_RECENCY: Final = {"qdr:d": "day", "qdr:w": "week", "qdr:m": "month", "qdr:y": "year"}


async def map_site(api: RelayedApi, body: MapBody) -> tuple[list[dict[str, Any]], list[str]]:
    """The links, and what of the request could not be done."""
    sitemap = body.sitemap or ("only" if body.sitemap_only else "skip" if body.ignore_sitemap else "include")
    asked: dict[str, Any] = {
        "url": body.url,
        "limit": min(max(body.limit or MAX_LINKS, 1), MAX_LINKS),
        "sitemap": sitemap,
        "includeSubdomains": body.include_subdomains is not False,
        "ignoreQuery": body.ignore_query_parameters is not False,
    }
    if body.search:
        asked["search"] = body.search
    if body.timeout:
        asked["timeout"] = min(max(int(body.timeout), 1_000), MAX_TIMEOUT)
    answer = await api.ask("POST", "/map", asked)
    shown = [
        {name: link[name] for name in ("url", "title", "description") if link.get(name)}
        for link in answer["links"]
    ]
    return shown, [] if answer.get("complete", True) else ["The site has more links than were found in time."]


async def search(api: RelayedApi, body: SearchBody) -> tuple[list[dict[str, Any]], list[str]]:
    """The results, each with its content if that is asked for, and what could not be done."""
    limit = min(max(body.limit or 5, 1), MAX_RESULTS)
    asked: dict[str, Any] = {"query": body.query, "limit": limit}
    if body.include_domains and len(body.include_domains) == 1:
        asked["site"] = body.include_domains[0]
    if body.tbs in _RECENCY:
        asked["recency"] = _RECENCY[body.tbs]
    answer = await api.ask("POST", "/search", asked)
    results = [
        {"url": found["url"], "title": found["title"], "description": found["snippet"].replace("**", "")}
        for found in answer["results"]
        if _is_wanted(found["url"], body)
    ]
    warnings = _unsearched(body)
    if body.scrape_options is not None and body.scrape_options.formats:
        wishes = PageWishes.of(body.scrape_options)
        documents = await scrape_several(api, [found["url"] for found in results], wishes)
        results = [{**found, **(shown or {})} for found, shown in zip(results, documents, strict=True)]
    return results, warnings


def _is_wanted(url: str, body: SearchBody) -> bool:
    host = urlsplit(url).hostname or ""
    included = not body.include_domains or _is_in(host, body.include_domains)
    return included and not _is_in(host, body.exclude_domains or ())


def _is_in(host: str, domains: Iterable[str]) -> bool:
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


def _unsearched(body: SearchBody) -> list[str]:
    names = [one if isinstance(one, str) else str(one.get("type")) for one in body.sources or ()]
    others = [name for name in names if name != "web"]
    return [f"These sources are not searched: {', '.join(others)[:100]}."] if others else []


async def extract(api: RelayedApi, body: ExtractBody) -> dict[str, Any]:
    """Data from one page or several: what the first of them has not is looked for in the next."""
    urls = list(dict.fromkeys(url.removesuffix("/*") for url in body.urls or ()))
    if not 1 <= len(urls) <= MAX_EXTRACTED:
        raise validation_error(
            f"`urls` names 1 to {MAX_EXTRACTED} pages here.",
            hint="To look for data on a site, crawl it first.",
        )
    details = {"schema": body.schema, "prompt": body.prompt, "systemPrompt": body.system_prompt}
    options = body.scrape_options or ScrapeOptions()
    options.formats = [{"type": "json", **{name: value for name, value in details.items() if value}}]
    wishes = PageWishes.of(options)
    data, read, problem = None, [], None
    for url in urls:
        try:
            answer = await api.ask(
                "POST", "/extract", {"url": url, **wishes.body(), **wishes.extracts["json"]}
            )
        except Problem as trouble:
            problem = problem or trouble
            continue
        read.append(url)
        data = _merged(data, answer.get("data"))
    if problem is not None and not read:
        raise problem
    warnings = [*wishes.warnings]
    if body.enable_web_search:
        warnings.append("`enableWebSearch` is not supported.")
    if any(url.endswith("/*") for url in body.urls or ()):
        warnings.append("Of a URL that ends with `/*`, the page itself is read.")
    if len(read) < len(urls):
        warnings.append(f"{len(urls) - len(read)} pages could not be read.")
    sources = {"sources": {"urls": read}} if body.show_sources else {}
    return succeed({"status": "completed", "data": data, **sources}, warnings)


def _merged(first: Any, second: Any) -> Any:
    if isinstance(first, dict) and isinstance(second, dict):
        names = {**first, **second}
        return {name: _merged(first.get(name), second.get(name)) for name in names}
    if isinstance(first, list) and isinstance(second, list):
        return first + [one for one in second if one not in first]
    return second if first is None else first
