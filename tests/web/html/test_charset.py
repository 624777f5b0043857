"""Which charset a body is in: the order of what decides, and labels as the Encoding Standard has them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.web.html.charset import charset_of, decode, encoding_named
from gossamer.web.pages.page import describe

RUSSIAN = "Это страница про погоду в Москве и её окрестностях, где сегодня идёт дождь."


@pytest.mark.parametrize(
    ("body", "content_type", "charset"),
    [
        (b"\xef\xbb\xbfx", "text/html; charset=koi8-r", "utf-8"),
        ("\ufeffx".encode("utf-16-le"), "text/html", "utf-16le"),
        ("\ufeffx".encode("utf-16-be"), "text/html; charset=utf-8", "utf-16be"),
        (b'<meta charset="koi8-r">', "text/html; charset=windows-1251", "windows-1251"),
        (b'<meta charset="koi8-r">', "text/html", "koi8-r"),
        (b"<META CharSet=koi8-r>", "text/html", "koi8-r"),
        (b'<meta http-equiv="Content-Type" content="text/html; charset=koi8-r">', "", "koi8-r"),
        (b'<!-- <meta charset="koi8-r"> --><p>x', "text/html", "utf-8"),
        (b'<!-- x --><meta charset="koi8-r">', "text/html", "koi8-r"),
        (b" " * 1500 + b'<meta charset="koi8-r">', "text/html", "koi8-r"),
        (b" " * 5000 + b'<meta charset="koi8-r">', "text/html", "utf-8"),
        (b'<?xml version="1.0" encoding="koi8-r"?>', "application/xml", "koi8-r"),
        (b'<meta charset="utf-16">', "text/html", "utf-8"),
        (b'<meta charset="nonsense">', "text/html; charset=nonsense", "utf-8"),
        (b"x", "text/html; charset='UTF8'", "utf-8"),
        (b"x", 'text/html; charset="latin1" ; x=y', "windows-1252"),
        (b"x", "text/html;charset=gb2312", "gbk"),
        (RUSSIAN.encode(), "text/html", "utf-8"),
        (RUSSIAN.encode("cp1251"), "text/html", "windows-1251"),
        (b"x", "", "utf-8"),
        (b"", "", "utf-8"),
    ],
)
def test_what_decides(body: bytes, content_type: str, charset: str) -> None:
    assert charset_of(body, content_type) == charset


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("ISO-8859-1", "windows-1252"),
        (" us-ascii ", "windows-1252"),
        ("x-sjis", "shift_jis"),
        ("ks_c_5601-1987", "euc-kr"),
        ("unicode-1-1-utf-8", "utf-8"),
        ("iso-2022-kr", None),
        ("utf-7", None),
        ("", None),
    ],
)
def test_labels_of_the_standard(label: str, name: str | None) -> None:
    assert encoding_named(label) == name


def test_a_character_cut_by_the_sample_is_no_sign_against_utf8() -> None:
    body = b"x" * (256 * 1024 - 1) + "é".encode()
    assert charset_of(body, "text/html") == "utf-8"


def test_the_mark_is_no_part_of_the_text() -> None:
    assert decode(b"\xef\xbb\xbfx", "utf-8") == "x"
    assert decode("\ufeffx".encode("utf-16-le"), "utf-16le") == "x"


@given(body=st.binary(max_size=3000), content_type=st.text(max_size=50))
def test_nothing_makes_it_fail(body: bytes, content_type: str) -> None:
    _, charset = describe(content_type, body)
    assert isinstance(decode(body, charset), str)


@given(
    label=st.sampled_from(
        ["big5", "euc-kr", "gbk", "shift_jis", "macintosh", "windows-874", "x-mac-cyrillic"]
    )
)
def test_every_charset_can_be_decoded(label: str) -> None:
    assert decode(b"plain", label) == "plain"


@pytest.mark.parametrize(
    ("content_type", "body", "media_type"),
    [
        ("Text/HTML; charset=utf-8", b"{", "text/html"),
        (None, b"<!doctype html>", "text/html"),
        ("nonsense", b"\xef\xbb\xbf <?xml version='1.0'?>", "application/xml"),
        (None, b"%PDF-1.7", "application/pdf"),
        (None, b'{"a": 1}', "application/json"),
        (None, b"just words", "text/plain"),
        (None, b"\x00\x01\x02", "application/octet-stream"),
        (None, b"", "text/plain"),
    ],
)
def test_media_types(content_type: str | None, body: bytes, media_type: str) -> None:
    assert describe(content_type, body)[0] == media_type


def test_iso_2022_jp_is_known_without_a_label() -> None:
    body = "<p>古池や蛙飛び込む</p>".encode("iso-2022-jp")
    assert charset_of(body, "text/html") == "iso-2022-jp"
    assert decode(body, "iso-2022-jp") == "<p>古池や蛙飛び込む</p>"
