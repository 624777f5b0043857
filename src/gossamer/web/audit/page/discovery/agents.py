"""Agent readiness: what AI search, assistants and the models behind them see of the page."""

import re
from typing import Final

from gossamer.web.audit.check import CheckMaker, PageAnswer, Severity, Theme, not_fetched, page_has_no
from gossamer.web.audit.page.subject import Subject
from gossamer.web.content import tokens
from gossamer.web.html.markup_scan import weight
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.robots.bots import BOTS, Purpose

MAX_TOKENS: Final = 30_000
SHARE_KEPT: Final = 0.6  # of headings, lists and tables
MIN_CHARS: Final = 400  # below this, scripts probably bring the rest
_MARKDOWN_HEADING: Final = re.compile(r"^#{1,6} +(\S.*)$", re.M)
_MARKDOWN_TABLE: Final = re.compile(r"^\|? *:?-{3,}:? *(?:\|.*)?$", re.M)
_MARKDOWN_ITEM: Final = re.compile(r"^ *(?:[-*+]|[0-9]{1,9}[.)]) ", re.M)
_MARKDOWN_FENCE: Final = re.compile(r"^ *(?:```|~~~)", re.M)
_ARTICLE_KINDS: Final = ("Article", "NewsArticle", "BlogPosting", "TechArticle", "Report", "Review", "Recipe")
_NO_AI: Final = ("noai", "noimageai")

check = CheckMaker[Subject](Theme.AGENTS, "page")


@check(
    "agents-search-blocked",
    Severity.SERIOUS,
    title="robots.txt keeps AI search from the page",
    passed="robots.txt lets AI search read the page",
    why="AI search answers only from pages that these robots may read. They are not the ones that train "
    "models.",
    fix="Allow them in `robots.txt`. Training can stay forbidden: other robots do it.",
    html=False,
)
def agents_search_blocked(subject: Subject) -> PageAnswer:
    return _list_blocked(subject, Purpose.SEARCH)


@check(
    "agents-user-blocked",
    Severity.SERIOUS,
    title="robots.txt keeps assistants from the page that their users ask for",
    passed="robots.txt lets assistants fetch the page for their users",
    why="A user asks for this very page, and the assistant has to answer that it cannot read it.",
    fix="Allow them in `robots.txt`.",
    html=False,
)
def agents_user_blocked(subject: Subject) -> PageAnswer:
    return _list_blocked(subject, Purpose.USER)


@check(
    "agents-training-stance",
    Severity.INFO,
    title="robots.txt keeps robots that train models from the page",
    passed="robots.txt lets robots that train models read the page",
    why="This is a choice, not a fault: models can answer from pages that they learned from without a "
    "search.",
    fix="Nothing, if it is meant. Allow them if models should know the page.",
    html=False,
)
def agents_training_stance(subject: Subject) -> PageAnswer:
    return _list_blocked(subject, Purpose.TRAINING)


@check(
    "agents-training-mixed",
    Severity.MINOR,
    title="robots.txt forbids training to some and allows it to others",
    passed="robots.txt treats all robots that train models alike",
    why="Most often the list was copied once and has aged, so new names are missing.",
    fix="Decide once, and list all of them.",
    html=False,
)
def agents_training_mixed(subject: Subject) -> PageAnswer:
    if subject.rules is None:
        return not_fetched("robots.txt")
    tokens_of = [bot.token for bot in BOTS if bot.purpose is Purpose.TRAINING]
    free = [token for token in tokens_of if subject.rules.is_allowed(token, subject.url)]
    return [f"allowed: {', '.join(free)}"] if 0 < len(free) < len(tokens_of) else []


@check(
    "agents-opt-out",
    Severity.INFO,
    title="The page asks not to be used by AI",
    passed="The page does not ask to be left alone by AI",
    why="Few robots obey `noai`, and those that do leave the page out of their answers too.",
    fix="Nothing, if it is meant. `robots.txt` is obeyed by more of them.",
    html=False,
)
def agents_opt_out(subject: Subject) -> PageAnswer:
    return [f"{one.name} in the {one.where}" for one in subject.asks(*_NO_AI)]


