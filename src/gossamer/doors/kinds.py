"""Kinds of jobs: how each is done."""

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from gossamer.doors.work import Handler, Work
from gossamer.flows import audit
from gossamer.flows.audit import Auditor
from gossamer.state import audits
from gossamer.web.url import Url

KINDS = (audit.KIND,)


def handlers(auditor: Auditor, kinds: Collection[str] = KINDS) -> Mapping[str, Handler[Any]]:
    every: dict[str, Handler[Any]] = {
        audit.KIND: Handler(run=_Audit(auditor), payload=audit.Payload, concurrency=4),
    }
    return {kind: every[kind] for kind in kinds}


class _Audit:
    def __init__(self, auditor: Auditor) -> None:
        self._auditor = auditor

    async def __call__(self, work: Work[audit.Payload]) -> None:
        wanted = work.payload
        report = await self._auditor.audit(Url.parse(wanted.url), wanted.options, work.step)
        told = msgspec.json.encode(report).decode()
        result = {
            "auditId": wanted.audit_id,
            "score": report.score,
            "reportUrl": f"/audits/{wanted.audit_id}",
        }
        async with work.finishing(result) as connection:
            await audits.complete(connection, wanted.audit_id, report.score, told)
