"""`POST /screenshot` and `POST /pdf`: a URL in, the page as it looks out."""

import base64
import json
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pypdfium2
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.browser import pages
from tests.doors.fetches import Fetching, OpenFetching, fetching, open_fetching, opened, say
from tests.doors.http.layers.test_problems import assert_problem
from tests.doors.renders import PROSE, article
from tests.doors.services import AS_ADMIN, bearer
from tests.site.dns import Reply
from tests.site.server import Site
from tests.web.outcome.outcome_pages import samples

from gossamer.flows.pages.capture import MAX_CACHED_BYTES
from gossamer.web.documents.image_size import size_of

__all__ = ["fetching", "open_fetching", "pages"]

PNG = b"\x89PNG\r\n\x1a\n"
CAPTCHA = next(sample for sample in samples() if sample.name == "blocked-hcaptcha-page").page.body
NOISE = f"{pages.PAGES['noise']}<p>{PROSE}</p>"
TALL = f"""<!doctype html><title>Tall</title><style>* {{ margin: 0; line-height: 20px }}
#box {{ width: 150px; height: 90px }}</style><h1>Tall</h1><p>{PROSE}</p>
<div id=box>a box</div><div style="height: 40000px"></div>"""


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory, site: Site) -> AsyncIterator[Fetching]:
    async with opened(tmp_path_factory.mktemp("service"), site, browser_places="2") as opened_service:
        yield opened_service


async def asked(service: Fetching, target: str, path: str = "/screenshot", **wanted: Any) -> httpx.Response:
    return await service.post(target, path=path, **{"timeout": 30_000, **wanted})


def accepting(accept: str) -> dict[str, str]:
    return {**AS_ADMIN, "Accept": accept}


async def shown(service: Fetching, target: str, **wanted: Any) -> dict[str, Any]:
    response = await asked(service, target, **wanted)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


async def test_the_picture_comes_with_what_it_shows(service: Fetching) -> None:
    target = say(article("Webs"))
    answer = await shown(service, f"/redirect-to?url={target}")
    picture = base64.b64decode(answer.pop("image"), validate=True)
    assert picture.startswith(PNG)
    assert answer.pop("dimensions") == {"width": 1280, "height": 720}
    assert answer.pop("requestId").startswith("wl_")
    assert answer.pop("capturedAt").endswith("Z")
    assert answer.pop("captureTime") > 0
    assert answer == {
        "url": service.site.url(f"/redirect-to?url={target}"),
        "finalUrl": service.site.url(target),
        "statusCode": 200,
        "outcome": "ok",
        "title": "Webs",
        "tier": "pro",
        "format": "png",
    }


browsed = settings(
    max_examples=12,
    phases=[Phase.explicit, Phase.generate],
)


@browsed
@given(
    wish=st.fixed_dictionaries({}, optional={"darkMode": st.booleans(), "waitForSelector": st.just("h1")}),
    title=st.text(st.characters(categories=["L"]), min_size=1, max_size=10),
)
async def test_p1_screenshot_returns_valid_png_data(
    service: Fetching, wish: dict[str, Any], title: str
) -> None:
    answer = await shown(service, say(article(title)), **wish)
    picture = base64.b64decode(answer["image"], validate=True)
    assert picture.startswith(PNG)
    assert size_of(picture) == (1280, 720)
    assert answer["dimensions"] == {"width": 1280, "height": 720}


@browsed
@given(
    width=st.integers(320, 3840),
    height=st.integers(240, 2160),
    kind=st.sampled_from(["png", "jpeg", "webp"]),
    scale=st.sampled_from([1, 1, 2]),
)
async def test_p2_viewport_dimensions_are_respected(
    service: Fetching, width: int, height: int, kind: str, scale: int
) -> None:
    viewport = {"width": width, "height": height}
    answer = await shown(
        service,
        say(article(), target="/said/viewport"),
        viewport=viewport,
        format=kind,
        deviceScaleFactor=scale,
    )
    assert answer["dimensions"] == {"width": width * scale, "height": height * scale}
    assert size_of(base64.b64decode(answer["image"])) == (width * scale, height * scale)
    assert answer["format"] == kind


