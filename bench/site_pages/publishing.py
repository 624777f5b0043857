"""A newspaper, and the blog of a company."""

from typing import Final

from bench.site_pages.site import MadeSite, SitePage, document, paragraphs, sentences

_COOKIES: Final = (
    (
        "We and our partners store information on your device, such as identifiers in cookies, to choose and "
        "measure advertising, and to learn how our pages are read."
    ),
    (
        "You can change your choice at any time at the bottom of every page, and object where we rely on a "
        "legitimate interest."
    ),
)
_LETTER: Final = (
    "Every Friday, our editors send the five stories that mattered most, with the background that did not "
    "fit into the paper. More than forty thousand people read it."
)
_SUPPORT: Final = (
    "Independent reporting takes time and money. If you value what you read here, consider becoming a "
    "member: it costs less than a coffee a week, and it keeps our pages open to everybody."
)
_CORRECTIONS: Final = (
    "Our newsroom corrects errors of fact promptly and in the open. If you have seen one, write to the desk "
    "and name the article."
)


def _news(number: int) -> SitePage:
    title = f"District report {number}: the works go on"
    own = sentences("news", number, 5 + number % 3)
    cookies = f'<div class="x1 layer">{paragraphs(list(_COOKIES))}</div>'
    body = (
        f"{cookies}<article><h1>{title}</h1>{paragraphs(own[:2])}<p>{_LETTER}</p>{paragraphs(own[2:])}"
        f"<p>{_SUPPORT}</p><p>{_CORRECTIONS}</p></article>"
    )
    passages = (*_COOKIES, _LETTER, _SUPPORT, _CORRECTIONS)
    return SitePage(document(title, "District Paper", body), "\n".join((title, *own)), passages)


_AUTHORS: Final = (
    (
        "Mara Lind looks after the storage engine. Before she joined us, she built instruments for ships, "
        "and she still sails when the weather lets her."
    ),
    (
        "Jonas Adler writes about tests, tools and the people who use them. He keeps bees on the roof of our "
        "office, and will talk about either for hours."
    ),
    (
        "Ife Okoro leads the team that answers when something breaks at night. She collects old radios, and "
        "has repaired most of them."
    ),
)
_COMPANY: Final = (
    "Fathom makes software that plans the maintenance of water works. Two hundred utilities in nine "
    "countries use it, from villages to cities of a million."
)
_HIRING: Final = (
    "We are hiring engineers who like hard problems and short meetings. You can work from anywhere in our "
    "time zones, and we pay for the journey when we meet."
)


def _blog(number: int) -> SitePage:
    title = f"Notes from release {number}"
    own = sentences("blog", number, 6)
    author = _AUTHORS[number % len(_AUTHORS)]
    code = f"fathom plan --release {number} --dry-run"
    body = (
        f'<div class="wrap"><div class="c7"><h1>{title}</h1>{paragraphs(own[:3])}<pre>{code}</pre>'
        f"{paragraphs(own[3:])}<p>{author}</p><h2>About Fathom</h2><p>{_COMPANY}</p><p>{_HIRING}</p>"
        "</div></div>"
    )
    text = "\n".join((title, *own[:3], code, *own[3:]))
    return SitePage(document(title, "Fathom", body), text, (author, "About Fathom", _COMPANY, _HIRING))


NEWS: Final = MadeSite("newspaper", _news)
BLOG: Final = MadeSite("company blog", _blog)