@check(
    "agents-script-needed",
    Severity.SERIOUS,
    title="The text is there only after scripts have run",
    passed="The text is there without scripts",
    why="Most AI robots do not run scripts: they see what the server sends, and nothing else.",
    fix="Render the page on the server, or serve robots a rendered copy.",
)
def agents_script_needed(subject: Subject) -> PageAnswer:
    judgement = subject.reading.judgement
    if judgement.outcome is Outcome.EMPTY:
        return [judgement.reason or "nothing to read"]
    mounted = subject.tree.css_first("#root:empty, #app:empty, #__next:empty, #__nuxt:empty, app-root:empty")
    length = weight(subject.reading.text)
    if mounted is not None and length < MIN_CHARS:
        return [f"an element for scripts to fill, and {subject.reading.words} words besides"]
    return []


@check(
    "agents-no-main",
    Severity.MINOR,
    title="The page does not say which part is its content",
    passed="The page says which part is its content",
    why="Readers for people and machines have to guess where menus end and the text begins.",
    fix="Put the content into `<main>`, or an article into `<article>`.",
)
def agents_no_main(subject: Subject) -> PageAnswer:
    marked = subject.tree.css_first("main, [role='main'], article")
    return [] if marked is not None else ["neither `<main>` nor `<article>`"]


@check(
    "agents-main-unclear",
    Severity.MODERATE,
    title="The content cannot be told from what is around it",
    passed="The content can be told from what is around it",
    why="An agent then reads the whole page, menus and all, and pays for every word of it.",
    fix="Put running text into paragraphs inside `<main>`, and navigation into `<nav>`.",
)
def agents_main_unclear(subject: Subject) -> PageAnswer:
    return ["no main content was recognised"] if subject.reading.fallback else []


@check(
    "agents-headings-lost",
    Severity.MINOR,
    title="Headings of the content do not reach an agent",
    passed="The headings of the content reach an agent",
    why="Models find their way, and retrieval cuts a text into passages, by its headings.",
    fix="Use real heading elements inside the content, without buttons and hidden parts in them.",
)
def agents_headings_lost(subject: Subject) -> PageAnswer:
    inside = _inside(subject, "h2, h3, h4")
    kept = len(_MARKDOWN_HEADING.findall(subject.reading.markdown))
    if not inside:
        return page_has_no("headings in its content")
    return [f"{kept} of {inside} headings"] if kept < inside * SHARE_KEPT else []


