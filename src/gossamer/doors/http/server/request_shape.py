"""RequestShape: the part of a request that its answer depends on, taken from its bytes without a parser.

An answer depends on the method, the target, the body, and the header fields that were read to make it
(`Exchange.deciding`), as `Vary` tells caches in HTTP. It cannot depend on the others, such as the trace ids
and addresses that a proxy adds. So two requests of one shape get the same answer, whatever else they say.

Only a plain request has a shape: a head that every parser reads alike, and its whole body. Everything else is
for the real parser to judge.
"""

import re
from collections.abc import Set
from typing import Final, NamedTuple

from gossamer.doors.http.server.framing import MAX_FIELDS, Fields, is_host

MAX_REQUEST_BYTES: Final = 8_192
# The fields that the connection reads, before there is an exchange.
OF_CONNECTION: Final = frozenset(
    {b"connection", b"content-length", b"expect", b"host", b"transfer-encoding", b"upgrade"}
)
_ON_REQUEST: Final = frozenset({b"expect", b"transfer-encoding", b"upgrade"})
_FIELD: Final = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]++:[\t -~\x80-\xff]*+\r\n"
_DOOR: Final = re.compile(rb"[A-Z]+ /[^/? ]*")
_HEAD: Final = re.compile(rb"(%b)[!-~]* HTTP/1\.1\r\n(?:%b){1,%d}+\r\n" % (_DOOR.pattern, _FIELD, MAX_FIELDS))

# What all parsers of URLs split alike.
_PATH: Final = rb"/[\w.~!$&'()*+,;=:@%/-]*+"
_BARE: Final = re.compile(
    rb"GET (%b)(?:\?([\w.~!$&'()*+,;=:@%%/?-]*+))? HTTP/1\.1\r\n((?:%b){1,%d}+)\r\n"
    % (_PATH, _FIELD, MAX_FIELDS)
)
_PARTS: Final = re.compile(rb"([^:]+):[\t ]*([^\r]*)\r\n")  # of a line of fields, as the parser leaves them
# The fields that tell a parser where a request ends, what becomes of its connection, or whom it is for.
_OF_PARSER: Final = OF_CONNECTION | {b"proxy-connection"}
_KEEP_ALIVE: Final = (b"connection", b"keep-alive")


class BareRequest(NamedTuple):
    """A whole GET without a body, for one host, about whose end and connection its fields say nothing."""

    path: bytes
    query: bytes
    fields: Fields


class PlainRequest(NamedTuple):
    """A whole request with a plain head."""

    door: bytes  # the method, and the first segment of the path
    line: bytes
    fields: list[bytes]  # their lines
    body: bytes

    def values(self, name: bytes) -> list[bytes]:
        return [line.partition(b":")[2].strip() for line in self.fields if _name(line) == name]


class RequestShape(NamedTuple):
    line: bytes
    fields: tuple[bytes, ...]  # the lines of those that decide, in the order in which they were sent
    body: bytes


def door_of(data: bytes) -> bytes | None:
    door = _DOOR.match(data)
    return door and door[0]


def read_plain(data: bytes) -> PlainRequest | None:
    """The request, if these bytes are a plain one. Whether its body is as long as it should be is left to
    those who compare shapes: the field that says so is part of them."""
    head = _HEAD.match(data) if len(data) <= MAX_REQUEST_BYTES else None
    if head is None:
        return None
    line, fields = head[0][:-4].split(b"\r\n", 1)
    return PlainRequest(head[1], line, fields.split(b"\r\n"), data[head.end() :])


def read_bare(data: bytes) -> BareRequest | None:
    """The request, if these bytes are a bare one, of at most `MAX_REQUEST_BYTES`. Its form leaves open the
    host alone of what `framing.check_head` judges."""
    head = _BARE.fullmatch(data)
    if head is None:
        return None
    path, query, lines = head.groups(b"")
    fields = [(name.lower(), value) for name, value in _PARTS.findall(lines)]
    telling = [field for field in fields if field[0] in _OF_PARSER and field != _KEEP_ALIVE]
    if len(telling) != 1 or telling[0][0] != b"host" or not is_host(telling[0][1]):
        return None
    return BareRequest(path, query, fields)


def shape_of(request: PlainRequest, names: Set[bytes]) -> RequestShape:
    """`names` are the fields that decide, `OF_CONNECTION` among them."""
    fields = [line for line in request.fields if line[: line.find(b":")].lower() in names]
    return RequestShape(request.line, tuple(fields), request.body)


def awaits_body(request: PlainRequest) -> bool:
    """Whether the body is not complete yet, and comes by itself."""
    if any(_name(line) in _ON_REQUEST for line in request.fields):
        return False
    lengths = request.values(b"content-length")
    if len(lengths) != 1 or not lengths[0].isdigit():
        return False
    return len(request.body) < int(lengths[0]) <= MAX_REQUEST_BYTES


def _name(line: bytes) -> bytes:
    return line[: line.find(b":")].lower()
