"""DOCX: mammoth converts it by its styles: headings, lists, tables, notes, links."""

from typing import Any

from gossamer.web.documents.office.converted import MAX_HTML_CHARS, Converted
from gossamer.web.documents.office.package import Package, refuse


def convert_docx(package: Package) -> Converted:
    import mammoth  # only a reader that meets such a document loads it

    package.refuse_entities()
    try:
        html: str = mammoth.convert_to_html(package.whole(), convert_image=_without_images).value
    except Exception:  # noqa: BLE001  (it raises whatever a damaged document leads to)
        raise refuse("The document is damaged and cannot be read") from None
    return Converted(
        html=html[:MAX_HTML_CHARS],
        **package.core_properties(),
        complete=len(html) <= MAX_HTML_CHARS,
    )


def _without_images(_image: Any) -> list[Any]:
    return []
