"""Scans: pages that are pictures, as pictures for an engine that recognises text."""

import math
from collections.abc import Iterator
from itertools import islice
from typing import Final

import pypdfium2
from pypdfium2 import raw

DOTS_PER_INCH: Final = 200
POINTS_PER_INCH: Final = 72
MAX_PIXELS: Final = 6_000_000  # of the picture of a page; a larger page is drawn smaller
MAX_IMAGE_PIXELS: Final = 64_000_000  # of all images on a page, which are unpacked to draw it
MAX_OBJECTS: Final = 10_000  # of a page; others are not looked at
MAX_NESTED: Final = 3  # forms around an image


def is_scanned(page: pypdfium2.PdfPage) -> bool:
    return next(_images(page), None) is not None


def _images(page: pypdfium2.PdfPage) -> Iterator[pypdfium2.PdfImage]:
    for found in islice(page.get_objects(max_depth=MAX_NESTED), MAX_OBJECTS):
        if found.type == raw.FPDF_PAGEOBJ_IMAGE:
            yield found


def picture_of(document: pypdfium2.PdfDocument, index: int) -> bytes | None:
    """Draw a page in shades of grey, as PGM; None if it takes too much memory or cannot be read."""
    try:
        page = document[index]
        try:
            return _draw(page)
        finally:
            page.close()
    except pypdfium2.PdfiumError:
        return None


def _draw(page: pypdfium2.PdfPage) -> bytes | None:
    if sum(math.prod(image.get_px_size()) for image in _images(page)) > MAX_IMAGE_PIXELS:
        return None
    width, height = page.get_size()
    scale = min(DOTS_PER_INCH / POINTS_PER_INCH, math.sqrt(MAX_PIXELS / max(width * height, 1)))
    bitmap = page.render(scale=scale, grayscale=True, may_draw_forms=False)
    try:
        return _pgm(bitmap)
    finally:
        bitmap.close()


def _pgm(bitmap: pypdfium2.PdfBitmap) -> bytes:
    rows = memoryview(bitmap.buffer).cast("B")
    starts = range(0, bitmap.stride * bitmap.height, bitmap.stride)
    pixels = b"".join(rows[start : start + bitmap.width] for start in starts)
    return b"P5 %d %d 255\n%b" % (bitmap.width, bitmap.height, pixels)
