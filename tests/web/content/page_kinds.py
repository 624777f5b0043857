"""Pages of many kinds, in many layouts, with what belongs to their content and what does not.

Every kind of content stands in every layout. The words are made up, and every page differs from the others.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Final

_OPENINGS: Final = (
    "The {0} of {1} was built by hand, and",
    "Nobody in {1} remembers when the {0} arrived, but",
    "After a long winter, the {0} near {1} opened again, because",
    "Visitors who ask for the {0} are sent to {1}, where",
    "Three years ago the council of {1} sold its {0}, although",
)
_ENDINGS: Final = (
    "it still draws people from the whole valley every weekend.",
    "the repairs cost more than anyone had expected, as the minutes show.",
    "the people who look after it say that they would not do anything else.",
    "a new generation has taken over, and it works with better tools.",
    "there is talk of a second one, which would stand on the other bank.",
)
_THINGS: Final = ("bridge", "loom", "mill", "archive", "orchard", "ferry", "kiln", "observatory")
_PLACES: Final = ("Harrow", "Lindau", "Castell", "Morren", "Aldby", "Vesterholm", "Quay Street")


def sentences(seed: int, count: int) -> list[str]:
    """Sentences that differ by seed."""
    made = []
    for at in range(count):
        number = seed * 7 + at * 3
        opening = _OPENINGS[number % 5].format(_THINGS[(seed + at) % 8], _PLACES[(seed + 2 * at) % 7])
        made.append(f"{opening} {_ENDINGS[(seed + at * 2) % 5]} Item {seed}-{at} of the record says so, too.")
    return made


def paragraphs(seed: int, count: int) -> str:
    return "".join(f"<p>{sentence}</p>" for sentence in sentences(seed, count))


@dataclass(frozen=True, slots=True)
class Kind:
    """Content of one kind, without a layout around it."""

    name: str
    title: str
    body: str
    wanted: tuple[str, ...]
    unwanted: tuple[str, ...] = ()
    tag: str = "article"


@dataclass(frozen=True, slots=True)
class KnownPage:
    name: str
    html: str
    wanted: tuple[str, ...]
    unwanted: tuple[str, ...]


def _article(seed: int) -> Kind:
    lines = sentences(seed, 7)
    middle = "".join(f"<p>{line}</p>" for line in lines[:4])
    body = (
        f"{middle}<h2>What happens next in {seed}</h2><ul>"
        f"<li>First, the roof of house {seed} is mended.</li>"
        "<li>Then the doors are painted green again.</li></ul>"
        f"{''.join(f'<p>{line}</p>' for line in lines[4:])}"
        f'<div class="related-posts"><h3>Related</h3><a href="/r1">A walk along canal {seed}</a>'
        f'<a href="/r2">Ten ferries of the north</a><a href="/r3">How to mend a net</a></div>'
    )
    wanted = (lines[0], lines[3], f"What happens next in {seed}", f"the roof of house {seed}", lines[6])
    return Kind("article", f"The story of number {seed}", body, wanted, (f"A walk along canal {seed}",))


def _short_news(seed: int) -> Kind:
    first, second = sentences(seed, 2)
    return Kind("short news", f"Notice {seed}", f"<p>{first}</p><p>{second}</p>", (first, second))


def _blog_with_comments(seed: int) -> Kind:
    lines = sentences(seed, 5)
    comments = "".join(
        f'<li class="comment"><b>reader{at}</b><p>I was there in '
        f"{seed + at}, and I liked every minute of it.</p></li>"
        for at in range(4)
    )
    body = (
        f"{''.join(f'<p>{line}</p>' for line in lines)}<section "
        f"id='comments'><h2>Comments</h2><ol>{comments}</ol></section>"
    )
    return Kind("blog", f"Diary {seed}", body, (lines[0], lines[4]), (f"I was there in {seed + 1}",))


def _documentation(seed: int) -> Kind:
    first, second, third = sentences(seed, 3)
    body = (
        f"<h2>Install</h2><p>{first}</p><pre><code>pip install thing-{seed}</code></pre><h2>Options</h2>"
        f"<table><thead><tr><th>Name</th><th>Meaning</th></tr></thead><tbody><tr><td>--depth-{seed}</td>"
        f"<td>how far it goes</td></tr><tr><td>--quiet</td><td>prints nothing</td></tr></tbody></table>"
        f"<p>{second}</p><dl><dt>retry-{seed}</dt><dd>{third}</dd></dl>"
        f'<div class="admonition note"><p>Version {seed} '
        "needs a newer compiler than the one before.</p></div>"
    )
    wanted = (
        f"pip install thing-{seed}",
        f"--depth-{seed}",
        "prints nothing",
        third,
        f"Version {seed} needs",
    )
    return Kind("documentation", f"Manual of thing {seed}", body, wanted, (), "main")


def _listing(seed: int) -> Kind:
    items = "".join(
        f'<div class="item"><h3><a href="/{seed}/{at}">Entry '
        f"{seed}-{at}: {_THINGS[at]} of {_PLACES[at % 7]}</a></h3></div>"
        for at in range(8)
    )
    return Kind("listing", f"Archive {seed}", items, (f"Entry {seed}-0", f"Entry {seed}-7"), (), "main")


def _teasers(seed: int) -> Kind:
    items = "".join(
        f'<article><h2><a href="/{seed}/{at}">Post {seed}-{at}</a></h2><p>{line}</p></article>'
        for at, line in enumerate(sentences(seed, 6))
    )
    lines = sentences(seed, 6)
    return Kind("home page", f"Journal {seed}", items, (lines[0], lines[5], f"Post {seed}-3"), (), "main")


def _product(seed: int) -> Kind:
    first, second = sentences(seed, 2)
    body = (
        f'<div class="price">EUR {seed}.90</div><div '
        f'class="product-description"><p>{first}</p><p>{second}</p></div>'
        "<h2>Specification</h2><table><tr><th>Weight</th><td>"
        f"{seed} kg</td></tr><tr><th>Colour</th><td>slate grey"
        f"</td></tr><tr><th>Material</th><td>oak and steel</td></tr></table>"
    )
    return Kind("product", f"Chair model {seed}", body, (first, second, "oak and steel"), (), "main")


def _forum(seed: int) -> Kind:
    posts = "".join(
        f'<div class="post"><div class="post-author">user{at}</div>'
        f'<div class="post-body"><p>{line}</p></div></div>'
        for at, line in enumerate(sentences(seed, 5))
    )
    lines = sentences(seed, 5)
    return Kind("forum", f"Question {seed}", posts, (lines[0], lines[2], lines[4]), (), "main")


def _questions(seed: int) -> Kind:
    pairs = "".join(
        f"<h3>Question {seed}-{at}?</h3><p>{line}</p>" for at, line in enumerate(sentences(seed, 5))
    )
    return Kind(
        "questions", f"Help {seed}", pairs, (f"Question {seed}-2?", sentences(seed, 5)[3]), (), "main"
    )


def _recipe(seed: int) -> Kind:
    lines = sentences(seed, 2)
    body = (
        f"<p>{lines[0]}</p><h2>Ingredients</h2><ul><li>{seed} g "
        "flour</li><li>2 eggs from the farm</li><li>salt</li></ul>"
        f"<h2>Method</h2><ol><li>Mix everything for {seed} minutes.</li>"
        f"<li>Bake it until it is brown.</li></ol><p>{lines[1]}</p>"
    )
    return Kind("recipe", f"Bread {seed}", body, (f"{seed} g flour", "Bake it until it is brown.", lines[1]))


def _reference_list(seed: int) -> Kind:
    lines = sentences(seed, 4)
    notes = "".join(f'<li id="n{at}">Smith, Records of {seed + at}, page {at}.</li>' for at in range(3))
    body = (
        f"{''.join(f'<p>{line}</p>' for line in lines)}<section class='footnotes'><ol>{notes}</ol></section>"
    )
    return Kind("footnotes", f"Essay {seed}", body, (lines[0], f"Records of {seed + 2}"))


def _foreign(seed: int) -> Kind:
    lines = tuple(
        f"这座第{seed + at}号桥梁对整个山谷的居民都很重要。每年春天人们都要修理它。费用由村里承担。"
        for at in range(4)
    )
    return Kind("Chinese", f"第{seed}号桥", "".join(f"<p>{line}</p>" for line in lines), lines)


def _event(seed: int) -> Kind:
    first, second = sentences(seed, 2)
    body = (
        f'<ul class="event-meta"><li><time datetime="2024-05-{seed % 28 + 1:02}">Day {seed}</time></li>'
        f"<li>Hall {seed}, Harrow</li></ul><p>{first}</p><h2>Programme</h2><table>"
        f"<tr><td>10:00</td><td>Doors of hall {seed}</td></tr><tr><td>11:30</td><td>Talk on looms</td></tr>"
        f"</table><p>{second}</p>"
    )
    return Kind("event", f"Open day {seed}", body, (first, second, f"Doors of hall {seed}", "Talk on looms"))


def _vacancy(seed: int) -> Kind:
    lines = sentences(seed, 2)
    duties = "".join(f"<li>Look after machine {seed}-{at} and its tools</li>" for at in range(4))
    body = (
        f"<p>{lines[0]}</p><h2>Your work</h2><ul>{duties}</ul><h2>What we offer</h2>"
        f"<ul><li>{seed} days off</li><li>A bicycle</li></ul><p>{lines[1]}</p>"
    )
    wanted = (lines[0], lines[1], f"machine {seed}-3", f"{seed} days off")
    return Kind("vacancy", f"Millwright {seed}", body, wanted, (), "main")


def _changelog(seed: int) -> Kind:
    releases = "".join(
        f"<h2>{seed}.{at}.0</h2><ul><li>Fixed: crash {seed}-{at} when a file is empty</li>"
        f"<li>Added: <code>--mode-{at}</code></li></ul>"
        for at in range(5)
    )
    wanted = (f"{seed}.4.0", f"crash {seed}-0", "--mode-3")
    return Kind("changelog", f"Releases of tool {seed}", releases, wanted, (), "main")


def _api_reference(seed: int) -> Kind:
    entries = "".join(
        f'<dl class="function"><dt id="f{at}"><code>open_{seed}_{at}(path, mode)</code></dt>'
        f"<dd><p>{line}</p><ul><li><strong>path</strong>: where entry {at} is</li></ul></dd></dl>"
        for at, line in enumerate(sentences(seed, 4))
    )
    wanted = (f"open_{seed}_0(path, mode)", sentences(seed, 4)[3], "where entry 2 is")
    return Kind("API reference", f"Module {seed}", entries, wanted, (), "main")


def _encyclopedia(seed: int) -> Kind:
    lines = sentences(seed, 5)
    box = (
        f'<table class="infobox"><tr><th>Founded</th><td>18{seed:02}</td></tr>'
        f"<tr><th>River</th><td>The Arrow</td></tr></table>"
    )
    body = (
        f"{box}<p>{lines[0]}</p><p>{lines[1]}</p><h2>History</h2><p>{lines[2]}</p><h2>See also</h2>"
        f'<ul><li><a href="/w1">Mills of {seed}</a></li></ul><p>{lines[3]}</p><p>{lines[4]}</p>'
    )
    return Kind("encyclopedia", f"Mill {seed}", body, (lines[0], lines[2], lines[4], "The Arrow"), (), "main")


def _found_pages(seed: int) -> Kind:
    items = "".join(
        f'<li class="result"><a href="/{seed}/{at}">Result {seed}-{at}</a><p class="snippet">{line}</p></li>'
        for at, line in enumerate(sentences(seed, 6))
    )
    wanted = (f"Result {seed}-0", sentences(seed, 6)[2], f"Result {seed}-5")
    return Kind("search results", f"Results for {seed}", f"<ol>{items}</ol>", wanted, (), "main")


KINDS: Final[tuple[Callable[[int], Kind], ...]] = (
    _article,
    _short_news,
    _blog_with_comments,
    _documentation,
    _listing,
    _teasers,
    _product,
    _forum,
    _questions,
    _recipe,
    _reference_list,
    _foreign,
    _event,
    _vacancy,
    _changelog,
    _api_reference,
    _encyclopedia,
    _found_pages,
)


# Layouts.

_MENU: Final = "".join(f'<li><a href="/m{at}">Menu entry {at}</a></li>' for at in range(6))
_ASIDE: Final = (
    "<h4>Popular this week</h4><ul><li><a href='/p1'>The "
    "tallest towers</a></li><li><a href='/p2'>Bread and "
    "salt</a></li></ul><p>Join our readers and get one letter a week, free of charge.</p>"
)
_LEGAL: Final = (
    "<p>© 2024 The Example Company. All rights reserved. "
    "Use of this site means that you accept our terms.</p>"
)
_BESIDE: Final = ("Menu entry 3", "Popular this week", "Join our readers", "All rights reserved")


def _semantic(kind: Kind) -> str:
    return (
        f"<header><nav><ul>{_MENU}</ul></nav></header>"
        f"<{kind.tag}><h1>{kind.title}</h1>{kind.body}</{kind.tag}>"
        f"<aside>{_ASIDE}</aside><footer>{_LEGAL}</footer>"
    )


def _divisions(kind: Kind) -> str:
    return (
        f'<div id="nav"><ul>{_MENU}</ul></div><div id="wrapper">'
        f'<div class="post-content"><h1>{kind.title}</h1>'
        f'{kind.body}</div><div class="sidebar">{_ASIDE}</div></div><div id="footer">{_LEGAL}</div>'
    )


def _misnamed(kind: Kind) -> str:
    """The names around the content are those of the layout."""
    return (
        f'<div class="site-header"><ul class="menu">{_MENU}</ul></div><div class="content-sidebar-wrap">'
        f'<div class="right-rail-layout no-comments"><h1>{kind.title}</h1>{kind.body}</div>'
        f'<div class="widget-area sidebar">{_ASIDE}</div></div><div class="site-footer">{_LEGAL}</div>'
    )


def _nameless(kind: Kind) -> str:
    """Utility classes say nothing."""
    return (
        f'<div class="flex px-4"><ul>{_MENU}</ul></div><div '
        f'class="max-w-3xl mx-auto"><h1>{kind.title}</h1>{kind.body}</div>'
        f'<div class="grid gap-2">{_ASIDE}</div><div class="text-sm">{_LEGAL}</div>'
    )


def _table(kind: Kind) -> str:
    return (
        f"<table><tr><td colspan=3><ul>{_MENU}</ul></td></tr>"
        f"<tr><td width=120>{_ASIDE}</td><td><h1>{kind.title}</h1>"
        f"{kind.body}</td></tr><tr><td colspan=3>{_LEGAL}</td></tr></table>"
    )


def _components(kind: Kind) -> str:
    return (
        f"<app-root><app-header><ul>{_MENU}</ul></app-header>"
        f"<app-page><h1>{kind.title}</h1>{kind.body}</app-page>"
        f"<app-sidebar class='sidebar'>{_ASIDE}</app-sidebar>"
        f"<app-footer class='footer'>{_LEGAL}</app-footer></app-root>"
    )


LAYOUTS: Final[tuple[Callable[[Kind], str], ...]] = (
    _semantic,
    _divisions,
    _misnamed,
    _nameless,
    _table,
    _components,
)


def known_pages() -> Iterator[KnownPage]:
    seeds = islice(cycle(range(11, 97, 5)), len(KINDS) * len(LAYOUTS))
    for (make, layout), seed in zip(((k, y) for k in KINDS for y in LAYOUTS), seeds, strict=True):
        kind = make(seed)
        html = (
            f"<!doctype html><html lang=en><head><title>{kind.title} "
            f"| Example</title></head><body>{layout(kind)}</body></html>"
        )
        name = f"{kind.name}, {layout.__name__.strip('_')}"
        yield KnownPage(name, html, kind.wanted, (*kind.unwanted, *_BESIDE))
