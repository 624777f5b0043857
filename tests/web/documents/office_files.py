"""Office documents, written by hand where no library of ours writes them."""

import io
import zipfile
from collections.abc import Mapping
from typing import Final

W: Final = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
P: Final = "http://schemas.openxmlformats.org/presentationml/2006/main"
A: Final = "http://schemas.openxmlformats.org/drawingml/2006/main"
R: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
TYPES: Final = "http://schemas.openxmlformats.org/package/2006/content-types"
RELS: Final = "http://schemas.openxmlformats.org/package/2006/relationships"
CORE: Final = (
    '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/">'
    "<dc:title>Yearly report</dc:title><dc:creator>Ada Brandt</dc:creator>"
    "<dcterms:created>2026-03-04T09:00:00Z</dcterms:created></cp:coreProperties>"
)


def packed(files: Mapping[str, str | bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            how = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(name, content, compress_type=how)
    return made.getvalue()


def docx(body: str, **more: str) -> bytes:
    """A document whose styles `Heading1` and so on are headings."""
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="Heading{n}"><w:name w:val="heading {n}"/></w:style>'
        for n in (1, 2)
    )
    links = "".join(
        f'<Relationship Id="{name}" Type="{R}/hyperlink" Target="{url}" TargetMode="External"/>'
        for name, url in more.items()
    )
    return packed(
        {
            "[Content_Types].xml": f'<Types xmlns="{TYPES}"><Override PartName="/word/document.xml" '
            'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/>'
            "</Types>",
            "_rels/.rels": f'<Relationships xmlns="{RELS}"><Relationship Id="r1" Type="{R}/officeDocument" '
            'Target="word/document.xml"/></Relationships>',
            "word/document.xml": f'<w:document xmlns:w="{W}" xmlns:r="{R}"><w:body>{body}</w:body>'
            "</w:document>",
            "word/styles.xml": f'<w:styles xmlns:w="{W}">{styles}</w:styles>',
            "word/_rels/document.xml.rels": f'<Relationships xmlns="{RELS}">{links}</Relationships>',
            "docProps/core.xml": CORE,
        }
    )


def paragraph(text: str, style: str = "") -> str:
    named = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{named}<w:r><w:t>{text}</w:t></w:r></w:p>"


def pptx(*slides: str, notes: str = "") -> bytes:
    """A presentation with these shapes on its slides; the notes are those of the first."""
    ids = "".join(f'<p:sldId id="{256 + n}" r:id="r{n}"/>' for n in range(len(slides)))
    refer = "".join(
        f'<Relationship Id="r{n}" Type="{R}/slide" Target="slides/slide{n}.xml"/>' for n in range(len(slides))
    )
    files = {
        "[Content_Types].xml": f'<Types xmlns="{TYPES}"/>',
        "ppt/presentation.xml": f'<p:presentation xmlns:p="{P}" xmlns:r="{R}"><p:sldIdLst>{ids}</p:sldIdLst>'
        "</p:presentation>",
        "ppt/_rels/presentation.xml.rels": f'<Relationships xmlns="{RELS}">{refer}</Relationships>',
        "docProps/core.xml": CORE,
    }
    for number, slide in enumerate(slides):
        files[f"ppt/slides/slide{number}.xml"] = _slide("sld", slide)
    if notes:
        files["ppt/notesSlides/notesSlide1.xml"] = _slide("notes", notes)
        files["ppt/slides/_rels/slide0.xml.rels"] = (
            f'<Relationships xmlns="{RELS}"><Relationship Id="r1" Type="{R}/notesSlide" '
            'Target="../notesSlides/notesSlide1.xml"/></Relationships>'
        )
    return packed(files)


def _slide(root: str, shapes: str) -> str:
    return f'<p:{root} xmlns:p="{P}" xmlns:a="{A}"><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:{root}>'


def shape(kind: str, *paragraphs: tuple[int, str]) -> str:
    lines = "".join(
        f'<a:p><a:pPr lvl="{level}"/><a:r><a:t>{text}</a:t></a:r></a:p>' for level, text in paragraphs
    )
    place = f'<p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr>'
    return f"<p:sp>{place}<p:txBody>{lines}</p:txBody></p:sp>"


def odf(body: str, kind: str = "text") -> bytes:
    names = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "text", "table", "draw", "meta")
    )
    return packed(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "content.xml": f'<office:document-content {names} xmlns:xlink="http://www.w3.org/1999/xlink">'
            f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>",
            "meta.xml": f'<office:document-meta {names} xmlns:dc="http://purl.org/dc/elements/1.1/"><office:meta>'
            "<dc:title>Yearly report</dc:title><meta:initial-creator>Ada Brandt</meta:initial-creator>"
            "<dc:language>en</dc:language></office:meta></office:document-meta>",
        }
    )


def epub(*chapters: str) -> bytes:
    items = "".join(
        f'<item id="c{n}" href="text/{n}%20a.xhtml" media-type="application/xhtml+xml"/>'
        for n in range(len(chapters))
    )
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(len(chapters)))
    return packed(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
            '<rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
            "OEBPS/book.opf": '<package xmlns="http://www.idpf.org/2007/opf" '
            'xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>The Salt Road</dc:title>'
            "<dc:creator>Ursula Hart</dc:creator><dc:language>en</dc:language><dc:date>2024-03-14</dc:date>"
            "</metadata>"
            f'<manifest>{items}<item id="cover" href="c.png" media-type="image/png"/></manifest>'
            f'<spine><itemref idref="cover"/>{spine}</spine></package>',
            **{
                f"OEBPS/text/{n} a.xhtml": f"<html><head><title>x</title></head><body>{chapter}</body></html>"
                for n, chapter in enumerate(chapters)
            },
        }
    )
