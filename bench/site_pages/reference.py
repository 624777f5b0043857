"""A manual, and the decisions of a council. Much on their pages repeats, and is content all the same."""

from typing import Final

from bench.site_pages.site import MadeSite, SitePage, document, paragraphs, sentences

_VERSION: Final = (
    "You are reading the manual of a version that is still in development. The manual of the newest release "
    "is what you want unless you have built the program yourself."
)
_HELP: Final = (
    "Did this page not answer your question? Ask in our forum, where the developers read along, or open a "
    "ticket with the output of the doctor command."
)


def _manual(number: int) -> SitePage:
    title = f"The command weave-{number}"
    own = sentences("manual", number, 4)
    usage = f"weave-{number} [--depth N] [--quiet] FILE"
    options = (
        ("--depth N", "how many levels below the first one are read"),
        ("--quiet", "print nothing but errors, and those on standard error"),
    )
    rows = "".join(f"<tr><td>{name}</td><td>{meaning}</td></tr>" for name, meaning in options)
    body = (
        f'<div class="doc"><div class="n1"><p>{_VERSION}</p></div><h1>{title}</h1>{paragraphs(own[:1])}'
        f"<h2>Usage</h2><pre>{usage}</pre>{paragraphs(own[1:3])}<h2>Options</h2><table><tr><th>Name</th>"
        f"<th>Meaning</th></tr>{rows}</table><h2>Notes</h2>{paragraphs(own[3:])}<p>{_HELP}</p></div>"
    )
    cells = "\n".join(f"{name} {meaning}" for name, meaning in options)
    text = "\n".join((title, own[0], "Usage", usage, *own[1:3], "Options", "Name Meaning", cells, "Notes"))
    text = f"{text}\n{own[3]}"
    return SitePage(document(title, "Weave", body), text, (_VERSION, _HELP))


_BASIS: Final = (
    "Decisions of the council are published under section fourteen of the charter, and take effect on the "
    "day after their publication unless they say otherwise."
)
_OBJECTIONS: Final = (
    "Objections can be sent to the town clerk in writing within four weeks. They must name the decision, and "
    "do not delay it unless the court says so."
)
_ACCESS: Final = (
    "This page is meant to be readable for everyone. If you cannot use a part of it, call the clerk, "
    "and somebody will read it to you."
)


def _decision(number: int) -> SitePage:
    title = f"Decision {number} of the council"
    own = [*sentences("council", number, 4), f"The council grants {1_200 + 35 * number} euros for the works."]
    body = (
        f"<table><tr><td><h1>{title}</h1><p>{_BASIS}</p>{paragraphs(own)}<p>{_OBJECTIONS}</p><p>{_ACCESS}</p>"
        "</td></tr></table>"
    )
    passages = (_BASIS, _OBJECTIONS, _ACCESS)
    return SitePage(document(title, "Town of Morren", body), "\n".join((title, *own)), passages)


MANUAL: Final = MadeSite("manual", _manual)
COUNCIL: Final = MadeSite("council", _decision)
