"""What is asked of memory: writes of values and pages, and the checks of both."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gossamer import problems
from gossamer.problems import Problem, validation_error
from gossamer.web.memory.memory_entry import MAX_VALUE_BYTES, MemoryFormat, PageSource
from gossamer.web.memory.memory_names import (
    DEFAULT_NAMESPACE,
    MAX_TAGS,
    NAMESPACE_PATTERN,
    check_key,
    check_namespace,
    check_tags,
)
from gossamer.web.pages.page_request import PageUrl, Rendering

MAX_TITLE_CHARS: Final = 300
MAX_TTL: Final = 10 * 366 * 86_400  # seconds
MAX_DEPTH: Final = 100  # of lists and objects in each other

Namespace = Annotated[str, Meta(pattern=NAMESPACE_PATTERN, max_length=64, examples=["research"])]
Ttl = Annotated[
    Annotated[int, Meta(ge=1, le=MAX_TTL)] | None,
    Meta(description="Seconds after which the entry is gone. Without it the entry stays."),
]
IfVersion = Annotated[
    Annotated[int, Meta(ge=0)] | None,
    Meta(
        description="Write only if the entry has this version now; 0: only if there is no such entry. "
        "Otherwise the answer is 409, and nothing is written."
    ),
]
Tags = Annotated[tuple[str, ...], Meta(max_length=MAX_TAGS, description="By which entries can be found.")]
Title = Annotated[str, Meta(max_length=MAX_TITLE_CHARS, description="Shown in lists; counts in searches.")]


class MemoryValue(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What to remember: a value, or what an earlier version had."""

    value: Annotated[Any, Meta(description="Any JSON, of up to 1 MiB.")] = UNSET
    format: Annotated[
        MemoryFormat | UnsetType,
        Meta(description="`text` and `markdown` take a string; the default is `json`."),
    ] = UNSET
    restore: Annotated[
        Annotated[int, Meta(ge=1)] | UnsetType,
        Meta(description="Instead of `value`: write what this earlier version had."),
    ] = UNSET
    title: Title = ""
    tags: Tags = ()
    ttl: Ttl = None
    if_version: IfVersion = None

    def check(self) -> None:
        """Raises `Problem` for what cannot be remembered."""
        if (self.value is UNSET) == (self.restore is UNSET):
            raise validation_error("Give either `value` or `restore`.", hint='For example {"value": 42}.')
        if self.restore is not UNSET and (self.format is not UNSET or self.title or self.tags):
            raise validation_error("What is restored has its own format, title and tags.")
        if self.value is not UNSET:
            check_value(self.value, self.format or "json")
        check_tags(self.tags)


class MemoryWrite(MemoryValue, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A value, and where to keep it."""

    namespace: Namespace = DEFAULT_NAMESPACE
    key: str

    @classmethod
    def of(cls, namespace: str, key: str, value: MemoryValue) -> "MemoryWrite":
        given = {name: getattr(value, name) for name in MemoryValue.__struct_fields__}
        return cls(namespace=namespace, key=key, **given)

    def check(self) -> None:
        super().check()
        check_namespace(self.namespace)
        check_key(self.key)


class MemoryPage(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A page to remember by its address."""

    url: Annotated[
        PageUrl | UnsetType,
        Meta(description="The page. Without it, the page of the entry that is there is read again."),
    ] = UNSET
    max_age: Annotated[
        Annotated[int, Meta(ge=0, le=366 * 86_400)],
        Meta(
            description="Seconds: a page that the cache has, or that a crawl of yours has stored, at most so "
            "long ago is taken as it is. 0 fetches it."
        ),
    ] = 0
    render: Annotated[
        Rendering, Meta(description="Whether to use a browser: `never`, `auto` or `always`.")
    ] = "never"
    title: Annotated[Title, Meta(description="Instead of the page's own.")] = ""
    tags: Annotated[Tags | UnsetType, Meta(description="If the page is read again, those it had.")] = UNSET
    ttl: Ttl = None
    if_version: IfVersion = None


class MemoryLine(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One line of an export, as far as an import needs it."""

    namespace: str
    key: str
    value: Any
    format: MemoryFormat = "json"
    title: Annotated[str, Meta(max_length=MAX_TITLE_CHARS)] = ""
    tags: tuple[str, ...] = ()
    expires_at: str = ""
    source: PageSource | UnsetType = UNSET

    def check(self) -> None:
        check_namespace(self.namespace)
        check_key(self.key)
        check_tags(self.tags)
        check_value(self.value, self.format)


def check_value(value: Any, format_: MemoryFormat) -> None:
    if format_ != "json" and not isinstance(value, str):
        raise validation_error(f"With the format `{format_}` the value is a string.")
    if _is_deep(value):
        raise validation_error(f"The value has more than {MAX_DEPTH} lists or objects in each other.")


def encode_value(value: Any) -> bytes:
    """The value as it is stored. Raises `Problem` if it is too large."""
    encoded = msgspec.json.encode(value)
    if len(encoded) > MAX_VALUE_BYTES:
        raise Problem(
            problems.PAYLOAD_TOO_LARGE,
            f"The value has {len(encoded):,} bytes as JSON; an entry takes {MAX_VALUE_BYTES:,}.",
            hint="Split it into several entries.",
            limit=MAX_VALUE_BYTES,
        )
    return encoded


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        below: list[Any] = []
        for one in level:
            if isinstance(one, dict):
                below += one.values()
            elif isinstance(one, list):
                below += one
        if not below:
            return False
        level = below
    return any(isinstance(one, dict | list) for one in level)
