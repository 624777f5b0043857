"""Every example of these documents is run: requests against a service with a browser, commands as typed.

In a section, an `html` block is what stands at the address that the next request names, a `curl` in an `sh`
block is a request, and the `json` block after it shows a part of its answer. `https://example.com/…` is the
test site.
"""

import asyncio
import json
import os
import re
import shlex
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from tests.doors.cli.commands import gossamer
from tests.doors.crawls import crawling
from tests.doors.fetches import say
from tests.doors.renders import Rendering, opened
from tests.doors.services import ADMIN_KEY, PUBLIC_URL
from tests.servers.chat_api import chat_api
from tests.servers.model_server import found
from tests.site.server import Site

DOCS = Path(__file__).parents[4] / "docs"
DOCUMENTS = ("api.md", "schedules.md", "coming-from/http-tools.md")
PAGE = """<!doctype html><html lang="en"><title>Example Domain</title><h1>Example Domain</h1>
<p>This domain is for use in illustrative examples in documents. You may use this domain in literature without
prior coordination or asking for permission.</p><p><a href="/more">More information</a></p>"""
ANY_VALUE = re.compile(r"requestId|.*(At|Id|Url|Time|Ms)|age|key|latency|score|id|etag")  # differs every time
LASTING = ("serve", "worker")  # these run until they are stopped
SECONDS = 60.0


class Block(NamedTuple):
    language: str
    text: str


def sections() -> dict[str, list[Block]]:
    found: dict[str, list[Block]] = {}
    for document in DOCUMENTS:
        for part in re.split(r"(?m)^## ", (DOCS / document).read_text("utf-8"))[1:]:
            title, _, body = part.partition("\n")
            blocks = [Block(*match) for match in re.findall(r"(?ms)^```(\w*)\n(.*?)^```$", body)]
            if blocks:
                found[f"{document}: {title}"] = blocks
    return found


