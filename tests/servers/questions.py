"""Awaits a prepared question to Hot, which answers by a callback."""

import asyncio

from gossamer.state.kv.hot import HitFacts, HitQuestion


async def asked(question: HitQuestion) -> HitFacts:
    reply: asyncio.Future[HitFacts] = asyncio.get_running_loop().create_future()

    def receive(facts: HitFacts | Exception) -> None:
        if isinstance(facts, Exception):
            reply.set_exception(facts)
        else:
            reply.set_result(facts)

    question(receive)
    return await reply
