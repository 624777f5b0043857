"""llms.txt and llms-full.txt of this server: its documentation for language models."""

import json
from collections.abc import Iterator
from typing import Final

from gossamer.doors.http.docs.reference import EndpointDoc, Field, Reference

SUMMARY: Final = (
    "Self-hosted web access for AI agents: fetch, extract, search, map, crawl, render and audit pages."
)
_OPTIONAL: Final = ("People", "Keys", "Operations", "Payments", "Frontier", "Documentation")


def guide(reference: Reference, public_url: str) -> str:
    """Links to every endpoint, by subject. What only operators need is optional."""
    lines = [*_head(public_url), "", "## Documentation", ""]
    lines += [
        f"- [API reference]({public_url}/docs): every endpoint, for people",
        f"- [OpenAPI]({public_url}/openapi.json): the same for programs",
        f"- [Everything in one file]({public_url}/llms-full.txt): the same as markdown",
        f"- [Problems]({public_url}/problems): what can go wrong, and how to fix it",
    ]
    needed = [group for group in reference.groups if group.name not in _OPTIONAL]
    for group in needed:
        lines += ["", f"## {group.name}", ""]
        lines += [_link(endpoint, public_url) for endpoint in group.endpoints]
    others = [group for group in reference.groups if group.name in _OPTIONAL]
    lines += ["", "## Optional", ""]
    lines += [_link(endpoint, public_url) for group in others for endpoint in group.endpoints]
    return "\n".join([*lines, ""])


def full(reference: Reference, public_url: str) -> str:
    lines = _head(public_url)
    for group in reference.groups:
        lines += ["", f"## {group.name}", *(["", group.description] if group.description else [])]
        for endpoint in group.endpoints:
            lines += _describe(endpoint)
    return "\n".join([*lines, ""])


def _head(public_url: str) -> list[str]:
    return [
        "# Gossamer",
        "",
        f"> {SUMMARY}",
        "",
        f"The server is {public_url}. Send a key as `Authorization: Bearer sk_live_…`.",
        "Errors are problem documents (RFC 9457) with a stable `code` and a `hint`.",
    ]


def _link(endpoint: EndpointDoc, public_url: str) -> str:
    return f"- [{endpoint.method} {endpoint.path}]({public_url}/docs#{endpoint.anchor}): {endpoint.summary}"


def _describe(endpoint: EndpointDoc) -> Iterator[str]:
    yield from ("", f"### {endpoint.method} {endpoint.path}", "", f"{endpoint.summary}. {endpoint.access}.")
    if endpoint.description:
        yield from ("", endpoint.description)
    for place, fields in endpoint.parameters.items():
        yield from _list(f"In the {place}:", fields)
    yield from _list("The body:", endpoint.body)
    yield from ("", "```sh", endpoint.curl, "```")
    if endpoint.example is not None:
        shown = endpoint.example
        text = shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False, indent=2)
        yield from ("", f"{endpoint.status} {endpoint.phrase}:", "", "```", text.rstrip(), "```")
    if endpoint.problems:
        yield from ("", "Problems: " + ", ".join(f"`{kind.code}`" for kind in endpoint.problems) + ".")


def _list(title: str, fields: list[Field]) -> Iterator[str]:
    if fields:
        yield from ("", title, "")
    for field in fields:
        facts = [field.type, *(["required"] if field.required else []), *field.limits]
        facts += [f"default `{field.default}`"] if field.default is not None else []
        yield f"- `{field.name}` ({'; '.join(facts)})" + (
            f": {field.description}" if field.description else ""
        )
