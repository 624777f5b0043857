"""The keyword arguments of the library are the options of the API."""

from typing import Any

import msgspec
import pytest

from gossamer.client import options
from gossamer.doors.http.api.pages.search import SearchRequest
from gossamer.flows.pages.capture_request import Margins, PdfRequest, ScreenshotRequest, Viewport
from gossamer.web.audit.report import AuditOptions
from gossamer.web.crawl.spec import NewCrawl
from gossamer.web.pages.batch_request import BatchRequest
from gossamer.web.pages.extract_request import ExtractRequest
from gossamer.web.pages.map_request import MapRequest
from gossamer.web.pages.page_request import PageRequest
from gossamer.web.render.request import RenderRequest

SAME: list[tuple[type, type[msgspec.Struct], set[str]]] = [
    (options.FetchKeywords, PageRequest, {"url"}),
    (options.ExtractKeywords, ExtractRequest, {"url"}),
    (options.SearchKeywords, SearchRequest, {"query"}),
    (options.MapKeywords, MapRequest, {"url"}),
    (options.ScreenshotKeywords, ScreenshotRequest, {"url"}),
    (options.ViewportSize, Viewport, set()),
    (options.PdfKeywords, PdfRequest, {"url"}),
    (options.MarginSizes, Margins, set()),
    (options.RenderKeywords, RenderRequest, {"url", "wait"}),
    (options.BatchKeywords, BatchRequest, {"urls"}),
    (options.CrawlKeywords, NewCrawl, {"seeds"}),
    (options.AuditKeywords, AuditOptions, set()),
]


@pytest.mark.parametrize(("keywords", "request_", "arguments"), SAME, ids=[one[1].__name__ for one in SAME])
def test_each_call_takes_the_options_of_its_request(
    keywords: type, request_: type[msgspec.Struct], arguments: set[str]
) -> None:
    assert set(keywords.__annotations__) | arguments == set(request_.__struct_fields__)
    given: dict[str, Any] = dict.fromkeys(keywords.__annotations__)
    sent = options.body_of("call", keywords, given)
    assert set(sent) <= set(request_.__struct_encode_fields__)
