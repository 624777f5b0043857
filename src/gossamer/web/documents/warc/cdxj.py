"""CDXJ: the index of WARC files, a line for each answer, sorted by host and path.

com,example)/path?query 20260101120000 {"url": …, "offset": …}
"""

import re
from typing import Final
from urllib.parse import unquote

import msgspec
from msgspec import Struct

_WWW: Final = re.compile(r"www\d*\.")
_SPACE: Final = re.compile(r"\s")
_ADDRESS: Final = re.compile(r"[0-9.]+|\[.*\]")


class IndexedRecord(Struct, frozen=True):
    """Where an answer is."""

    url: str
    warc_date: str
    mime: str
    status: int
    digest: str
    offset: int
    length: int
    filename: str

    @property
    def timestamp(self) -> str:
        return re.sub(r"\D", "", self.warc_date)[:14]

    def line(self) -> str:
        about = {
            "url": self.url,
            "mime": self.mime,
            "status": str(self.status),
            "digest": self.digest,
            "length": str(self.length),
            "offset": str(self.offset),
            "filename": self.filename,
        }
        return f"{surt(self.url)} {self.timestamp} {msgspec.json.encode(about).decode()}\n"


def surt(url: str) -> str:
    """The URL in the order in which archives are searched: the host backwards and without `www`, its
    parameters sorted, everything in lower case. Addresses in numbers stay as they are."""
    scheme, _, rest = url.lower().partition("://")
    authority, _, path = rest.partition("#")[0].partition("/")
    host, _, port = authority.rpartition("@")[2].partition(":")
    if _ADDRESS.fullmatch(authority.partition(":")[0]):
        turned = host
    else:
        turned = ",".join(reversed(_WWW.sub("", host, count=1).split(".")))
    if port and port != {"http": "80", "https": "443"}.get(scheme):
        turned += f":{port}"
    path, question, query = path.partition("?")
    ordered = "&".join(sorted(query.split("&"))) if question else ""
    return _SPACE.sub("%20", unquote(f"{turned})/{path}{question}{ordered}"))
