"""Questions to a hot store: one of each kind, and a prepared one, which answers by a callback."""

import asyncio
import itertools

from gossamer.state.kv.hot import HitFacts, HitQuestion, Hot, Window

FOREVER = 60.0
numbers = itertools.count()


async def asked(question: HitQuestion) -> HitFacts:
    reply: asyncio.Future[HitFacts] = asyncio.get_running_loop().create_future()

    def receive(facts: HitFacts | Exception) -> None:
        if isinstance(facts, Exception):
            reply.set_exception(facts)
        else:
            reply.set_result(facts)

    question(receive)
    return await reply


async def of_each_kind(hot: Hot) -> None:
    """One use of every method; all of them work."""
    await hot.ping()
    assert await hot.put("k", b"v", FOREVER)
    assert await hot.get("k") == b"v"
    assert await hot.drop("k") == 1
    window = Window(f"w{next(numbers)}", 1, 60)
    (tally,) = await hot.take([window])
    assert tally.allowed
    await hot.give_back(window, tally.stamp)
    facts = await asked(hot.hit_question([window], "k", "p", 8))
    assert facts.tallies[0].allowed
    released = await hot.claim(f"job{next(numbers)}", FOREVER)
    assert await hot.renew(released, FOREVER)
    await hot.release(released)
    claim = await hot.claim(f"job{next(numbers)}", FOREVER)
    assert await hot.settle(claim, b"v", FOREVER)
    await hot.wait(claim.key, FOREVER)
    await hot.keep_page("p", b"body")
    assert await hot.page("p") == b"body"
    assert await hot.pages() == (1, 4)
    assert await hot.drop_page("p")
