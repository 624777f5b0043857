"""Images: what they say to those who cannot see them, and what they cost those who can."""

import re
from collections.abc import Iterator
from typing import Final

from gossamer.web.checks.rule import Answer, Asking, Severity, Theme, nothing
from gossamer.web.checks.subject import Subject, attribute, split

LARGEST_EMBEDDED: Final = 10_000  # characters of a data: address
LONGEST_ALT: Final = 250
WIDEST: Final = 2_560  # pixels that a page may show an image at
MANY: Final = 8  # images on a page, of which some are below the fold
_NAME: Final = re.compile(
    r"(?:.*/)?[\w%.-]+\.(?:jpe?g|png|gif|webp|avif|svg|bmp|tiff?)|(?:img|dsc|image)[_-]?\d+", re.I
)
_OLD: Final = re.compile(r"\.(?:bmp|tiff?|jpe?g|png|gif)$", re.I)
_NO_FORMAT: Final = re.compile(r"\.(?:bmp|tiff?)$", re.I)
_INTEGER: Final = re.compile(r"\s*([0-9]{1,6})")

Attributes = dict[str, str | None]

check = Asking(Theme.IMAGES)


@check(
    "image-alt",
    Severity.MODERATE,
    title="Images have no alternative text",
    passed="Every image has an alternative text, or says that it needs none",
    why="People who do not see the image, image search and models that read text know nothing of it.",
    fix='Describe the image in `alt`, or write `alt=""` if it is only decoration.',
)
def image_alt(subject: Subject) -> Answer:
    if not subject.images:
        return nothing("images")
    return [_shown(one) for one in subject.images if "alt" not in one and not _is_hidden(one)]


@check(
    "image-alt-filename",
    Severity.MINOR,
    title="Alternative texts are file names",
    passed="Alternative texts are worded",
    why="“IMG_2041.jpg” read aloud helps nobody.",
    fix="Say what is to be seen.",
)
def image_alt_filename(subject: Subject) -> Answer:
    if not subject.images:
        return nothing("images")
    alts = (_value(one, "alt") for one in subject.images)
    return [f"alt={alt}" for alt in alts if len(alt) < LONGEST_ALT and _NAME.fullmatch(alt)]


@check(
    "image-alt-long",
    Severity.MINOR,
    title="Alternative texts are as long as paragraphs",
    passed="Alternative texts are short",
    why="They are read aloud in one breath, without a way to pause or skip.",
    fix=f"Keep them below {LONGEST_ALT} characters and put the rest into a caption.",
)
def image_alt_long(subject: Subject) -> Answer:
    if not subject.images:
        return nothing("images")
    return [f"{len(alt)} characters: {alt}" for alt in _alts(subject) if len(alt) > LONGEST_ALT]


@check(
    "image-dimensions",
    Severity.MINOR,
    title="Images do not say how large they are",
    passed="Images say how large they are",
    why="The text jumps when an image arrives, because no room was kept for it.",
    fix="Write `width` and `height` on the element; styles may still change the size.",
)
def image_dimensions(subject: Subject) -> Answer:
    if not subject.images:
        return nothing("images")
    return [_shown(one) for one in subject.images if not _has_size(one)]


@check(
    "image-lazy-first",
    Severity.MINOR,
    title="The first image is loaded late",
    passed="The first image is loaded at once",
    why="It is most often what the reader sees first, and waits for the layout before it is even asked for.",
    fix='Remove `loading="lazy"` from images that are seen without scrolling.',
)
def image_lazy_first(subject: Subject) -> Answer:
    if not subject.images:
        return nothing("images")
    first = subject.images[0]
    return [_shown(first)] if _value(first, "loading").lower() == "lazy" else []


@check(
    "image-eager",
    Severity.MINOR,
    title="Images that may never be seen are loaded at once",
    passed="Images further down are loaded when they are needed",
    why="They compete with what the reader is waiting for.",
    fix='Write `loading="lazy"` on images further down.',
)
def image_eager(subject: Subject) -> Answer:
    if len(subject.images) < MANY:
        return nothing(f"{MANY} images")
    lazy = any(_value(one, "loading").lower() == "lazy" for one in subject.images)
    return [] if lazy else [f"none of {len(subject.images)} images is lazy"]


@check(
    "image-source",
    Severity.MODERATE,
    title="Images have no address",
    passed="Every image has an address",
    why="There is nothing to be shown, and some browsers load the page itself a second time.",
    fix="Give the image a `src`, also where a script fills it in later.",
)
def image_source(subject: Subject) -> Answer:
    if not subject.images:
        return nothing("images")
    return [_shown(one) for one in subject.images if not _value(one, "src") and not _value(one, "srcset")]


@check(
    "image-embedded",
    Severity.MINOR,
    title="Large images are written into the page",
    passed="No large image is written into the page",
    why="They are sent again with every visit, and the text waits behind them.",
    fix="Put them into files of their own.",
)
def image_embedded(subject: Subject) -> Answer:
    if not subject.images:
        return nothing("images")
    sources = (_value(one, "src") for one in subject.images)
    return [
        f"{len(source):,} characters of {source[:24]}…"
        for source in sources
        if source.startswith("data:") and len(source) > LARGEST_EMBEDDED
    ]


@check(
    "image-oversized",
    Severity.MINOR,
    title="Images are larger than any screen shows them",
    passed="No image states a size beyond the screen's",
    why="A phone downloads every pixel and shows one in ten.",
    fix=f"Offer images of at most {WIDEST:,} pixels width, and smaller ones in `srcset`.",
)
def image_oversized(subject: Subject) -> Answer:
    if not subject.images:
        return nothing("images")
    return [
        f"{width:,} pixels wide: {_shown(one)}"
        for one in subject.images
        if (width := _pixels(one)) > WIDEST and not _value(one, "srcset")
    ]


@check(
    "image-formats",
    Severity.INFO,
    title="Images are in older formats",
    passed="Images come in modern formats",
    why="WebP and AVIF need about half the bytes of JPEG and PNG for the same picture.",
    fix="Offer WebP or AVIF, with `<picture>` where older browsers matter.",
)
def image_formats(subject: Subject) -> Answer:
    if not subject.images:
        return nothing("images")
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
def image_unshowable(subject: Subject) -> Answer:
    if not subject.images:
        return nothing("images")
    return [_value(one, "src") for one in subject.images if _NO_FORMAT.search(_path(one))]


@check(
    "media-titles",
    Severity.MINOR,
    title="Frames have no title",
    passed="Every frame has a title",
    why="Screen readers announce a frame by its title; without one it is only “frame”.",
    fix="Write a `title` on every `<iframe>` that says what is in it.",
)
def media_titles(subject: Subject) -> Answer:
    frames = [node for node in subject.tree.css("iframe") if not _is_hidden(node.attributes)]
    if not frames:
        return nothing("frames")
    return [
        attribute(node, "src")[:200] or "an empty frame"
        for node in frames
        if not (attribute(node, "title") or attribute(node, "aria-label")).strip()
    ]


def _value(image: Attributes, name: str) -> str:
    return " ".join((image.get(name) or "").split())


def _alts(subject: Subject) -> Iterator[str]:
    return (_value(one, "alt") for one in subject.images)


def _shown(image: Attributes) -> str:
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
