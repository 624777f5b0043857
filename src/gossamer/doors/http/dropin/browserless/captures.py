"""Puppeteer's options of pictures and PDF, in the words of our API."""

from typing import Any, Final, get_args

from gossamer.doors.http.dropin.browserless.body import BrowserBody, refused
from gossamer.problems import validation_error
from gossamer.reach.page.visit import Paper

PICTURES: Final = {"png": "image/png", "jpeg": "image/jpeg", "jpg": "image/jpeg", "webp": "image/webp"}
_PAPERS: Final = {paper.lower(): paper for paper in get_args(Paper)}
_SIDES: Final = ("top", "right", "bottom", "left")


def picture_format(body: BrowserBody) -> str:
    kind = str(_picture_options(body).get("type") or "png").lower()
    if kind not in PICTURES:
        raise refused(f"type: {kind[:50]}", f"Take one of {', '.join(PICTURES)}.")
    return "jpeg" if kind == "jpg" else kind


def wants_base64(body: BrowserBody) -> bool:
    return _picture_options(body).get("encoding") == "base64"


def to_screenshot(body: BrowserBody) -> dict[str, Any]:
    """The body of `POST /screenshot`."""
    options = _picture_options(body)
    for name in ("clip", "omitBackground"):
        if options.get(name):
            raise refused(name, "Take a picture of the page, or of one element with `selector`.")
    asked = {**body.visit(), "format": picture_format(body)}
    if options.get("fullPage"):
        asked["fullPage"] = True
    if options.get("quality") is not None:
        asked["quality"] = options["quality"]
    if body.selector:
        asked["selector"] = body.selector
    if body.viewport is not None:
        asked["viewport"] = {"width": body.viewport.width, "height": body.viewport.height}
        asked["deviceScaleFactor"] = body.viewport.device_scale_factor
    return asked


def to_pdf(body: BrowserBody) -> dict[str, Any]:
    """The body of `POST /pdf`. Where nothing is said, it is as Puppeteer prints: Letter, no margins, no
    backgrounds."""
    options = body.options or body.pdf_options
    for name in ("width", "height", "displayHeaderFooter", "preferCSSPageSize"):
        if options.get(name):
            raise refused(name, "Choose paper with `format`.")
    paper = str(options.get("format") or "Letter").lower()
    if paper not in _PAPERS:
        raise refused(f"format: {paper[:50]}", f"Take one of {', '.join(_PAPERS.values())}.")
    asked = {
        **body.visit(),
        "format": _PAPERS[paper],
        "landscape": bool(options.get("landscape")),
        "printBackground": bool(options.get("printBackground")),
        "margins": _margins(options.get("margin") or {}),
    }
    for ours, theirs in (("scale", "scale"), ("pageRanges", "pageRanges")):
        if options.get(theirs):
            asked[ours] = options[theirs]
    return asked


def _margins(given: Any) -> dict[str, str]:
    if not isinstance(given, dict):
        raise validation_error("`margin` is not an object.", hint='Give {"top": "1cm"}.')
    return {side: _length(given.get(side, 0)) for side in _SIDES}


def _length(given: Any) -> str:
    """Numbers are pixels."""
    text = str(given).strip()
    return f"{text}px" if text.replace(".", "", 1).isdecimal() else text


def _picture_options(body: BrowserBody) -> dict[str, Any]:
    return body.options or body.screenshot_options
