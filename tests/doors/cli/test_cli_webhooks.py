"""`gossamer webhooks` on the data of this machine, from add to remove, with a receiver that listens."""

import asyncio
import json
import re
from pathlib import Path

from tests.doors.cli.commands import gossamer
from tests.servers.receiver import receiving


async def run(folder: Path, *arguments: str, check: bool = True) -> str:
    done = await asyncio.to_thread(
        gossamer,
        "webhooks",
        *arguments,
        folder=folder,
        check=check,
        GOSSAMER_EGRESS_ALLOW="127.0.0.0/8",
        GOSSAMER_EGRESS_PORTS="*",
    )
    return done.stdout if check else done.stdout + done.stderr


async def test_webhooks_from_add_to_remove(tmp_path: Path) -> None:
    async with receiving() as receiver:
        receiver.says = "thank you\x1b[31m"
        wanted = ("--event", "crawl.*", "--header", "X-Room: 7", "--description", "ours", "--json")
        added = json.loads(await run(tmp_path, "add", receiver.url, *wanted))
        id_, secret = added["id"], added["secret"]
        assert (added["events"], added["headerNames"]) == (["crawl.*"], ["X-Room"])
        assert (await run(tmp_path, "secret", id_)).strip() == secret
        assert re.search(rf"{id_} +\w+ +crawl\.\* +{re.escape(receiver.url)}", await run(tmp_path, "list"))
        heard = await run(tmp_path, "test", id_)
        assert re.match(r"delivered: 200 in [\d,]+ ms\nthank you", heard)
        assert "\x1b" not in heard  # whatever a receiver says, it does not colour the terminal
        receiver.verify(secret)
        assert receiver.types == ["webhook.test"]
        receiver.statuses = [500]
        assert "status: 500" in await run(tmp_path, "test", id_, check=False)
        listed = json.loads(await run(tmp_path, "deliveries", id_, "--json"))
        assert [one["type"] for one in listed] == ["webhook.test", "webhook.test"]
        shown = await run(tmp_path, "deliveries", id_, "--show", listed[1]["id"])
        assert "webhook.test" in shown
        assert "is sent again" in await run(tmp_path, "retry", id_, listed[1]["id"])
        rotated = json.loads(await run(tmp_path, "rotate", id_, "--keep-old", "0", "--json"))
        assert rotated["secret"] != secret
        changed = json.loads(await run(tmp_path, "change", id_, "--disable", "--json"))
        assert changed[0]["disabledReason"] == "asked"
        assert await run(tmp_path, "remove", id_) == f"Removed {id_}.\n"
        assert json.loads(await run(tmp_path, "list", "--json")) == []


async def test_what_is_wrong_is_said_in_a_line(tmp_path: Path) -> None:
    assert "schedule.failed" in await run(tmp_path, "events")
    refused = await run(tmp_path, "add", "http://127.0.0.1:9/", "--event", "nothing.*", check=False)
    assert "There are no events 'nothing.*'." in refused
    assert "NAME:VALUE" in await run(tmp_path, "add", "http://127.0.0.1:9/", "--header", "bare", check=False)
    assert "needs the id" in await run(tmp_path, "deliveries", "--show", "x", check=False)
