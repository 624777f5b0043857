"""Letters of the world's scripts are shown; where they are boxes, the picture says which."""

import base64
from pathlib import Path

import httpx
import pytest

from gossamer.reach.page.visit import Print, Screenshot, VisitResult
from tests.browser.pools import Pool, open_pool
from tests.browser.test_visit_shots import taken
from tests.doors.fetches import say
from tests.doors.renders import OpenRendering, open_rendering
from tests.doors.services import AS_ADMIN
from tests.site.server import Site

__all__ = ["open_rendering"]

LETTERS = {"Arabic": "ع", "Devanagari": "ह", "Emoji": "🎉", "Han": "語", "Hiragana": "あ", "Thai": "ไ"}
BOX = "\u0378"  # there is no such letter
FONTS = Path("/usr/share/fonts/truetype")


def cell(name: str, letter: str) -> str:
    return f'<p id="{name}">{letter}</p>'


WORLD = (
    "<!doctype html><meta charset=utf-8><title>World</title>"
    "<style>p { width: 60px; height: 60px; font: 32px sans-serif }</style>"
    + cell("Box", BOX)
    + "".join(cell(name, letter) for name, letter in LETTERS.items())
)


@pytest.fixture
def without_fonts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Browsers that are started here see no fonts but DejaVu's."""
    settings = tmp_path / "fonts.conf"
    settings.write_text(
        '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>'
        f"<dir>{FONTS / 'dejavu'}</dir><cachedir>{tmp_path / 'cache'}</cachedir></fontconfig>"
    )
    monkeypatch.setenv("FONTCONFIG_FILE", str(settings))


def missing(rendered: VisitResult) -> tuple[str, ...]:
    assert rendered.capture is not None
    return rendered.capture.missing_scripts


async def test_letters_of_all_scripts_are_shown_and_none_is_a_box(pool: Pool, site: Site) -> None:
    url = site.url(say(WORLD))
    assert missing(await pool.visit(url, capture=Screenshot())) == ()
    box = await taken(pool, url, selector="#Box")
    pictures = {name: await taken(pool, url, selector=f"#{name}") for name in LETTERS}
    assert [name for name, picture in pictures.items() if picture == box] == []
    assert len(set(pictures.values())) == len(LETTERS)
    await pool.browsers.ping()
    assert await pool.browsers.missing_scripts() == ()


async def test_where_they_are_boxes_pictures_and_pdfs_say_which(without_fonts: None, site: Site) -> None:
    url = site.url(say(WORLD))
    boxes = ("Devanagari", "Emoji", "Han", "Hiragana", "Thai")  # DejaVu has Arabic
    async with open_pool(places=1) as bare:
        assert missing(await bare.visit(url, capture=Screenshot())) == boxes
        assert missing(await bare.visit(url, capture=Print())) == boxes
        box = await taken(bare, url, selector="#Box")
        for name in LETTERS:
            assert (await taken(bare, url, selector=f"#{name}") == box) == (name in boxes), name
        await bare.rest()
        assert set(boxes) < set(await bare.browsers.missing_scripts())


async def test_fonts_of_the_page_count_and_hidden_text_does_not(without_fonts: None, site: Site) -> None:
    font = base64.b64encode((FONTS / "noto" / "NotoSansThai-Regular.ttf").read_bytes()).decode()
    face = f"@font-face {{ font-family: own; src: url(data:font/ttf;base64,{font}) }}"
    page = (
        "<!doctype html><meta charset=utf-8><title>Own</title>"
        f"<style>{face} .own {{ font-family: own }}</style>"
        f"<p class=own>{LETTERS['Thai']}</p><p>{LETTERS['Han']}</p>"
        f"<p hidden>{LETTERS['Devanagari']}</p><script>'{LETTERS['Hiragana']}'</script>"
        "<div id=host></div><script>host.attachShadow({mode: 'open'}).innerHTML = '<b>\u0995</b>'</script>"
    )
    async with open_pool(places=1) as bare:
        assert missing(await bare.visit(site.url(say(page)), capture=Screenshot())) == ("Bengali", "Han")
        assert missing(await bare.visit(site.url("/ok"), capture=Screenshot())) == ()


async def test_the_api_tells_in_its_answer_in_a_header_and_in_health(
    without_fonts: None, open_rendering: OpenRendering
) -> None:
    async with open_rendering(working=False) as service:
        body = {"url": service.site.url(say(WORLD))}

        async def post(path: str, accept: str = "application/json") -> httpx.Response:
            return await service.visit.client.post(path, json=body, headers={**AS_ADMIN, "Accept": accept})

        boxes = ["Devanagari", "Emoji", "Han", "Hiragana", "Thai"]
        for path, bare in (("/screenshot", "image/png"), ("/pdf", "application/pdf")):
            answer = (await post(path)).json()
            assert (answer["outcome"], answer["missingScripts"]) == ("ok", boxes)
            assert (await post(path, bare)).headers["x-missing-scripts"] == ", ".join(boxes)
        body = {"url": service.site.url("/ok")}
        assert "missingScripts" not in (await post("/screenshot")).json()
        report = (await service.get("/health")).json()["services"]["browserRendering"]
        assert report["status"] == "healthy"
        assert set(boxes) < set(report["details"]["missingScripts"])
