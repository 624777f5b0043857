"""A crawl as Firecrawl's clients ask for it, in our words."""

import re
from itertools import product
from typing import Any, Final
from urllib.parse import urlsplit

from gossamer.doors.http.dropin.firecrawl.job_id import Wish
from gossamer.doors.http.dropin.firecrawl.page_wishes import PageWishes
from gossamer.doors.http.dropin.firecrawl.requests import CrawlBody, ScrapeOptions
from gossamer.doors.http.dropin.firecrawl.webhooks import webhook_wish
from gossamer.problems import Problem, validation_error
from gossamer.web.crawl.spec import MAX_DEPTH, MAX_PAGES

CONCURRENCY: Final = "`maxConcurrency` is not supported: each site is asked at its own pace."
_MAX_PATTERNS: Final = 50
# The parts of a regular expression that a pattern with asterisks can say.
_ANYTHING: Final = re.compile(r"(?:\.|\[\^/\]|\\d|\\w|\\S|\[\w-\]|\[a-z0-9-\])[*+]\??")
_SLASHES: Final = re.compile(r"/[*?]")
_CHOICE: Final = re.compile(r"\((?:\?:)?([^()]*)\)")
_ESCAPED: Final = re.compile(r"\\([^\w])")
_SPECIAL: Final = re.compile(r"[\\^$+?\[\]{}()|]")
_STAR: Final = "\0"  # stands for an asterisk of ours until the end


def crawl_wishes(body: CrawlBody, least_delay: float) -> tuple[dict[str, Any], Wish, list[str]]:
    """The body for POST /api/crawls, what is wanted of each page, and what cannot be done."""
    wishes = PageWishes.of(body.scrape_options or ScrapeOptions())
    warnings, unmet = _unmet(body, wishes)
    ours: dict[str, Any] = {
        "seeds": [body.url],
        "render": "never" if wishes.visit["render"] == "never" else "auto",
        "screenshots": wishes.screenshot is not None,
        "sitemaps": not body.ignore_sitemap and body.sitemap != "skip",
        **_scope(body),
    }
    if body.limit is not None:
        ours["maxPages"] = min(max(body.limit, 1), MAX_PAGES)
    depth = body.max_discovery_depth if body.max_discovery_depth is not None else body.max_depth
    if depth is not None:
        ours["maxDepth"] = min(max(depth, 0), MAX_DEPTH)
    if body.delay is not None and body.delay > least_delay:
        ours["delay"] = body.delay
    if body.ignore_query_parameters:
        ours["ignoreParameters"] = ["*"]
    if wishes.visit.get("headers"):
        ours["headers"] = wishes.visit["headers"]
    wanted = wishes.for_jobs | (Wish.UNMET if unmet else Wish(0))
    ours["webhook"] = webhook_wish(body.webhook, wanted)
    return ours, wanted, [*wishes.warnings, *warnings]


def _unmet(body: CrawlBody, wishes: PageWishes) -> tuple[list[str], bool]:
    """What cannot be done, and whether the documents lack something for it."""
    lacking = unmet_in_jobs(wishes) + [
        name
        for name, given in (
            ("includeTags", wishes.reading["include"]),
            ("excludeTags", wishes.reading["exclude"]),
            ("waitFor and actions", wishes.visit.get("actions")),
            ("mobile", wishes.visit.get("device")),
            ("location", wishes.visit.get("locale")),
        )
        if given
    ]
    warnings = [f"Crawls do not support {', '.join(lacking)}."] if lacking else []
    others = (
        (body.max_concurrency, CONCURRENCY),
        (body.ignore_robots_txt, "`ignoreRobotsTxt` is not supported: robots.txt is always obeyed."),
        (body.prompt, "`prompt` is not supported: give the options themselves."),
        (body.sitemap == "only", "`sitemap: only` is not supported: links are followed too."),
    )
    return warnings + [said for given, said in others if given], bool(lacking or wishes.warnings)


def unmet_in_jobs(wishes: PageWishes) -> list[str]:
    """Formats that single pages have, and pages of jobs have not."""
    names = [*wishes.extracts, *(["summary"] if wishes.summary else [])]
    return [f"the format {name!r}" for name in names]


# Where a crawl goes.


def _scope(body: CrawlBody) -> dict[str, Any]:
    include = _patterns(body.include_paths, body)
    scope = "host"
    if body.allow_external_links:
        scope = "any"
    elif body.allow_subdomains:
        scope = "domain"
    elif not (body.crawl_entire_domain or body.allow_backward_links):
        path = urlsplit(body.url).path
        if include:
            scope = "prefix"
        elif path not in ("", "/"):
            include = [f"{path}*"]
    return {"scope": scope, "include": include, "exclude": _patterns(body.exclude_paths, body)}


def _patterns(expressions: list[str] | None, body: CrawlBody) -> list[str]:
    found = [
        pattern
        for expression in expressions or ()
        for pattern in to_patterns(expression, whole_url=bool(body.regex_on_full_url))
    ]
    if len(found) > _MAX_PATTERNS:
        raise validation_error(f"There are more than {_MAX_PATTERNS} paths to include or exclude.")
    return found


def to_patterns(expression: str, *, whole_url: bool = False) -> list[str]:
    """A regular expression that is looked for in a path, as patterns with asterisks. Raises `Problem` for
    one that these cannot say: a crawl that goes elsewhere would be worse than none."""
    begins, ends = expression.startswith("^"), expression.endswith("$") and not expression.endswith("\\$")
    inner = expression[begins : len(expression) - ends]
    return [_pattern(one, expression, begins, ends, whole_url) for one in _choices(inner)]


def _choices(expression: str) -> list[str]:
    """`a(b|c)` is `ab` and `ac`."""
    parts = _CHOICE.split(expression)
    options = [part.split("|") if at % 2 else [part] for at, part in enumerate(parts)]
    return ["".join(chosen) for chosen in product(*options)][: _MAX_PATTERNS + 1]


def _pattern(text: str, expression: str, begins: bool, ends: bool, whole_url: bool) -> str:
    text = _SLASHES.sub("", _ANYTHING.sub(_STAR, text))
    bare = _ESCAPED.sub("", text)
    if _SPECIAL.search(bare) or "*" in bare:
        raise _not_a_pattern(expression)
    text = _ESCAPED.sub(r"\1", text)
    if not begins:
        text = _STAR + text
    if not ends:
        text += _STAR
    if not whole_url and not text.startswith(("/", f"{_STAR}/")):
        text = f"/{text}"  # compared with the path, not with the whole URL
    return re.sub(f"{_STAR}+", "*", text)


def _not_a_pattern(expression: str) -> Problem:
    return validation_error(
        f"This path is more than a crawl here can be limited by: {expression[:200]!r}.",
        hint="Use plain text, `.*`, `[^/]+`, `(a|b)`, `^` and `$`.",
    )
