"""Decodes bodies piece by piece, with a bound on their size before and after decoding.

A decompression bomb is stopped after the piece that exceeds the bound, so it costs no more than a page.
"""

import io
from typing import Final

from gossamer.reach.http.body_budget import Reservation
from gossamer.reach.http.failures import failed, too_large
from gossamer.reach.net.fetch_reason import FetchReason
from gossamer.web.documents.decoders import CORRUPT, DECODERS, Decoder

ACCEPT_ENCODING: Final = "gzip, br, zstd"


def decoder_for(content_encoding: str) -> Decoder | None:
    """The decoder of a content coding; None if there is nothing to decode."""
    codings = [coding for part in content_encoding.split(",") if (coding := part.strip().lower())]
    codings = [coding for coding in codings if coding != "identity"]
    if not codings:
        return None
    if len(codings) > 1:
        raise failed(FetchReason.STACKED_ENCODING, ", ".join(codings)[:100])
    if (make := DECODERS.get(codings[0])) is None:
        raise failed(FetchReason.UNKNOWN_ENCODING, codings[0][:100])
    return make()


class Body:
    """Collects a body; `feed` and `finish` raise the problem with it."""

    def __init__(
        self, decoder: Decoder | None, max_bytes: int, reservation: Reservation | None = None
    ) -> None:
        self.wire_bytes = 0
        self.size = 0  # decoded
        self._decoder = decoder
        self._max_bytes = max_bytes
        self._reservation = reservation
        self._decoded = io.BytesIO()  # which gives its bytes away without copying them

    def feed(self, data: bytes) -> None:
        self.wire_bytes += len(data)
        if self.wire_bytes > self._max_bytes:
            raise too_large(self._max_bytes)
        if self._decoder is None:
            self._keep(data)
        else:
            self._decode(self._decoder, data)

    def _decode(self, decoder: Decoder, data: bytes) -> None:
        try:
            for piece in decoder.pieces(data):
                self._keep(piece)
        except CORRUPT as error:
            raise failed(FetchReason.BAD_ENCODING) from error

    def _keep(self, piece: bytes) -> None:
        self.size += len(piece)
        if self.size > self._max_bytes:
            raise too_large(self._max_bytes)
        if self._reservation is not None and self.size > self._reservation.room:
            self._reservation.grow(self.size)
        self._decoded.write(piece)

    def finish(self) -> bytes:
        # Many servers name a coding on answers that have no body at all.
        if self._decoder is not None and self.wire_bytes and not self._decoder.complete:
            raise failed(FetchReason.INCOMPLETE, "the compressed stream is cut off")
        return self._decoded.getvalue()
