"""Images: what they tell people who cannot see them, and what they cost everyone else."""

import re
from collections.abc import Iterator
from typing import Final

from gossamer.web.audit.check import CheckMaker, PageAnswer, Severity, Theme, page_has_no
from gossamer.web.audit.page.subject import Subject, attribute, find_broken, split

MAX_EMBEDDED_CHARS: Final = 10_000  # characters of a data: address
MAX_ALT_CHARS: Final = 250
MAX_IMAGE_WIDTH: Final = 2_560  # pixels that a page may show an image at
MANY: Final = 8  # images on a page, of which some are below the fold
_NAME: Final = re.compile(
    r"(?:.*/)?[\w%.-]+\.(?:jpe?g|png|gif|webp|avif|svg|bmp|tiff?)|(?:img|dsc|image)[_-]?\d+", re.I
)
_OLD: Final = re.compile(r"\.(?:bmp|tiff?|jpe?g|png|gif)$", re.I)
_NO_FORMAT: Final = re.compile(r"\.(?:bmp|tiff?)$", re.I)
_INTEGER: Final = re.compile(r"\s*([0-9]{1,6})")

Attributes = dict[str, str | None]

check = CheckMaker[Subject](Theme.IMAGES, "page")


@check(
    "images-broken",
    Severity.SERIOUS,
    title="Images cannot be loaded",
    passed="Every checked image can be loaded",
    why="Readers see a hole in the page, and its content is lost to them.",
    fix="Correct the addresses, or put the images back.",
)
def images_broken(subject: Subject) -> PageAnswer:
    return find_broken(subject, lambda one: one.kind == "image", "checked images")


@check(
    "image-alt",
    Severity.MODERATE,
    title="Images have no alternative text",
    passed="Every image has an alternative text, or says that it needs none",
    why="People who do not see the image, image search and models that read text know nothing of it.",
    fix='Describe the image in `alt`, or write `alt=""` if it is only decoration.',
)
def image_alt(subject: Subject) -> PageAnswer:
    if not subject.images:
        return page_has_no("images")
    return [_describe(one) for one in subject.images if "alt" not in one and not _is_hidden(one)]


@check(
    "image-alt-filename",
    Severity.MINOR,
    title="Alternative texts are file names",
    passed="Alternative texts are worded",
    why="“IMG_2041.jpg” read aloud does not help.",
    fix="Describe what the image shows.",
)
def image_alt_filename(subject: Subject) -> PageAnswer:
    if not subject.images:
        return page_has_no("images")
    alts = (_value(one, "alt") for one in subject.images)
    return [f"alt={alt}" for alt in alts if len(alt) < MAX_ALT_CHARS and _NAME.fullmatch(alt)]


@check(
    "image-alt-long",
    Severity.MINOR,
    title="Alternative texts are as long as paragraphs",
    passed="Alternative texts are short",
    why="They are read aloud in one breath, without a way to pause or skip.",
    fix=f"Keep them below {MAX_ALT_CHARS} characters and put the rest into a caption.",
)
def image_alt_long(subject: Subject) -> PageAnswer:
    if not subject.images:
        return page_has_no("images")
    return [f"{len(alt)} characters: {alt}" for alt in _alts(subject) if len(alt) > MAX_ALT_CHARS]


@check(
    "image-dimensions",
    Severity.MINOR,
    title="Images do not say how large they are",
    passed="Images say how large they are",
    why="The text jumps when an image arrives, because no room was kept for it.",
    fix="Write `width` and `height` on the element; styles may still change the size.",
)
def image_dimensions(subject: Subject) -> PageAnswer:
    if not subject.images:
        return page_has_no("images")
    return [_describe(one) for one in subject.images if not _has_size(one)]


@check(
    "image-lazy-first",
    Severity.MINOR,
    title="The first image is loaded late",
    passed="The first image is loaded at once",
    why="Most often it is the first thing a reader sees, and it is requested only after the layout is known.",
    fix='Remove `loading="lazy"` from images that are seen without scrolling.',
)
def image_lazy_first(subject: Subject) -> PageAnswer:
    if not subject.images:
        return page_has_no("images")
    first = subject.images[0]
    return [_describe(first)] if _value(first, "loading").lower() == "lazy" else []


@check(
    "image-eager",
    Severity.MINOR,
    title="Images that may never be seen are loaded at once",
    passed="Images further down are loaded when they are needed",
    why="They compete with the images and text that the reader is waiting for.",
    fix='Write `loading="lazy"` on images further down.',
)
def image_eager(subject: Subject) -> PageAnswer:
    if len(subject.images) < MANY:
        return page_has_no(f"{MANY} images")
    lazy = any(_value(one, "loading").lower() == "lazy" for one in subject.images)
    return [] if lazy else [f"none of {len(subject.images)} images is lazy"]