@check(
    "agents-structure-lost",
    Severity.MINOR,
    title="Lists, tables or code of the content do not reach an agent",
    passed="Lists, tables and code of the content reach an agent",
    why="Lists become a heap of words, and numbers lose their rows.",
    fix="Use plain `<ul>`, `<table>` and `<pre>` elements in the content, visible without a click.",
)
def agents_structure_lost(subject: Subject) -> PageAnswer:
    markdown = subject.reading.markdown
    kinds = (
        ("list items", _inside(subject, "li"), len(_MARKDOWN_ITEM.findall(markdown))),
        ("tables", _inside(subject, "table:has(th)"), len(_MARKDOWN_TABLE.findall(markdown))),
        ("blocks of code", _inside(subject, "pre"), len(_MARKDOWN_FENCE.findall(markdown)) // 2),
    )
    if not any(inside for _, inside, _ in kinds):
        return page_has_no("lists, tables or code in its content")
    return [f"{kept} of {inside} {name}" for name, inside, kept in kinds if kept < inside * SHARE_KEPT]


@check(
    "agents-tokens",
    Severity.MODERATE,
    title="The content is too long for an agent to read at once",
    passed="An agent can read the content at once",
    why="It is cut off, summarised, or left for a cheaper source.",
    fix=f"Divide content of more than {MAX_TOKENS:,} tokens into pages, with an overview that links to them.",
    html=False,
)
def agents_tokens(subject: Subject) -> PageAnswer:
    markdown = subject.reading.markdown
    if len(markdown) * tokens.MAX_TOKENS_PER_CHAR <= MAX_TOKENS:
        return []
    count = tokens.count(markdown)
    return [f"about {count:,} tokens"] if count > MAX_TOKENS else []


@check(
    "agents-date-missing",
    Severity.MINOR,
    title="The date of the article is not written for machines",
    passed="The date of the article is written for machines",
    why="An agent that has to choose between sources prefers the one whose age it knows.",
    fix="State `datePublished` and `dateModified` in JSON-LD, or a `<time datetime>` beside the headline.",
)
def agents_date_missing(subject: Subject) -> PageAnswer:
    if not _is_article(subject):
        return page_has_no("article")
    known = subject.reading.metadata.published_at or subject.reading.metadata.modified_at
    return [] if known else ["no date found"]


@check(
    "agents-author-missing",
    Severity.MINOR,
    title="The author of the article is not written for machines",
    passed="The author of the article is written for machines",
    why="People and ranking trust a text more when they know its author.",
    fix='State `author` in JSON-LD, or `<meta name="author" content="…">`.',
)
def agents_author_missing(subject: Subject) -> PageAnswer:
    if not _is_article(subject):
        return page_has_no("article")
    return [] if subject.reading.metadata.author else ["no author found"]


@check(
    "llms-txt-missing",
    Severity.MINOR,
    title="There is no llms.txt",
    passed="There is an llms.txt",
    why="It tells agents in a page of markdown what the site is and where its best parts are. Not all "
    "request it.",
    fix="Put `/llms.txt` at the root: a heading, a sentence on the site, and links with a line on each.",
    html=False,
)
def llms_txt_missing(subject: Subject) -> PageAnswer:
    if subject.llms is None:
        return not_fetched("llms.txt")
    return [] if subject.llms.exists and not _is_html(subject) else [f"nothing at {subject.llms.url}"]


@check(
    "llms-txt-format",
    Severity.MINOR,
    title="The llms.txt is not in the proposed form",
    passed="The llms.txt is in the proposed form",
    why="Programs that read it expect a heading first, and links in lists.",
    fix="Begin with `# Name of the site`, then sections with `- [Title](https://…): what is there`.",
    html=False,
)
def llms_txt_format(subject: Subject) -> PageAnswer:
    if subject.llms is None:
        return not_fetched("llms.txt")
    if not subject.llms.exists or _is_html(subject):
        return page_has_no("llms.txt")
    text = subject.llms.text.removeprefix("\ufeff").lstrip()[:100_000]
    lacks = [] if text.startswith("# ") else ["it does not begin with a heading"]
    return lacks if "](" in text else [*lacks, "it has no links"]


@check(
    "agents-markdown-twin",
    Severity.INFO,
    title="The page has no markdown version",
    passed="The page has a markdown version",
    why="Agents read markdown with a fraction of the tokens; some sites offer it beside the page.",
    fix='Offer one, and name it: `<link rel="alternate" type="text/markdown" href="…">`.',
)
def agents_markdown_twin(subject: Subject) -> PageAnswer:
    twin = subject.tree.css_first("link[rel~='alternate' i][type^='text/markdown']")
    return [] if twin is not None else ["no alternate of type text/markdown"]


def _list_blocked(subject: Subject, purpose: Purpose) -> PageAnswer:
    if subject.rules is None:
        return not_fetched("robots.txt")
    rules = subject.rules
    return [
        f"{bot.token} ({bot.operator})"
        for bot in BOTS
        if bot.purpose is purpose and not rules.is_allowed(bot.token, subject.url)
    ]


def _inside(subject: Subject, selector: str) -> int:
    """The number of matches inside what the page marks as its content."""
    content = subject.tree.css_first("main, [role='main']") or subject.tree.css_first("article")
    if content is None:
        return 0
    furniture = {
        node.mem_id
        for part in content.css(
            "nav, aside, footer, form, [hidden], [role='navigation'], [aria-hidden='true']"
        )
        for node in part.css(selector)
    }
    return sum(node.mem_id not in furniture for node in content.css(selector))


def _is_article(subject: Subject) -> bool:
    kinds = subject.structured.of_kind(*_ARTICLE_KINDS)
    return bool(kinds) or subject.meta("og:type").lower() == "article"


def _is_html(subject: Subject) -> bool:
    """Some sites answer every address with a page."""
    file = subject.llms
    return file is not None and ("html" in file.media_type or file.text.lstrip()[:1] == "<")


CHECKS: Final = (
    agents_search_blocked,
    agents_user_blocked,
    agents_training_stance,
    agents_training_mixed,
    agents_opt_out,
    agents_script_needed,
    agents_no_main,
    agents_main_unclear,
    agents_headings_lost,
    agents_structure_lost,
    agents_tokens,
    agents_date_missing,
    agents_author_missing,
    llms_txt_missing,
    llms_txt_format,
    agents_markdown_twin,
)
