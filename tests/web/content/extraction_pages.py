"""Pages that say things for machines, and what is asked of them."""

import json
from typing import Any

from gossamer.web.extract.extraction import Extraction, extract_data
from gossamer.web.extract.schema import schema
from gossamer.web.pages.page import Page

URL = "https://shop.example/rope"


def page(body: str | bytes, media_type: str = "text/html", url: str = URL) -> Page:
    raw = body.encode() if isinstance(body, str) else body
    return Page(
        url=url, final_url=url, status=200, headers=(), body=raw, media_type=media_type, charset="utf-8"
    )


def ld(*documents: Any) -> str:
    return "".join(f'<script type="application/ld+json">{json.dumps(one)}</script>' for one in documents)


def extracted(html: str, properties: dict[str, Any], **more: Any) -> Extraction:
    """What an object with these properties finds on the page."""
    return of_schema(html, {"type": "object", "properties": properties}, **more)


def of_schema(
    html: str, given: dict[str, Any], media_type: str = "text/html", text: bool = False
) -> Extraction:
    return extract_data(page(html, media_type), schema.read(given).document, with_text=text)


def data(html: str, properties: dict[str, Any], **more: Any) -> Any:
    return extracted(html, properties, **more).data


TEXT = {"type": "string"}
NUMBER = {"type": "number"}
WHOLE = {"type": "integer"}
FLAG = {"type": "boolean"}
DATE = {"type": "string", "format": "date"}
LINK = {"type": "string", "format": "uri"}


def listed(item: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": item, **more}


def things(**members: Any) -> dict[str, Any]:
    return {"type": "object", "properties": members}
