"""Screenshots and PDF: a URL in, the page as it looks out; in JSON, or bare for who wants the file itself."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from msgspec import UNSET
from starlette.responses import Response

from gossamer import problems
from gossamer.doors.http import moments
from gossamer.doors.http.caching import CacheQuery, cache_metadata, caches, caching, through_cache
from gossamer.doors.http.exchange import Exchange, answer
from gossamer.doors.http.limiting import within_limits
from gossamer.doors.http.negotiation import preferred
from gossamer.doors.http.read_options import sendable
from gossamer.doors.http.routing import Route
from gossamer.doors.http.shoot_shapes import (
    LONGEST_TIMEOUT,
    CaptureOptions,
    Dimensions,
    PdfAnswer,
    PdfRequest,
    ScreenshotAnswer,
    ScreenshotRequest,
    Viewport,
)
from gossamer.flows.caching import Part
from gossamer.flows.shoot import Captured, Shooter, Wish
from gossamer.problems import CONTENT_TOO_LARGE, Problem
from gossamer.reach.dial import Dialer
from gossamer.reach.shot import LARGEST
from gossamer.reach.visit import Format, Print, Shot
from gossamer.state.tenants import Role
from gossamer.web.outcome import Outcome
from gossamer.web.picture import Size
from gossamer.web.url import Url

JSON: Final = "application/json"
PDF: Final = "application/pdf"
IMAGES: Final[Mapping[str, Format]] = {"image/png": "png", "image/webp": "webp", "image/jpeg": "jpeg"}
_HEADERS: Final = {
    "X-Cache-Status": "`HIT`, `MISS`, or `BYPASS` where the cache was not asked.",
    "X-Outcome": "On a bare file: whether it shows the page that was asked for, as `outcome` does.",
    "X-Final-Url": "On a bare file: where the page was, after redirects.",
    "X-Page-Status": "On a bare file: the target's own status.",
    "X-Captured-At": "On a bare file: when.",
}


class Shoot:
    def __init__(self, shooter: Shooter, dialer: Dialer, upgrade_url: str | None) -> None:
        self._shooter = shooter
        self._dialer = dialer
        self._upgrade_url = upgrade_url or None

    async def take_screenshot(
        self, exchange: Exchange, body: ScreenshotRequest, query: CacheQuery
    ) -> Response:
        liked = _liked(exchange, body)
        captured, part, headers = await self._shot(exchange, body, query, _screenshot_wish(body, liked))
        if liked != JSON:
            more = {"X-Truncated": "true"} if captured.cut else {}
            return _bare(captured, headers | more)
        return answer(
            _screenshot(captured, part, exchange.request_id, self._shooter.clock()), headers=headers
        )

    async def print_pdf(self, exchange: Exchange, body: PdfRequest, query: CacheQuery) -> Response:
        liked = preferred(exchange.header(b"accept"), [JSON, PDF])
        captured, part, headers = await self._shot(exchange, body, query, _pdf_wish(body))
        if liked != JSON:
            more = {} if captured.pages is None else {"X-Page-Count": str(captured.pages)}
            return _bare(captured, headers | more)
        return answer(_pdf(captured, body, part, exchange.request_id, self._shooter.clock()), headers=headers)

    async def _shot(
        self, exchange: Exchange, body: CaptureOptions, query: CacheQuery, wish: Wish
    ) -> tuple[Captured, Part, dict[str, str]]:
        self._dialer.admit(wish.url.host, wish.url.port)
        caller = exchange.caller
        work = through_cache(
            exchange,
            body,
            query,
            partial(self._shooter.shoot, wish, caller),
            partial(self._shooter.shoot_through, wish, caller),
        )
        captured, part, status = await within_limits(exchange, self._upgrade_url, work)
        exchange.outcome = captured.outcome
        return captured, part, {"X-Cache-Status": status, "Vary": "Accept"}

    async def _has_screenshot(self, exchange: Exchange, body: ScreenshotRequest, query: CacheQuery) -> bool:
        return await self._has(exchange, body, query, _screenshot_wish(body, _liked(exchange, body)))

    async def _has_pdf(self, exchange: Exchange, body: PdfRequest, query: CacheQuery) -> bool:
        return await self._has(exchange, body, query, _pdf_wish(body))

    async def _has(self, exchange: Exchange, body: CaptureOptions, query: CacheQuery, wish: Wish) -> bool:
        return caches(body, query) and await self._shooter.has(wish, caching(body, exchange.caller))

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
                example=_screenshot(_EXAMPLE, Part(), _REQUEST_ID, _MOMENT),
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
                example=_pdf(_EXAMPLE_PDF, PdfRequest(""), Part(), _REQUEST_ID, _MOMENT),
                headers={**_HEADERS, "X-Page-Count": "On a bare PDF: how many pages it has."},
                **_COMMON,
            ),
        ]


_COMMON: Final[dict[str, Any]] = {
    "method": "POST",
    "needs": Role.USER,
    "tag": "Screenshots",
    "deadline": 2 * LONGEST_TIMEOUT / 1000 + 20,  # it may wait for another's before it does its own
}
_PROBLEMS: Final = (
    problems.INVALID_URL,
    problems.INVALID_TTL,
    problems.INVALID_SELECTOR,
    problems.FETCH_TIMEOUT,
    problems.RENDER_FAILED,
    problems.CONTENT_TOO_LARGE,
)
_FIELD_PROBLEMS: Final = {
    "cacheTtl": problems.INVALID_TTL,
    "waitForSelector": problems.INVALID_SELECTOR,
}


def _liked(exchange: Exchange, body: ScreenshotRequest) -> str:
    """JSON, or the media type of a picture; only that of the format that is asked for, if one is."""
    offered = [name for name, kind in IMAGES.items() if kind == (body.format or kind)]
    return preferred(exchange.header(b"accept"), [JSON, *offered])


def _screenshot_wish(body: ScreenshotRequest, liked: str) -> Wish:
    return _wish(body.url, body, body.shot(IMAGES.get(liked, "png")))


def _pdf_wish(body: PdfRequest) -> Wish:
    return _wish(body.url, body, body.print())


def _wish(url: str, body: CaptureOptions, capture: Shot | Print) -> Wish:
    return Wish(
        url=Url.parse(url),
        capture=capture,
        wait_for=body.wait_for_selector or None,
        headers=sendable(body.headers),
        timeout=body.timeout / 1000,
    )


def _bare(captured: Captured, headers: dict[str, str]) -> Response:
    told = {
        **headers,
        "X-Outcome": captured.outcome.value,
        "X-Final-Url": captured.final_url,
        "X-Page-Status": str(captured.status),
        "X-Captured-At": moments.iso(captured.captured_at),
    }
    return Response(captured.body, headers=told, media_type=captured.media_type)


def _screenshot(captured: Captured, part: Part, request_id: str, now: float) -> ScreenshotAnswer:
    return ScreenshotAnswer(
        image=captured.body,
        format=IMAGES[captured.media_type],
        dimensions=Dimensions(*captured.size or (0, 0)),
        truncated=captured.cut or UNSET,
        **_told(captured, part, request_id, now),
    )


def _pdf(captured: Captured, body: PdfRequest, part: Part, request_id: str, now: float) -> PdfAnswer:
    return PdfAnswer(
        pdf=captured.body,
        format=body.format,
        pages=UNSET if captured.pages is None else captured.pages,
        **_told(captured, part, request_id, now),
    )


def _told(captured: Captured, part: Part, request_id: str, now: float) -> dict[str, Any]:
    _demand_room(captured)
    return {
        "url": captured.url,
        "final_url": captured.final_url,
        "status_code": captured.status,
        "outcome": captured.outcome,
        "outcome_reason": captured.reason or UNSET,
        "title": captured.title,
        "captured_at": moments.iso(captured.captured_at),
        "capture_time": captured.elapsed_ms,
        "request_id": request_id,
        "cache": cache_metadata(part, now),
    }


def _demand_room(captured: Captured) -> None:
    """Base64 makes a third more of it."""
    if len(captured.body) * 4 / 3 > LARGEST:
        raise Problem(
            CONTENT_TOO_LARGE,
            f"As base64 the file has more than {LARGEST // 1_000_000} MB",
            hint=f"Ask for the file itself: Accept: {captured.media_type}.",
            details={"reason": "capture_too_large", "maxBytes": LARGEST},
        )


_MOMENT: Final = 1_767_268_800.0
_REQUEST_ID: Final = "wl_m5x7k2qa_a3b9c1"
_EXAMPLE: Final = Captured(
    url="https://example.com/",
    final_url="https://example.com/",
    status=200,
    outcome=Outcome.OK,
    reason="",
    title="Example Domain",
    media_type="image/png",
    body=b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x05\x00\x00\x00\x02\xd0",
    size=Size(1280, 720),
    pages=None,
    cut=False,
    captured_at=_MOMENT,
    elapsed_ms=640,
)
_EXAMPLE_PDF: Final = Captured(
    url="https://example.com/",
    final_url="https://example.com/",
    status=200,
    outcome=Outcome.OK,
    reason="",
    title="Example Domain",
    media_type=PDF,
    body=b"%PDF-1.4\n",
    size=None,
    pages=1,
    cut=False,
    captured_at=_MOMENT,
    elapsed_ms=640,
)