NO_VIEWPORTS: tuple[Any, ...] = (
    {"width": 319},
    {"width": 3841},
    {"height": 239},
    {"height": 2161},
    {"width": 800.5, "height": 600},
    {"width": "800"},
    {"width": None},
    {"depth": 3},
    [1280, 720],
    "1280x720",
    None,
)
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    **{f"viewport {value}": ({"viewport": value}, "INVALID_VIEWPORT") for value in NO_VIEWPORTS},
    "empty selector": ({"selector": ""}, "INVALID_SELECTOR"),
    "selector of no text": ({"selector": 5}, "INVALID_SELECTOR"),
    "broken selector": ({"selector": "div["}, "INVALID_SELECTOR"),
    "broken selector to wait for": ({"waitForSelector": "a{"}, "INVALID_SELECTOR"),
    "no time": ({"timeout": 4_999}, "VALIDATION_ERROR"),
    "too much time": ({"timeout": 30_001}, "VALIDATION_ERROR"),
    "quality": ({"quality": 0, "format": "jpeg"}, "VALIDATION_ERROR"),
    "format": ({"format": "gif"}, "VALIDATION_ERROR"),
    "scale": ({"deviceScaleFactor": 3.5}, "VALIDATION_ERROR"),
    "height": ({"fullPage": True, "maxHeight": 16_385}, "VALIDATION_ERROR"),
    "lifetime": ({"cacheTtl": "long"}, "INVALID_TTL"),
    "header": ({"headers": {"Host": "x"}}, "VALIDATION_ERROR"),
    "misspelt": ({"fullpage": True}, "VALIDATION_ERROR"),
    "pixels": (
        {"viewport": {"width": 3840, "height": 2160}, "deviceScaleFactor": 3},
        "CAPTURE_TOO_LARGE",
    ),
}
REFUSED_PDF: dict[str, tuple[dict[str, Any], str]] = {
    "paper": ({"format": "A9"}, "VALIDATION_ERROR"),
    "scale": ({"scale": 2.1}, "VALIDATION_ERROR"),
    "margin without a unit": ({"margins": {"top": "5"}}, "VALIDATION_ERROR"),
    "ranges": ({"pageRanges": "1,,2"}, "VALIDATION_ERROR"),
    "viewport": ({"viewport": {"width": 800}}, "VALIDATION_ERROR"),
    "selector": ({"waitForSelector": "p{"}, "INVALID_SELECTOR"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_what_is_refused_without_a_visit(service: Fetching, name: str) -> None:
    body, code = REFUSED[name]
    target = say(article())
    assert_problem(await asked(service, target, **body), code)
    assert service.visits(target) == 0


@pytest.mark.parametrize("name", REFUSED_PDF)
async def test_what_is_refused_of_a_pdf_without_a_visit(service: Fetching, name: str) -> None:
    body, code = REFUSED_PDF[name]
    target = say(article())
    assert_problem(await asked(service, target, "/pdf", **body), code)
    assert service.visits(target) == 0


@pytest.mark.parametrize("path", ["/screenshot", "/pdf"])
async def test_addresses_that_must_not_be_touched(service: Fetching, path: str) -> None:
    forbidden = ["http://localhost/", "http://127.0.0.9/", "file:///etc/passwd", "data:text/html,x", "x"]
    for url in [*forbidden, service.site.url("/redirect-to?url=http://127.0.0.9/")]:
        assert_problem(await asked(service, url, path), "INVALID_URL")
    response = await service.post(path=path, sent=bearer("sk_live_nobody"))
    assert_problem(response, "UNAUTHORIZED")


bodies = st.fixed_dictionaries(
    {},
    optional={
        "viewport": st.dictionaries(
            st.sampled_from(["width", "height", "x"]), st.none() | st.floats() | st.integers(-1, 5000)
        )
        | st.lists(st.integers()),
        "selector": st.text(max_size=5) | st.integers(),
        "fullPage": st.booleans() | st.just("yes"),
        "maxHeight": st.integers(-1, 20_000),
        "format": st.sampled_from(["png", "webp", "gif", "A4", None]),
        "quality": st.integers(-1, 102),
        "deviceScaleFactor": st.floats(0, 4) | st.just("2"),
        "margins": st.dictionaries(
            st.sampled_from(["top", "left"]), st.sampled_from(["1cm", "", "9", "5em"])
        ),
        "pageRanges": st.text("0123-, ", max_size=12),
        "scale": st.floats(),
        "timeout": st.integers(0, 40_000),
        "headers": st.dictionaries(st.sampled_from(["Accept", "Host", ""]), st.text(max_size=3)),
        "maxAge": st.integers(-2, 2),
    },
)


@settings(max_examples=150)
@given(body=bodies, path=st.sampled_from(["/screenshot", "/pdf"]))
async def test_whatever_is_wished_the_answer_is_a_problem_that_is_declared(
    service: Fetching, body: dict[str, Any], path: str
) -> None:
    content = json.dumps({"url": "http://localhost/", **body}, allow_nan=True).replace("Infinity", "1e999")
    response = await service.visit.client.post(
        path, content=content, headers={**AS_ADMIN, "Content-Type": "application/json"}
    )
    known = {"INVALID_URL", "INVALID_VIEWPORT", "INVALID_SELECTOR", "VALIDATION_ERROR"}
    code = response.json()["code"]
    assert code in known
    assert_problem(response, code)


async def test_elements(service: Fetching) -> None:
    target = say(TALL)
    box = await shown(service, target, selector="#box", deviceScaleFactor=2, fullPage=True)
    assert box["dimensions"] == {"width": 300, "height": 180}
    missing = await asked(service, target, selector="#nothing")
    assert assert_problem(missing, "ELEMENT_NOT_FOUND")["details"] == {"selector": "#nothing"}


async def test_a_page_that_is_too_tall_is_a_problem_unless_it_may_be_cut(service: Fetching) -> None:
    target = say(TALL)
    problem = assert_problem(await asked(service, target, fullPage=True), "CAPTURE_TOO_LARGE")
    assert problem["details"]["reason"] == "too_tall"  # type: ignore[index]
    assert problem["details"]["height"] > 40_000  # type: ignore[index]
    assert problem["details"]["limit"] == 16_384  # type: ignore[index]
    assert "maxHeight" in str(problem["hint"])
    cut = await shown(service, target, fullPage=True, maxHeight=3000)
    assert (cut["dimensions"], cut["truncated"]) == ({"width": 1280, "height": 3000}, True)
    whole = await shown(service, say(article()), fullPage=True, maxHeight=3000)
    assert (whole["dimensions"]["height"], "truncated" in whole) == (720, False)
    bare = await asked(
        service, target, fullPage=True, maxHeight=900, sent=accepting("image/webp"), quality=20
    )
    assert bare.headers["x-truncated"] == "true"
    assert size_of(bare.content) == (1280, 900)


async def test_a_page_that_stands_in_the_place_of_another_is_told(service: Fetching) -> None:
    blocked = await shown(service, say(CAPTCHA))
    assert (blocked["outcome"], blocked["statusCode"]) == ("blocked", 200)
    assert base64.b64decode(blocked["image"]).startswith(PNG)
    missing = await shown(service, say(article("No such page"), status="404 Not Found"), path="/pdf")
    assert (missing["outcome"], missing["statusCode"]) == ("error", 404)
    assert missing["outcomeReason"]


async def test_a_target_that_does_not_answer_is_a_timeout(service: Fetching) -> None:
    problem = assert_problem(await asked(service, "/first-byte-late", timeout=5000), "FETCH_TIMEOUT")
    assert problem["message"] == "The target did not respond within 5000 ms"
    assert problem["retryAfter"] == 5
    service.names.say("late.example", Reply(silent=True))
    problem = assert_problem(await asked(service, "http://late.example/", "/pdf"), "FETCH_TIMEOUT")
    assert problem["details"]["reason"] == "dns"  # type: ignore[index]
    waiting = await asked(service, say(article()), timeout=5000, waitForSelector="#never")
    details = assert_problem(waiting, "RENDER_FAILED")["details"]
    assert details == {"reason": "render_timeout", "selector": "#never", "awaited": "selector"}
    with socket.socket() as bound:  # and not listening
        bound.bind(("127.0.0.1", 0))
        dead = await asked(service, f"http://127.0.0.1:{bound.getsockname()[1]}/")
    assert assert_problem(dead, "RENDER_FAILED")["details"]["reason"] == "network_error"  # type: ignore[index]


async def test_the_bare_picture_for_who_asks_for_one(service: Fetching) -> None:
    target = say(article("Grüße"))
    for accept, sent in (
        ("image/png", "image/png"),
        ("image/webp,image/jpeg;q=0.9", "image/webp"),
        ("image/jpeg", "image/jpeg"),
        ("text/html, image/*;q=0.5", "image/png"),
    ):
        response = await asked(service, target, sent=accepting(accept))
        assert response.status_code == 200
        assert response.headers["content-type"] == sent
        assert size_of(response.content) == (1280, 720)
        assert response.headers["x-outcome"] == "ok"
        assert response.headers["x-final-url"] == service.site.url(target)
        assert response.headers["x-page-status"] == "200"
        assert "Accept" in response.headers["vary"]
        assert response.headers["x-content-type-options"] == "nosniff"
    for accept, kind in (("*/*", "png"), ("application/json, image/png", "png"), ("text/html", "png")):
        assert (await shown(service, target, sent=accepting(accept)))["format"] == kind
    named = await shown(service, target, sent=accepting("image/png"), format="jpeg")
    assert named["format"] == "jpeg"
    problem = await asked(service, target, sent=accepting("image/png"), selector="#none")
    assert_problem(problem, "ELEMENT_NOT_FOUND")


async def test_a_pdf(service: Fetching) -> None:
    target = say(pages.PAGES["sheets"])
    answer = await shown(service, target, path="/pdf")
    pdf = base64.b64decode(answer["pdf"], validate=True)
    assert (answer["pages"], len(pypdfium2.PdfDocument(pdf))) == (5, 5)
    assert (answer["format"], answer["title"], answer["tier"]) == ("A4", "Sheets", "pro")
    bare = await asked(
        service,
        target,
        "/pdf",
        sent=accepting("application/pdf"),
        format="Letter",
        landscape=True,
        margins={"top": "2cm", "left": "0.5in"},
        pageRanges="1-2, 4",
        printBackground=False,
        scale=0.8,
    )
    assert bare.headers["content-type"] == "application/pdf"
    assert (bare.headers["x-page-count"], bare.headers["x-outcome"]) == ("3", "ok")
    assert tuple(map(round, pypdfium2.PdfDocument(bare.content)[0].get_size())) == (792, 612)
    problem = assert_problem(await asked(service, target, "/pdf", pageRanges="7"), "UNPROCESSABLE_ENTITY")
    assert problem["details"]["reason"] == "page_ranges"  # type: ignore[index]
    problem = assert_problem(
        await asked(service, target, "/pdf", margins={"left": "20cm", "right": "20cm"}),
        "UNPROCESSABLE_ENTITY",
    )
    assert problem["details"]["reason"] == "margins"  # type: ignore[index]


async def test_headers_go_to_the_pages_own_origin(service: Fetching) -> None:
    target = say(article())
    await shown(service, target, headers={"Accept-Language": "de", "X-Api-Key": "secret"})
    seen = service.site.seen(target)[0]
    assert (seen.header("accept-language"), seen.header("x-api-key")) == ("de", "secret")


async def test_the_cache_takes_part_when_asked_and_hits_are_free(open_fetching: OpenFetching) -> None:
    async with open_fetching(limit_renders_pro="3/86400") as service:
        user: dict[str, Any] = {"sent": bearer(await service.visit.key())}
        target = say(article())
        for status, hit, seconds in (("MISS", False, 30_000), ("HIT", True, 20_000)):
            response = await asked(service, target, cache=True, timeout=seconds, **user)
            assert response.headers["x-cache-status"] == status
            assert response.json()["cache"]["hit"] is hit
            assert response.json()["cache"]["key"].startswith("weblens:screenshot:")
        assert service.visits(target) == 1
        bare: dict[str, Any] = {"sent": {**user["sent"], "Accept": "image/png"}}
        same = await asked(service, target, cache=True, **bare)  # what is kept is the same either way
        assert (same.headers["x-cache-status"], same.content[:8]) == ("HIT", PNG)
        other = await asked(service, target, cache=True, darkMode=True, **user)
        assert other.headers["x-cache-status"] == "MISS"
        pdf = await asked(service, target, "/pdf", maxAge=60, **user)
        assert pdf.json()["cache"]["key"].startswith("weblens:pdf:")
        over = await asked(service, target, **user)
        assert assert_problem(over, "RATE_LIMITED")["details"]["policy"] == "renders-pro"  # type: ignore[index]
        assert (await asked(service, target, cache=True, **user)).headers["x-cache-status"] == "HIT"
        assert (await asked(service, target, "/pdf", cache=True, **user)).headers["x-cache-status"] == "HIT"


async def test_what_is_not_ok_or_large_is_not_kept(service: Fetching) -> None:
    for target, wanted in (
        (say(CAPTCHA), {}),
        (say(NOISE), {"viewport": {"width": 1200, "height": 1200}}),
    ):
        answer = await shown(service, target, cache=True, **wanted)
        large = len(base64.b64decode(answer["image"])) > MAX_CACHED_BYTES
        assert (answer["outcome"], large) in (("blocked", False), ("ok", True))
        assert "expiresAt" not in answer["cache"]
        assert (await shown(service, target, cache=True, **wanted))["cache"]["hit"] is False


async def test_a_file_that_is_too_large_for_json_can_be_had_bare(service: Fetching) -> None:
    target = say(NOISE)
    wanted: dict[str, Any] = {"viewport": {"width": 1600, "height": 1750}}
    problem = assert_problem(await asked(service, target, **wanted), "CONTENT_TOO_LARGE")
    assert "Accept: image/png" in str(problem["hint"])
    bare = await asked(service, target, sent=accepting("image/png"), **wanted)
    assert 7_500_000 < len(bare.content) < 10_000_000


async def test_without_a_browser_it_says_so(open_fetching: OpenFetching) -> None:
    async with open_fetching(chromium="/nowhere/chromium") as service:
        response = await asked(service, say(article()))
        assert_problem(response, "SERVICE_UNAVAILABLE")
        assert int(response.headers["retry-after"]) > 0
        assert_problem(await asked(service, "http://localhost/"), "INVALID_URL")
