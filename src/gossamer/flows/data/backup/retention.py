"""Which backups are kept, and removing the others with everything that no kept backup needs."""

from collections.abc import Callable, Sequence
from datetime import date, datetime

from msgspec import Struct

from gossamer.flows.data.backup.blob_copies import Report
from gossamer.flows.data.backup.checking import list_blobs
from gossamer.state.backup.backup_place import BackupPlace, blob_name, manifest_name
from gossamer.state.backup.manifest import Manifest


class KeepRule(Struct, frozen=True):
    """Keep the newest backups, and the newest of each of the last days and weeks that have one."""

    last: int = 0
    daily: int = 0
    weekly: int = 0

    def kept(self, found: Sequence[Manifest]) -> set[str]:
        """The ids of the backups that are kept."""
        newest_first = sorted(found, key=lambda manifest: manifest.id, reverse=True)
        kept = {manifest.id for manifest in newest_first[: self.last]}
        kept |= _newest_of_each(newest_first, self.daily, lambda moment: moment.date())
        return kept | _newest_of_each(newest_first, self.weekly, lambda moment: moment.isocalendar()[:2])


def _newest_of_each(
    newest_first: Sequence[Manifest], most: int, period: Callable[[datetime], date | tuple[int, int]]
) -> set[str]:
    found: dict[date | tuple[int, int], str] = {}
    for manifest in newest_first:
        found.setdefault(period(manifest.moment), manifest.id)
    return set(list(found.values())[:most])


async def prune(place: BackupPlace, rule: KeepRule | None, newest: str, report: Report) -> list[str]:
    """Remove the backups that the rule does not keep, and what killed backups have left. Returns the ids of
    the removed backups. Manifests go first, so that no backup is believed that is not whole."""
    found = await place.list_manifests()
    kept = {manifest.id for manifest in found} if rule is None else rule.kept(found) | {newest}
    removed = [manifest.id for manifest in found if manifest.id not in kept]
    await place.drop(manifest_name(old) for old in removed)
    rows = [name async for name in place.row_objects() if name.split("/")[1] not in kept]
    await place.drop(rows)
    report("removing blobs that no backup needs")
    named = {
        blob.name for manifest in found if manifest.id in kept for blob in await list_blobs(place, manifest)
    }
    await place.drop(blob_name(name) for name in await place.blob_sizes() if name not in named)
    return removed
