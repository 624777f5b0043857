"""The policy of the fence: what cannot be had is refused or told, and what can be had is never given up."""

import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gossamer.observe.logs import Log
from gossamer.observe.metrics import Metrics
from gossamer.problems import Unavailable
from gossamer.reach.browser.launcher import LocalLauncher
from gossamer.reach.sandbox.chromium import Chromium
from gossamer.reach.sandbox.fence import ALL, Fence, Layer, Policy
from gossamer.settings.settings import SettingError
from tests.browser.driver import SECONDS, binary, now, yard

MISSING = {Layer.BUBBLEWRAP: "bubblewrap is not installed"}


class Site:
    """A fence, with what it logs and measures."""

    def __init__(self, policy: Policy) -> None:
        self.stream = io.StringIO()
        self.metrics = Metrics("0")
        self.fence = Fence(policy, Log(self.stream), self.metrics)

    def gauges(self) -> dict[str, float | None]:
        value = self.metrics.registry.get_sample_value
        return {layer: value("gossamer_browser_layer", {"layer": layer}) for layer in Layer}


@contextmanager
def without_bubblewrap() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", "/nowhere")
        yield


@contextmanager
def bubblewrap_that(says: str, folder: Path) -> Iterator[None]:
    """In place of the real one, which it calls for the probe alone."""
    real, script = shutil.which("bwrap"), folder / "bwrap"
    script.write_text(f'#!/bin/sh\ncase "$*" in *--version) exec {real} "$@";; esac\n{says}\n')
    script.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(folder))
        yield


async def test_all_layers_are_in_force_where_the_system_allows_them() -> None:
    here = Site("require")
    await here.fence.demand()
    assert await here.fence.layers() == ALL
    assert here.fence.in_force == tuple(Layer)
    assert here.gauges() == dict.fromkeys(Layer, 1.0)
    assert here.stream.getvalue() == ""


async def test_what_is_demanded_and_missing_is_refused_in_one_sentence_with_the_way_out() -> None:
    here = Site("require")
    with without_bubblewrap():
        with pytest.raises(SettingError) as refused:
            await here.fence.demand()
        with pytest.raises(Unavailable, match="bubblewrap is not installed"):
            await here.fence.layers()
    sentence = str(refused.value)
    assert "\n" not in sentence
    for part in (
        "bubblewrap (bubblewrap is not installed)",
        "apt-get install bubblewrap",
        "GOSSAMER_FENCE=prefer",
    ):
        assert part in sentence
    await here.fence.demand()  # installed meanwhile


async def test_what_is_preferred_and_missing_is_told_once_and_used_when_it_comes() -> None:
    here = Site("prefer")
    async with yard() as place:
        launcher = LocalLauncher(str(binary()), place.proxy, here.fence)
        with without_bubblewrap():
            await launcher.open()
            for _ in range(2):
                browser = await launcher.launch(now() + SECONDS)
                assert isinstance(browser, Chromium)
                assert (browser.layers.netns, browser.layers.bubblewrap, browser.layers.sandbox) == (
                    True,
                    False,
                    True,
                )
                await browser.kill()
        assert here.fence.missing == MISSING
        assert here.gauges() == {Layer.NETNS: 1.0, Layer.BUBBLEWRAP: 0.0, Layer.SANDBOX: 1.0}
        assert here.stream.getvalue().count('"browser_not_in_bubblewrap"') == 1
        browser = await launcher.launch(now() + SECONDS)
        assert isinstance(browser, Chromium)
        assert browser.layers.bubblewrap
        await browser.kill()
    assert (here.fence.missing, here.gauges()[Layer.BUBBLEWRAP]) == ({}, 1.0)


@pytest.mark.parametrize("policy", ["require", "prefer"])
async def test_a_launch_that_fails_with_a_layer_never_becomes_one_without_it(
    policy: Policy, tmp_path: Path
) -> None:
    ran, program = tmp_path / "ran", tmp_path / "chromium"
    program.write_text(f"#!/bin/sh\necho outside >> {ran}\n")
    program.chmod(0o755)
    tried = tmp_path / "tried"
    here = Site(policy)
    async with yard() as place:
        launcher = LocalLauncher(str(program), place.proxy, here.fence)
        fails = f"echo x >> {tried}; echo no room for a namespace >&2; exit 1"
        refused = pytest.raises(Unavailable, match="no room for a namespace")
        with bubblewrap_that(fails, tmp_path), refused:
            await launcher.launch(now() + SECONDS)
        assert tried.read_text().split() == ["x", "x"]  # tried twice
        with without_bubblewrap(), pytest.raises(Unavailable, match="no longer installed"):
            await launcher.launch(now() + SECONDS)
    assert not ran.exists()
    assert here.fence.in_force == tuple(Layer)


async def test_a_bubblewrap_that_does_not_work_here_is_missing_with_its_own_words(tmp_path: Path) -> None:
    script = tmp_path / "bwrap"
    script.write_text("#!/bin/sh\necho setting up uid map: Permission denied >&2\nexit 1\n")
    script.chmod(0o755)
    here = Site("prefer")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        layers = await here.fence.layers()
    assert (layers.netns, layers.bubblewrap, layers.sandbox) == (True, False, True)
    assert "setting up uid map: Permission denied" in here.fence.missing[Layer.BUBBLEWRAP]


async def test_without_a_chromium_nothing_is_demanded_of_the_system() -> None:
    here = Site("require")
    async with yard() as place:
        launcher = LocalLauncher("/nowhere/chromium", place.proxy, here.fence)
        with without_bubblewrap():
            await launcher.open()