@dataclass
class Reader:
    """Somebody who types in what a section shows, from its top to its end."""

    service: Rendering
    folder: Path
    places: dict[str, str] = field(default_factory=dict)  # of the documentation, and where they are here
    html: str = PAGE
    answer: httpx.Response | None = None
    known: dict[str, str] = field(default_factory=dict)  # what answers have named: $JOB_ID is its jobId

    async def read(self, blocks: list[Block]) -> None:
        for language, text in blocks:
            if language == "html":
                self.html = text
            elif language == "sh":
                for words in typed(text):
                    await self.run([self.placed(word) for word in words])
            elif language == "json":
                self.compare(json.loads(self.placed(text)))
            else:
                pytest.fail(f"an example in {language!r} that nobody runs: {text}")

    def placed(self, text: str) -> str:
        def here(match: re.Match[str]) -> str:
            if match[0] not in self.places:
                self.places[match[0]] = self.service.site.url(say(self.html))
                self.html = PAGE
            return self.places[match[0]]

        text = re.sub(r"https://example\.com[^\s\"'\\*#]*", here, text)
        return text.replace("http://127.0.0.1:8080", PUBLIC_URL)

    async def run(self, words: list[str]) -> None:
        if words[0] == "curl":
            await self.request(words[1:])
        else:
            assert words[0] == "gossamer", words
            await self.command(words[1:])

    async def request(self, words: list[str]) -> None:
        await self.wait_for_jobs(words)
        method, headers, body, address = "", {}, None, ""
        rest = iter([self.filled(word) for word in words])
        for word in rest:
            if word == "-H":
                name, _, value = next(rest).partition(":")
                headers[name] = value.strip()
            elif word == "--json":
                method, body = method or "POST", next(rest).encode()
                headers["Content-Type"] = "application/json"
            elif word == "-X":
                method = next(rest)
            elif word == "-o":
                next(rest)
            elif word not in ("-s", "-N"):
                assert not word.startswith("-"), f"curl's {word} is not understood here"
                address = word
        client = self.service.visit.client
        self.answer = await client.request(
            method or "GET", address, headers=headers, content=body, timeout=SECONDS
        )
        self.remember()

    def filled(self, word: str) -> str:
        word = word.replace("$GOSSAMER", "http://test").replace("$KEY", ADMIN_KEY)
        return re.sub(r"\$([A-Z_]+)", lambda match: self.known[match[1]], word)

    def remember(self) -> None:
        """Ids that the answer names, for the requests that come after it."""
        assert self.answer is not None
        if self.answer.headers.get("content-type", "").endswith(("/json", "+json")) and self.answer.content:
            told = self.answer.json()
            for name, value in told.items() if isinstance(told, dict) else ():
                if isinstance(value, str):
                    self.known[re.sub(r"(?<!^)([A-Z])", r"_\1", name).upper()] = value

    async def wait_for_jobs(self, words: list[str]) -> None:
        """Crawls take long as well."""
        places = {"JOB_ID": "/api/jobs", "CRAWL_ID": "/api/crawls"}
        if any("_ID" in word for word in words):
            for name in places.keys() & self.known.keys():
                async with asyncio.timeout(SECONDS):
                    while not await self.is_over(f"{places[name]}/{self.known[name]}"):
                        await asyncio.sleep(0.05)

    async def is_over(self, path: str) -> bool:
        return bool((await self.service.get(path)).json().get("finishedAt"))

    async def command(self, words: list[str]) -> None:
        words = [self.known.get(word, word) for word in words]
        settings = {
            "DATA_DIR": str(self.folder / "data"),
            "PORT": "0",
            "EGRESS_ALLOW": "127.0.0.1/32",
            "EGRESS_PORTS": "*",
            "DNS_SERVERS": "127.0.0.1:9",
        }
        environment: dict[str, Any] = {f"GOSSAMER_{name}": value for name, value in settings.items()}
        if words[0] in LASTING:
            await self.start(words, environment)
            return
        done = await asyncio.to_thread(gossamer, *words, folder=self.folder, check=False, **environment)
        # 3: it was done, and something was found that the command was to tell of.
        assert done.returncode in (0, 3), f"gossamer {' '.join(words)}\n{done.stdout}\n{done.stderr}"
        named = re.search(r"\b[0-9A-HJKMNP-TV-Z]{26}\b", done.stdout + done.stderr)
        if named:
            self.known["ID"] = named[0]

    async def start(self, words: list[str], environment: dict[str, str]) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("GOSSAMER_")}
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "gossamer",
            *words,
            cwd=self.folder,
            env={**clean, **environment},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        await asyncio.wait_for(self._first_words(process), SECONDS)
        process.send_signal(signal.SIGTERM)
        out, err = await asyncio.wait_for(process.communicate(), SECONDS)
        assert process.returncode == 0, f"gossamer {' '.join(words)}\n{out.decode()}\n{err.decode()}"

    async def _first_words(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        said = [asyncio.ensure_future(stream.readline()) for stream in (process.stdout, process.stderr)]
        await asyncio.wait(said, return_when=asyncio.FIRST_COMPLETED)
        for task in said:
            task.cancel()
        await asyncio.gather(*said, return_exceptions=True)

    def compare(self, shown: Any) -> None:
        assert self.answer is not None, f"nobody asks for this answer: {shown}"
        assert_shows(shown, self.answer.json(), "$")
        self.answer = None


def typed(text: str) -> Iterator[list[str]]:
    """Commands, each as its words; a quoted argument may go over several lines."""
    waiting = ""
    for line in text.replace("\\\n", " ").splitlines():
        waiting += f"{line}\n"
        try:
            words = shlex.split(waiting, comments=True)
        except ValueError:  # a quotation that has not ended
            continue
        waiting = ""
        if words:
            yield words[: words.index(">")] if ">" in words else words
    assert not waiting, text


def assert_shows(shown: Any, answer: Any, place: str) -> None:
    """What is shown is in the answer; a text that ends in … is only its beginning."""
    if isinstance(shown, dict):
        for name, value in shown.items():
            assert name in answer, f"{place} has no {name}: {answer}"
            if not isinstance(value, dict | list) and ANY_VALUE.fullmatch(name):
                assert type(value) is type(answer[name]), f"{place}.{name}"
            else:
                assert_shows(value, answer[name], f"{place}.{name}")
    elif isinstance(shown, list):
        assert len(shown) == len(answer), f"{place}: {answer}"
        for at, (value, real) in enumerate(zip(shown, answer, strict=True)):
            assert_shows(value, real, f"{place}[{at}]")
    elif isinstance(shown, str) and shown.endswith("…"):
        assert answer.startswith(shown[:-1]), f"{place}: {answer}"
    else:
        assert shown == answer, place


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory, site: Site) -> AsyncIterator[Rendering]:
    folder = tmp_path_factory.mktemp("service")
    async with chat_api(says=answer_as_a_model) as api:
        flags: dict[str, Any] = {
            "openai_model": "qwen3:8b",
            "openai_base_url": api.base_url,
            "model_price_input": "$0.10",
        }
        async with opened(folder, site, crawl_delay="0", **flags) as rendering, crawling(rendering.visit):
            yield rendering


def answer_as_a_model(body: dict[str, Any]) -> dict[str, Any]:
    """It summarises, and finds nothing that extraction could not find."""
    summary = "Orb weavers spin several silks, each by a gland of its own."
    return {"summary": summary} if "Summarise" in body["messages"][1]["content"] else found()


@pytest.mark.parametrize("title", sections())
async def test_the_examples_of(title: str, service: Rendering, tmp_path: Path) -> None:
    await Reader(service, tmp_path).read(sections()[title])
