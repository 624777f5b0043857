"""Screenshots and PDF: a URL in, the page as it looks out; as JSON, or as the file itself."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from msgspec import UNSET
from msgspec.structs import replace
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http.api.pages.caching import CacheQuery, through_cache
from gossamer.doors.http.core.exchange import Exchange, answer
from gossamer.doors.http.core.negotiation import choose_media_type
from gossamer.doors.http.core.routing import Route
from gossamer.doors.http.layers.limiting import within_limits
from gossamer.flows.pages.caching import Caching
from gossamer.flows.pages.capture import Capturer, CaptureResult
from gossamer.flows.pages.capture_request import (
    MAX_CAPTURE_TIMEOUT,
    CaptureRequest,
    PdfRequest,
    ScreenshotRequest,
    Viewport,
)
from gossamer.problems import CONTENT_TOO_LARGE, Problem
from gossamer.reach.net.dial import Dialer
from gossamer.reach.page.screenshot import MAX_CAPTURE_BYTES
from gossamer.state.tenants.tenants import Role
from gossamer.web.documents.image_size import Size
from gossamer.web.outcome.outcome import Outcome
from gossamer.web.pages.cache_options import CachePart, cache_metadata
from gossamer.web.pages.capture_answer import (
    CapturedPage,
    Dimensions,
    Paper,
    PdfAnswer,
    PictureFormat,
    ScreenshotAnswer,
)
from gossamer.web.pages.timestamps import iso

JSON: Final = "application/json"
PDF: Final = "application/pdf"
IMAGES: Final[Mapping[str, PictureFormat]] = {"image/png": "png", "image/webp": "webp", "image/jpeg": "jpeg"}
_HEADERS: Final = {
    "X-Cache-Status": "`HIT`, `MISS`, or `BYPASS` where the cache was not asked.",
    "X-Outcome": "On a bare file: whether it shows the page that was asked for, as `outcome` does.",
    "X-Outcome-Reason": "On a bare file: which rule decided, as `outcomeReason` does.",
    "X-Final-Url": "On a bare file: where the page was, after redirects.",
    "X-Page-Status": "On a bare file: the target's own status.",
    "X-Captured-At": "On a bare file: when.",
    "X-Missing-Scripts": "On a bare file: scripts whose letters are boxes, as `missingScripts` does.",
}


class CaptureEndpoints:
    def __init__(self, capturer: Capturer, dialer: Dialer, upgrade_url: str | None) -> None:
        self._capturer = capturer
        self._dialer = dialer
        self._upgrade_url = upgrade_url or None

    async def take_screenshot(
        self, exchange: Exchange, body: ScreenshotRequest, query: CacheQuery
    ) -> Response:
        media_type = _preferred_type(exchange, body)
        request = _with_format(body, media_type)
        captured, part, headers = await self._capture(exchange, request, query)
        if media_type != JSON:
            more = {"X-Truncated": "true"} if captured.cut else {}
            return _bare(captured, headers | more)
        shown = _screenshot(captured, part, exchange.request_id, self._capturer.clock())
        return answer(shown, headers=headers)

    async def print_pdf(self, exchange: Exchange, body: PdfRequest, query: CacheQuery) -> Response:
        media_type = choose_media_type(exchange.header(b"accept"), [JSON, PDF])
        captured, part, headers = await self._capture(exchange, body, query)
        if media_type != JSON:
            more = {} if captured.pages is None else {"X-Page-Count": str(captured.pages)}
            return _bare(captured, headers | more)
        shown = _pdf(captured, body.format, part, exchange.request_id, self._capturer.clock())
        return answer(shown, headers=headers)

    async def _capture(
        self, exchange: Exchange, request: CaptureRequest, query: CacheQuery
    ) -> tuple[CaptureResult, CachePart, dict[str, str]]:
        request.check()
        self._dialer.admit(request.address.host, request.address.port)
        caller = exchange.caller
        work = through_cache(
            exchange,
            request,
            query,
            partial(self._capturer.capture, request, caller),
            partial(self._capturer.capture_cached, request, caller),
        )
        captured, part, status = await within_limits(exchange, self._upgrade_url, work)
        exchange.outcome = captured.outcome
        return captured, part, {"X-Cache-Status": status, "Vary": "Accept"}

    async def _has_screenshot(self, exchange: Exchange, body: ScreenshotRequest, query: CacheQuery) -> bool:
        return await self._has(exchange, _with_format(body, _preferred_type(exchange, body)), query)

    async def _has_pdf(self, exchange: Exchange, body: PdfRequest, query: CacheQuery) -> bool:
        return await self._has(exchange, body, query)

    async def _has(self, exchange: Exchange, request: CaptureRequest, query: CacheQuery) -> bool:
        request.check()
        if not request.uses_cache(query.cache):
            return False
        return await self._capturer.has(request, Caching.of(request, exchange.caller))

    def routes(self) -> list[Route]:
        return [
            Route(
                path="/screenshot",
                handler=self.take_screenshot,
                price="screenshot",
                peek=self._has_screenshot,
                summary="Take a picture of a page",
                description="By a browser: what fits the viewport, the full page, or one element. JSON with "
                "the picture as base64, or the bare picture for `Accept: image/png`, `image/jpeg` or "
                "`image/webp`. A page that is not what was asked for is a 200 too; `outcome` says so.",
                answers=ScreenshotAnswer,
                media_type="image/*",
                problems=(
                    *_PROBLEMS,
                    problems.INVALID_VIEWPORT,
                    problems.ELEMENT_NOT_FOUND,
                    problems.CAPTURE_TOO_LARGE,
                ),
                field_problems={
                    **_FIELD_PROBLEMS,
                    "viewport": problems.INVALID_VIEWPORT,
                    "selector": problems.INVALID_SELECTOR,
                },
                example_body=ScreenshotRequest("https://example.com/", viewport=Viewport(1280, 720)),
                example=_screenshot(_EXAMPLE, CachePart(), _REQUEST_ID, _MOMENT),
                headers={**_HEADERS, "X-Truncated": "On a bare picture that was cut at `maxHeight`: `true`."},
                **_COMMON,
            ),
            Route(
                path="/pdf",
                handler=self.print_pdf,
                price="pdf",
                peek=self._has_pdf,
                summary="Print a page to PDF",
                description="By a browser, on paper of the size that is asked for. JSON with the PDF as "
                "base64, or the bare PDF for `Accept: application/pdf`.",
                answers=PdfAnswer,
                media_type=PDF,
                problems=(*_PROBLEMS, problems.UNPROCESSABLE_ENTITY),
                field_problems=_FIELD_PROBLEMS,
                example_body=PdfRequest("https://example.com/", format="A4"),
                example=_pdf(_EXAMPLE_PDF, "A4", CachePart(), _REQUEST_ID, _MOMENT),
                headers={**_HEADERS, "X-Page-Count": "On a bare PDF: how many pages it has."},
                **_COMMON,
            ),
        ]


_COMMON: Final[dict[str, Any]] = {
    "method": "POST",
    "needs": Role.USER,
    "tag": "Screenshots",
    "deadline": 2 * MAX_CAPTURE_TIMEOUT / 1000
    + 20,  # it may wait for another process before it captures itself
}
_PROBLEMS: Final = (
    problems.INVALID_URL,
    problems.INVALID_TTL,
    problems.INVALID_SELECTOR,
    problems.FETCH_TIMEOUT,
    problems.RENDER_FAILED,
    problems.ACTION_FAILED,
    problems.CONTENT_TOO_LARGE,
)
_FIELD_PROBLEMS: Final = {
    "cacheTtl": problems.INVALID_TTL,
    "waitForSelector": problems.INVALID_SELECTOR,
}


def _preferred_type(exchange: Exchange, body: ScreenshotRequest) -> str:
    """JSON or the media type of a picture. If the body names a format, only the type of that format."""
    offered = [name for name, kind in IMAGES.items() if kind == (body.format or kind)]
    return choose_media_type(exchange.header(b"accept"), [JSON, *offered])


def _with_format(body: ScreenshotRequest, media_type: str) -> ScreenshotRequest:
    return body if body.format else replace(body, format=IMAGES.get(media_type, "png"))


def _bare(captured: CaptureResult, headers: dict[str, str]) -> Response:
    about = {
        **headers,
        "X-Outcome": captured.outcome.value,
        "X-Final-Url": captured.final_url,
        "X-Page-Status": str(captured.status),
        "X-Captured-At": iso(captured.captured_at),
    }
    if captured.reason:
        about["X-Outcome-Reason"] = captured.reason
    if captured.missing_scripts:
        about["X-Missing-Scripts"] = ", ".join(captured.missing_scripts)
    return Response(captured.body, headers=about, media_type=captured.media_type)


def _screenshot(captured: CaptureResult, part: CachePart, request_id: str, now: float) -> ScreenshotAnswer:
    return ScreenshotAnswer(
        image=captured.body,
        format=IMAGES[captured.media_type],
        dimensions=Dimensions(*captured.size or (0, 0)),
        truncated=captured.cut,
        **_common(captured, part, request_id, now),
    )


def _pdf(captured: CaptureResult, paper: Paper, part: CachePart, request_id: str, now: float) -> PdfAnswer:
    return PdfAnswer(
        pdf=captured.body,
        format=paper,
        pages=UNSET if captured.pages is None else captured.pages,
        **_common(captured, part, request_id, now),
    )


def _common(captured: CaptureResult, part: CachePart, request_id: str, now: float) -> dict[str, Any]:
    _demand_room(captured)
    return {
        **{name: getattr(captured, name) for name in CapturedPage.__struct_fields__},
        "tier": "pro",
        "captured_at": iso(captured.captured_at),
        "request_id": request_id,
        "cache": cache_metadata(part, now),
    }


def _demand_room(captured: CaptureResult) -> None:
    """Base64 makes the file a third larger."""
    if len(captured.body) * 4 / 3 > MAX_CAPTURE_BYTES:
        raise Problem(
            CONTENT_TOO_LARGE,
            f"As base64 the file has more than {MAX_CAPTURE_BYTES // 1_000_000} MB",
            hint=f"Ask for the file itself: Accept: {captured.media_type}.",
            details={"reason": "capture_too_large", "maxBytes": MAX_CAPTURE_BYTES},
        )


_MOMENT: Final = 1_767_268_800.0
_REQUEST_ID: Final = "wl_m5x7k2qa_a3b9c1"
_EXAMPLE: Final = CaptureResult(
    url="https://example.com/",
    final_url="https://example.com/",
    status=200,
    outcome=Outcome.OK,
    title="Example Domain",
    media_type="image/png",
    body=b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x05\x00\x00\x00\x02\xd0",
    size=Size(1280, 720),
    pages=None,
    cut=False,
    captured_at=_MOMENT,
    elapsed_ms=640,
)
_EXAMPLE_PDF: Final = CaptureResult(
    url="https://example.com/",
    final_url="https://example.com/",
    status=200,
    outcome=Outcome.OK,
    title="Example Domain",
    media_type=PDF,
    body=b"%PDF-1.4\n",
    size=None,
    pages=1,
    cut=False,
    captured_at=_MOMENT,
    elapsed_ms=640,
)
