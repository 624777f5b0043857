"""A storm of visits in short; `scripts/soak render` is the long one."""

from tests.site.server import Site
from tests.soak.render import soak


async def test_nothing_is_left_after_a_storm(site: Site) -> None:
    outcome = await soak(site, renders=60, callers=2, seed=7)
    assert outcome.contexts == 0
    assert outcome.processes == 0
    assert outcome.ends["rendered"] > 20
    assert outcome.ends["broken off"] > 0
    assert outcome.after <= outcome.before * 1.25  # so few visits only show what is grossly wrong