@check(
    "image-source",
    Severity.MODERATE,
    title="Images have no address",
    passed="Every image has an address",
    why="There is nothing to show, and some browsers load the page itself a second time.",
    fix="Give the image a `src`, also where a script fills it in later.",
)
def image_source(subject: Subject) -> PageAnswer:
    if not subject.images:
        return page_has_no("images")
    return [_describe(one) for one in subject.images if not _value(one, "src") and not _value(one, "srcset")]


@check(
    "image-embedded",
    Severity.MINOR,
    title="Large images are written into the page",
    passed="No large image is written into the page",
    why="They are sent again with every visit, and the text waits behind them.",
    fix="Put them into separate files.",
)
def image_embedded(subject: Subject) -> PageAnswer:
    if not subject.images:
        return page_has_no("images")
    sources = (_value(one, "src") for one in subject.images)
    return [
        f"{len(source):,} characters of {source[:24]}…"
        for source in sources
        if source.startswith("data:") and len(source) > MAX_EMBEDDED_CHARS
    ]


@check(
    "image-oversized",
    Severity.MINOR,
    title="Images are larger than any screen shows them",
    passed="No image states a size beyond the screen's",
    why="A phone downloads every pixel and shows one in ten.",
    fix=f"Offer images of at most {MAX_IMAGE_WIDTH:,} pixels width, and smaller ones in `srcset`.",
)
def image_oversized(subject: Subject) -> PageAnswer:
    if not subject.images:
        return page_has_no("images")
    return [
        f"{width:,} pixels wide: {_describe(one)}"
        for one in subject.images
        if (width := _pixels(one)) > MAX_IMAGE_WIDTH and not _value(one, "srcset")
    ]


@check(
    "image-formats",
    Severity.INFO,
    title="Images are in older formats",
    passed="Images come in modern formats",
    why="WebP and AVIF need about half the bytes of JPEG and PNG for the same picture.",
    fix="Offer WebP or AVIF, with `<picture>` where older browsers matter.",
)
def image_formats(subject: Subject) -> PageAnswer:
    if not subject.images:
        return page_has_no("images")
    if subject.tree.css_first("picture source[type*='webp'], picture source[type*='avif']") is not None:
        return []
    return [_value(one, "src") for one in subject.images if _OLD.search(_path(one))]


@check(
    "image-unshowable",
    Severity.MODERATE,
    title="Images are in formats that browsers do not show",
    passed="Images are in formats that browsers show",
    why="BMP and TIFF are enormous, and TIFF is shown by next to no browser.",
    fix="Convert them to WebP, AVIF, JPEG or PNG.",
)
def image_unshowable(subject: Subject) -> PageAnswer:
    if not subject.images:
        return page_has_no("images")
    return [_value(one, "src") for one in subject.images if _NO_FORMAT.search(_path(one))]


@check(
    "media-titles",
    Severity.MINOR,
    title="Frames have no title",
    passed="Every frame has a title",
    why="Screen readers announce a frame by its title; without one it is only “frame”.",
    fix="Write a `title` on every `<iframe>` that says what is in it.",
)
def media_titles(subject: Subject) -> PageAnswer:
    frames = [node for node in subject.tree.css("iframe") if not _is_hidden(node.attributes)]
    if not frames:
        return page_has_no("frames")
    return [
        attribute(node, "src")[:200] or "an empty frame"
        for node in frames
        if not (attribute(node, "title") or attribute(node, "aria-label")).strip()
    ]


def _value(image: Attributes, name: str) -> str:
    return " ".join((image.get(name) or "").split())


def _alts(subject: Subject) -> Iterator[str]:
    return (_value(one, "alt") for one in subject.images)


def _describe(image: Attributes) -> str:
    return _value(image, "src")[:200] or _value(image, "data-src")[:200] or _value(image, "alt") or "`<img>`"


def _is_hidden(attributes: Attributes) -> bool:
    return attributes.get("aria-hidden") == "true" or attributes.get("role") in ("presentation", "none")


def _has_size(image: Attributes) -> bool:
    style = _value(image, "style").lower()
    return (
        all(_value(image, name) or name in style for name in ("width", "height")) or "aspect-ratio" in style
    )


def _pixels(image: Attributes) -> int:
    match = _INTEGER.match(_value(image, "width"))
    return int(match[1]) if match and "%" not in _value(image, "width") else 0


def _path(image: Attributes) -> str:
    source = _value(image, "src")
    return "" if source.startswith("data:") else split(source).path


CHECKS: Final = (
    images_broken,
    image_alt,
    image_alt_filename,
    image_alt_long,
    image_dimensions,
    image_lazy_first,
    image_eager,
    image_source,
    image_embedded,
    image_oversized,
    image_formats,
    image_unshowable,
    media_titles,
)
