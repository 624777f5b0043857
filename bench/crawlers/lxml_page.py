# mypy: disable-error-code="import-not-found,import-untyped"
"""A page taken apart by lxml with as little work as it takes. Runs in the contender's own interpreter."""

from collections.abc import Mapping
from urllib.parse import urldefrag, urljoin

from lxml import html

from bench.crawlers.store import KeptPage, untracked

SILENT = ("script", "style")


def take_apart(url: str, status: int, headers: Mapping[str, str], body: bytes, encoding: str) -> KeptPage:
    tree = html.fromstring(body, parser=html.HTMLParser(encoding=encoding))
    links = [
        (untracked(urldefrag(urljoin(url, each.get("href"))).url), each.text_content(), each.get("rel", ""))
        for each in tree.iter("a")
        if each.get("href")
    ]
    title = tree.findtext(".//title") or ""
    description = next(iter(tree.xpath("//meta[@name='description']/@content")), "")
    for silent in list(tree.iter(*SILENT)):
        silent.drop_tree()
    return KeptPage(
        url=url,
        status=status,
        headers=headers,
        body=body,
        title=title,
        description=str(description),
        language=tree.get("lang", ""),
        text=" ".join(tree.itertext()),
        links=links,
    )
