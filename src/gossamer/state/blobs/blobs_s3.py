"""Blobs in a bucket of Amazon S3 or of anything that speaks like it: MinIO, R2, Ceph, Garage, Supabase…

    s3://bucket/prefix?endpoint=https://s3.example:9000&region=eu-west-1&style=virtual

All but the bucket may be left out. Buckets stand in the path unless `style` is `virtual`; then the endpoint
names the bucket. The key needs GetObject, PutObject, DeleteObject and ListBucket; without the
last one a missing object looks like a forbidden one.

The client is Rust's object_store. We call it from threads: its own futures may wake up after the interpreter
has gone, and take the process down with them.
"""

import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final, Self, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import S3Store

from gossamer.problems import Unavailable
from gossamer.state.blobs.blobs import CHUNK, DEADLINE, Missing, check_name
from gossamer.state.blobs.blocking import Blocking

if TYPE_CHECKING:
    from obstore import Attributes, BytesStream
    from obstore.store import S3Config

T = TypeVar("T")

THREADS: Final = 32
RETRIES: Final = 2
LISTED_AT_ONCE: Final = 1_000
MAX_STREAM_SECONDS: Final = 3600.0  # for a slow reader; the store itself keeps to the deadline
PING_NAME: Final = "ping"  # no object has this name
_FORM: Final = "the bucket must be given as s3://bucket/prefix?endpoint=https://…&region=…"
_PART: Final = r"[A-Za-z0-9_][A-Za-z0-9._-]*"


@dataclass(frozen=True, slots=True)
class Bucket:
    """Its address and credentials. Empty values are looked up by the client as Amazon's own tools do."""

    name: str
    prefix: str
    endpoint: str
    region: str
    virtual: bool
    key: str
    secret: str = field(repr=False)
    token: str = field(repr=False)

    @classmethod
    def parse(cls, url: str, environ: Mapping[str, str]) -> Self:
        parts = urlsplit(url)
        given = dict(parse_qsl(parts.query))
        endpoint = given.pop("endpoint", "") or _first(environ, "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
        region = given.pop("region", "") or _first(environ, "AWS_REGION", "AWS_DEFAULT_REGION")
        bucket = cls(
            name=parts.netloc,
            prefix=unquote(parts.path).strip("/"),
            endpoint=endpoint.rstrip("/"),
            region=region or "us-east-1",
            virtual=given.pop("style", "path") == "virtual",
            key=environ.get("AWS_ACCESS_KEY_ID", ""),
            secret=environ.get("AWS_SECRET_ACCESS_KEY", ""),
            token=environ.get("AWS_SESSION_TOKEN", ""),
        )
        if given or not bucket._is_well_formed():
            raise ValueError(_FORM)  # without the URL: people put secrets into it
        return bucket

    def _is_well_formed(self) -> bool:
        return bool(
            re.fullmatch(_PART, self.name)
            and re.fullmatch(rf"|{_PART}(/{_PART})*", self.prefix)
            and re.fullmatch(r"|https?://[^\s/@?#]+(/[^\s@?#]*)?", self.endpoint)
        )

    def store(self, *, longest: float, silence: float) -> S3Store:
        config: S3Config = {"region": self.region, "virtual_hosted_style_request": self.virtual}
        if self.endpoint:
            config["aws_endpoint_url_s3"] = self.endpoint
        if self.key:
            config |= {"access_key_id": self.key, "secret_access_key": self.secret}
        if self.token:
            config["session_token"] = self.token
        return S3Store(
            self.name,
            prefix=self.prefix or None,
            config=config,
            client_options={
                "allow_http": self.endpoint.startswith("http:"),
                "connect_timeout": timedelta(seconds=silence / 2),
                "read_timeout": timedelta(seconds=silence),
                "timeout": timedelta(seconds=longest),
            },
            retry_config={"max_retries": RETRIES, "retry_timeout": timedelta(seconds=silence / 2)},
        )


class S3Blobs:
    def __init__(self, url: str, environ: Mapping[str, str], *, deadline: float = DEADLINE) -> None:
        bucket = Bucket.parse(url, environ)
        self._store = bucket.store(longest=deadline, silence=deadline)
        self._streams = bucket.store(longest=MAX_STREAM_SECONDS, silence=deadline)
        self._blocking = Blocking("blobs", threads=THREADS, deadline=deadline)

    async def put(
        self, name: str, body: bytes, *, media_type: str = "application/octet-stream", coding: str = ""
    ) -> None:
        # Some stores decompress objects that are marked as compressed, unless this forbids it.
        kept: Attributes = {"Content-Type": media_type, "Cache-Control": "private, no-transform"}
        if coding:
            kept["Content-Encoding"] = coding
        # In parts it would not appear at once, and a crash would leave parts that are paid for.
        await self._call(
            partial(self._store.put, check_name(name), body, attributes=kept, use_multipart=False)
        )

    async def get(self, name: str) -> bytes | None:
        try:
            return await self._call(partial(_translate_missing, partial(self._read, check_name(name))))
        except Missing:
            return None

    async def get_part(self, name: str, offset: int, size: int) -> bytes | None:
        part = partial(self._read_part, check_name(name), offset, size)
        try:
            return await self._call(partial(_translate_missing, part))
        except Missing:
            return None

    async def stream(self, name: str) -> AsyncGenerator[bytes]:
        chunks = await self._call(partial(_translate_missing, partial(self._open, check_name(name))))
        while (chunk := await self._call(partial(next, chunks, None))) is not None:
            yield bytes(chunk)

    async def drop(self, names: Sequence[str]) -> None:
        if names:
            await self._call(partial(self._store.delete, [check_name(name) for name in names]))

    async def listing(self, prefix: str) -> AsyncGenerator[tuple[str, int]]:
        pages = await self._call(partial(self._store.list, check_name(prefix), chunk_size=LISTED_AT_ONCE))
        while (page := await self._call(partial(next, pages, None))) is not None:
            for found in page:
                yield found["path"], found["size"]

    async def ping(self) -> None:
        await self.get(PING_NAME)

    async def close(self) -> None:
        self._blocking.close()

    async def _call(self, work: Callable[[], T]) -> T:
        return await self._blocking.call(partial(_translate, work))

    def _read(self, name: str) -> bytes:
        return self._store.get(name).bytes().to_bytes()

    def _read_part(self, name: str, offset: int, size: int) -> bytes:
        return self._store.get_range(name, start=offset, length=size).to_bytes() if size else b""

    def _open(self, name: str) -> "BytesStream":
        return self._streams.get(name).stream(min_chunk_size=CHUNK)


def _translate_missing(work: Callable[[], T]) -> T:
    try:
        return work()
    except FileNotFoundError as error:
        # S3's own error code: the client has one exception for a missing object and a missing bucket.
        if "NoSuchBucket" in str(error):
            raise
        raise Missing from error


def _translate(work: Callable[[], T]) -> T:
    try:
        return work()
    except FileNotFoundError as error:
        raise Unavailable("blobs", "the bucket is missing") from error
    except BaseError as error:
        raise Unavailable("blobs", _why(error)) from error


def _why(error: BaseError) -> str:
    if isinstance(error, PermissionDeniedError | UnauthenticatedError):
        return "access is denied: check the key, the secret and the bucket's policy"
    text = str(error)
    if "/latest/api/token" in text:
        return "there is no key: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    if found := re.search(r"status code: (\d{3})", text):
        return f"it answers with {found[1]}"
    return "no connection" if "kind: Connect" in text else "no answer"


def _first(environ: Mapping[str, str], *names: str) -> str:
    return next((environ[name] for name in names if environ.get(name)), "")
