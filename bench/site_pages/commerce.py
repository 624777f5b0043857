"""Reviews of products, and a shop."""

from typing import Final

from bench.site_pages.site import MadeSite, SitePage, document, paragraphs, sentences

_DISCLOSURE: Final = (
    "We buy what we review, and no maker sees a text before you do. If you buy through a link on this page, "
    "we may get a small commission, which does not change what you pay."
)
_TESTING: Final = (
    "Our workshop uses every tool for at least six weeks, in the hands of four people who do not know what "
    "it costs. We weigh, measure and drop it, and then we give it to somebody who has never held one."
)
_VERDICTS: Final = (
    "What a score means: with nine points or more, we would buy it again without a second look; with fewer "
    "than five, we gave it away."
)


def _review(number: int) -> SitePage:
    title = f"The bench plane No. {number}, tested"
    own = sentences("reviews", number, 5)
    body = (
        f"<main><h1>{title}</h1><p><em>{_DISCLOSURE}</em></p>{paragraphs(own[:3])}<h2>How we test</h2>"
        f"<p>{_TESTING}</p><p>{_VERDICTS}</p><h2>Our verdict on No. {number}</h2>{paragraphs(own[3:])}</main>"
    )
    text = "\n".join((title, *own[:3], f"Our verdict on No. {number}", *own[3:]))
    passages = (_DISCLOSURE, "How we test", _TESTING, _VERDICTS)
    return SitePage(document(title, "Shavings", body), text, passages)


_SHIPPING: Final = (
    "Orders that reach us before two in the afternoon leave our house the same day. Delivery takes two to "
    "four working days, and is free of charge above sixty euros."
)
_RETURNS: Final = (
    "If something does not fit, send it back within thirty days in its box. We pay for the parcel, and the "
    "money is in your account within a week of its arrival."
)
_WARRANTY: Final = (
    "Every piece of furniture comes with a warranty of five years on wood and joints. Oil it once a year, "
    "and it will outlast that by far."
)


def _product(number: int) -> SitePage:
    title = f"Oak shelf, model {number}"
    own = sentences("shop", number, 4)
    table = (
        f"<table><tr><th>Width of the shelf</th><td>{60 + number} cm</td></tr>"
        "<tr><th>Depth of the boards</th><td>28 cm, rounded at the front</td></tr>"
        "<tr><th>Material of the boards</th><td>solid oak from managed forests</td></tr></table>"
    )
    body = (
        f'<div class="p-4"><h1>{title}</h1><div class="t3">{paragraphs(own)}{table}<p>{_SHIPPING}</p>'
        f"<p>{_RETURNS}</p><p>{_WARRANTY}</p></div></div>"
    )
    cells = f"Width of the shelf {60 + number} cm\nDepth of the boards 28 cm, rounded at the front\n"
    cells += "Material of the boards solid oak from managed forests"
    passages = (_SHIPPING, _RETURNS, _WARRANTY)
    return SitePage(document(title, "Oakhouse", body), "\n".join((title, *own, cells)), passages)


REVIEWS: Final = MadeSite("reviews", _review)
SHOP: Final = MadeSite("shop", _product)
