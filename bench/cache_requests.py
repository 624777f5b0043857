"""What wrk sends for hits, as scripts in Lua: equal or varied requests, over kept or new connections."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.load import CONNECTIONS

CODINGS: Final[dict[str, dict[str, str]]] = {"identity": {}, "gzip": {"Accept-Encoding": "gzip"}}
VARIED: Final = 1_999  # different requests, which are sent in turn
PIPELINED: Final = 8  # requests that are sent before the first is answered
ROBOTS: Final = (
    "Googlebot/2.1",
    "bingbot/2.0",
    "GPTBot/1.2",
    "ClaudeBot/1.0",
    "PerplexityBot/1.0",
    "Applebot/0.1",
)
# Requests are made before the load begins, so that making them takes no time of it.
REQUESTS: Final = """local requests, batches = {}, {}
function init(args)
  math.randomseed(7)
  for number = 1, %(number)d do
    local headers = %(headers)s
    if %(varied)s then
      headers["User-Agent"] = "Mozilla/5.0 (compatible; " .. %(robots)s[number %% %(robot_count)d + 1] .. ")"
      headers["X-Forwarded-For"] = string.format("198.51.100.%%d, 192.0.2.%%d", number %% 250, number %% 7)
      headers["X-Request-Id"] = string.format("%%08x%%08x", math.random(0, 2^31), math.random(0, 2^31))
      headers["traceparent"] = string.format("00-%%08x%%08x%%08x%%08x-%%08x%%08x-01", math.random(0, 2^31),
        math.random(0, 2^31), math.random(0, 2^31), number, math.random(0, 2^31), number)
    end
    local path, body = %(paths)s, %(bodies)s
    headers["Authorization"] = %(keys)s
    requests[number] = wrk.format(%(method)s, path, headers, body)
  end
  for number = 1, #requests do
    local batch = {}
    for place = 1, %(pipelined)d do
      batch[place] = requests[(number * %(pipelined)d + place) %% #requests + 1]
    end
    batches[number] = table.concat(batch)
  end
end
function done(summary, latency, requests)
  if %(pipelined)d == 1 then return end
  print("expected " .. math.floor(summary.duration / math.floor(summary.requests / %(connections)d)))
  for number = 1, #latency do
    print(string.format("took %%d %%d", latency(number)))
  end
end
local sent = 0
function request()
  sent = sent + 1
  return batches[sent %% #batches + 1]
end
"""


@dataclass(frozen=True, slots=True)
class Traffic:
    """How requests come."""

    name: str
    is_varied: bool = True  # else each has the same bytes
    is_new: bool = False  # each over a connection of its own
    is_proxied: bool = False  # pipelined, to an nginx that passes them on


EQUAL: Final = Traffic("equal", is_varied=False)
TRAFFIC: Final = {
    one.name: one
    for one in (
        EQUAL,
        Traffic("varied"),
        Traffic("varied, new connections", is_new=True),
        Traffic("varied, pipelined to nginx", is_proxied=True),
    )
}


@dataclass(frozen=True, slots=True)
class Hits:
    """What can be asked for: paths with bodies, by keys."""

    method: str
    targets: Sequence[tuple[str, str]]
    keys: Sequence[str]

    def script(self, path: Path, coding: str, traffic: Traffic) -> Path:
        """All of them in turn if the traffic is varied."""
        varied = traffic.is_varied
        targets, keys = (self.targets, self.keys) if varied else (self.targets[:1], self.keys[:1])
        headers = dict(CODINGS[coding])
        if self.method == "POST":
            headers["Content-Type"] = "application/json"
        if traffic.is_new:
            headers["Connection"] = "close"
        told = {
            "number": VARIED if varied else 1,
            "varied": str(varied).lower(),
            "headers": _lua_table(headers),
            "robots": f"({_lua(ROBOTS)})",
            "robot_count": len(ROBOTS),
            "paths": _in_turn([path for path, _ in targets]),
            "bodies": _in_turn([body for _, body in targets]) if self.method == "POST" else "nil",
            "keys": _in_turn([f"Bearer {key}" for key in keys]),
            "method": json.dumps(self.method),
            "connections": CONNECTIONS,
            "pipelined": PIPELINED if traffic.is_proxied else 1,
        }
        path.write_text(REQUESTS % told)
        return path


def _in_turn(values: Sequence[str]) -> str:
    return f"({_lua(values)})[number % {len(values)} + 1]"


def _lua(values: Sequence[str]) -> str:
    return "{" + ", ".join(json.dumps(value) for value in values) + "}"


def _lua_table(values: dict[str, str]) -> str:
    pairs = (f"[{json.dumps(name)}] = {json.dumps(value)}" for name, value in values.items())
    return "{" + ", ".join(pairs) + "}"
