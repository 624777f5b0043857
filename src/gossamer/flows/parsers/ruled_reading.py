"""Reads a page as a site or the operator wants it to be read."""

from msgspec.structs import replace

from gossamer.flows.parsers.parser_pool import ParserPool
from gossamer.web.pages.page import Page
from gossamer.web.pages.reading import Reading
from gossamer.web.pages.reading_options import ReadingOptions
from gossamer.web.sites.rule_set import PageRule


async def read_by_rule(parsers: ParserPool, page: Page, options: ReadingOptions, rule: PageRule) -> Reading:
    """On a page where nothing is found that is to be kept, the main content is searched as ever: rules are
    made for most pages of a site, and some are otherwise."""
    if not rule.selects:
        return await parsers.read(page, options)
    if rule.keep:
        kept = await parsers.read(page, replace(options, include=rule.keep, exclude=rule.drop))
        if kept.text.strip():
            return kept
    return await parsers.read(page, replace(options, exclude=rule.drop))
