"""Proves that a site is its registrant's: something that only they could have put there is looked for.

    dns    a TXT record at `_gossamer.` and the host
    file   a file in /.well-known whose name has the token
    meta   a tag in the home page

Redirects are followed within the origin: whoever controls another site has proven nothing about this one.
"""

import re
from html import unescape
from typing import Final

from msgspec import Struct

from gossamer.problems import Problem
from gossamer.reach.http.fetch import Fetcher
from gossamer.reach.net.names import Names
from gossamer.web.pages.fetch_spec import FetchSpec
from gossamer.web.pages.page import Page
from gossamer.web.sites.site_answer import ProofCheck, ProofStep
from gossamer.web.sites.site_words import ProofFinding, ProofMethod
from gossamer.web.url.address import literal
from gossamer.web.url.url import Url

PROOF_SECONDS: Final = 10.0
MAX_PROOF_BYTES: Final = 2_000_000
MAX_FILE_BYTES: Final = 1_000
MAX_REDIRECTS: Final = 3
META_NAME: Final = "gossamer-site"
_HEAD_CHARS: Final = 500_000  # of a home page that are searched
_META: Final = re.compile(r"<meta\s[^<>]{0,1000}>", re.IGNORECASE)
_NAME: Final = re.compile(r"""\bname\s*=\s*["']?gossamer-site["'\s/>]""", re.IGNORECASE)
_CONTENT: Final = re.compile(r"""\bcontent\s*=\s*["']?([A-Za-z0-9_-]{1,100})["'\s/>]""", re.IGNORECASE)
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|$)", re.DOTALL)


def proof_steps(origin: str, token: str) -> list[ProofStep]:
    """The ways to prove a site. A bare address has no name in DNS."""
    url = Url.parse(origin)
    steps = [
        ProofStep(method=ProofMethod.FILE, place=f"{origin}/.well-known/gossamer-{token}.txt", content=token),
        ProofStep(
            method=ProofMethod.META,
            place=f"{origin}/",
            content=f'<meta name="{META_NAME}" content="{token}">',
        ),
    ]
    if literal(url.host) is None:
        record = ProofStep(
            method=ProofMethod.DNS, place=f"_gossamer.{url.host}", content=f"gossamer-site={token}"
        )
        steps.insert(0, record)
    return steps


class SiteProver(Struct, frozen=True):
    names: Names
    fetcher: Fetcher

    async def look(
        self, tenant: str, origin: str, token: str, method: ProofMethod | None = None
    ) -> list[ProofCheck]:
        """Look in each place until a proof is found; the last check is of that place."""
        checks: list[ProofCheck] = []
        for step in proof_steps(origin, token):
            if method is None or step.method is method:
                checks.append(await self._check(tenant, step, token))
                if checks[-1].finding is ProofFinding.PROVEN:
                    break
        return checks

    async def _check(self, tenant: str, step: ProofStep, token: str) -> ProofCheck:
        try:
            if step.method is ProofMethod.DNS:
                finding, detail = _compare(await self.names.texts(step.place), step.content)
            else:
                finding, detail = await self._fetch(tenant, step, token)
        except Problem as problem:
            finding, detail = ProofFinding.UNREACHABLE, problem.detail
        return ProofCheck(method=step.method, finding=finding, detail=detail)

    async def _fetch(self, tenant: str, step: ProofStep, token: str) -> tuple[ProofFinding, str]:
        url = Url.parse(step.place)
        is_file = step.method is ProofMethod.FILE
        for _ in range(MAX_REDIRECTS + 1):
            page = await self.fetcher.fetch(
                FetchSpec(
                    url=url, timeout=PROOF_SECONDS, max_bytes=MAX_PROOF_BYTES, max_redirects=0, tenant=tenant
                )
            )
            if page.status // 100 != 3:
                return _judge_file(page, token) if is_file else _judge_page(page, token)
            target = url.join(next((value for name, value in page.headers if name == "location"), ""))
            if target.origin != url.origin:
                return ProofFinding.DIFFERENT, f"It redirects to {target.origin}, which is another site."
            url = target
        return ProofFinding.DIFFERENT, "It redirects too often."


def _compare(texts: tuple[str, ...], wanted: str) -> tuple[ProofFinding, str]:
    if wanted in (text.strip() for text in texts):
        return ProofFinding.PROVEN, ""
    if not texts:
        return ProofFinding.MISSING, "There is no TXT record."
    return ProofFinding.DIFFERENT, "None of its TXT records is the right one."


def _judge_file(page: Page, token: str) -> tuple[ProofFinding, str]:
    if page.status != 200:
        return ProofFinding.MISSING, f"The server answers with {page.status}."
    if len(page.body) <= MAX_FILE_BYTES and page.text.strip() == token:
        return ProofFinding.PROVEN, ""
    return ProofFinding.DIFFERENT, "The file has something else in it."


def _judge_page(page: Page, token: str) -> tuple[ProofFinding, str]:
    if page.status != 200:
        return ProofFinding.MISSING, f"The server answers with {page.status}."
    head = _COMMENT.sub("", page.text[:_HEAD_CHARS])
    tags = [unescape(tag) for tag in _META.findall(head.split("<body", 1)[0]) if _NAME.search(tag)]
    if not tags:
        return ProofFinding.MISSING, "There is no such tag in the head of the page."
    found = [content[1] for tag in tags if (content := _CONTENT.search(tag))]
    if token in found:
        return ProofFinding.PROVEN, ""
    return ProofFinding.DIFFERENT, "The tag has another content."
