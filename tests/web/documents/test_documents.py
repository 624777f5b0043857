import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.web.documents.pdf_files import pdf

from gossamer.problems import Problem
from gossamer.web.documents.documents import MAX_CHARS, MAX_ENTRIES, Document, read
from gossamer.web.documents.feeds import from_xml
from gossamer.web.documents.kind import ContentKind, kind_of
from gossamer.web.pages.page import Page


def got(
    body: bytes | str, media_type: str = "text/plain", url: str = "https://site.example/files/thing"
) -> Page:
    raw = body.encode() if isinstance(body, str) else body
    return Page(
        url=url, final_url=url, status=200, headers=(), body=raw, media_type=media_type, charset="utf-8"
    )


def document(
    body: bytes | str, media_type: str = "text/plain", url: str = "https://site.example/files/thing"
) -> Document:
    return read(got(body, media_type, url))


# What it is.

HTML = b"<!DOCTYPE html><html><head><title>A</title></head><body>text</body></html>"
RSS = b"<?xml version='1.0'?>\n<!-- by hand -->\n<rss><channel><title>A</title></channel></rss>"
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"


@pytest.mark.parametrize(
    ("media_type", "body", "path", "kind"),
    [
        ("text/html", HTML, "", ContentKind.HTML),
        ("text/html", b"just words", "", ContentKind.HTML),
        ("text/html", b"", "", ContentKind.HTML),
        ("text/html; charset=utf-8", HTML, "", ContentKind.HTML),
        ("text/html", b"stray \x00 byte <p>", "", ContentKind.HTML),
        ("text/plain", HTML, "", ContentKind.HTML),
        ("text/plain", b"\xef\xbb\xbf  " + HTML, "", ContentKind.HTML),
        ("text/plain", b"<p> is how a paragraph begins", "/a.txt", ContentKind.HTML),
        ("text/plain", b"a < b and b > c", "", ContentKind.TEXT),
        ("application/octet-stream", HTML, "", ContentKind.HTML),
        ("application/json", HTML, "", ContentKind.HTML),
        ("application/pdf", HTML, "", ContentKind.HTML),
        ("image/png", HTML, "", ContentKind.HTML),
        ("application/xhtml+xml", b'<?xml version="1.0"?><html xmlns="x"></html>', "", ContentKind.HTML),
        ("text/xml", b"<html><body></body></html>", "", ContentKind.HTML),
        ("", HTML, "", ContentKind.HTML),
        ("", b"", "", ContentKind.TEXT),
        ("", b'{"a": 1}', "", ContentKind.JSON),
        ("text/html", b'{"a": 1}', "", ContentKind.JSON),
        ("text/plain", b"[1, 2]", "", ContentKind.JSON),
        ("text/plain", b"[section]\nname = 1", "/a.ini", ContentKind.TEXT),
        ("text/plain", b"{curly} words", "", ContentKind.TEXT),
        ("application/json", b"oops", "", ContentKind.JSON),
        ("application/ld+json", b"{}", "", ContentKind.JSON),
        ("application/problem+json", b"{}", "", ContentKind.JSON),
        ("application/xml", b"<a/>", "", ContentKind.XML),
        ("text/html", b'<?xml version="1.0"?><urlset></urlset>', "", ContentKind.XML),
        ("image/svg+xml", b"<svg></svg>", "", ContentKind.XML),
        ("application/xml", RSS, "", ContentKind.FEED),
        ("text/html", RSS, "", ContentKind.FEED),
        ("text/plain", RSS, "", ContentKind.FEED),
        ("application/rss+xml", b"<feed xmlns='http://www.w3.org/2005/Atom'></feed>", "", ContentKind.FEED),
        ("application/rss+xml", b"<other/>", "", ContentKind.XML),
        ("application/rss+xml", b"sorry, no feed", "", ContentKind.TEXT),
        ("application/rdf+xml", b"<rdf:RDF xmlns:rdf='x'></rdf:RDF>", "", ContentKind.FEED),
        ("text/markdown", b"# Hi", "", ContentKind.MARKDOWN),
        ("text/plain", b"# Hi", "/README.md", ContentKind.MARKDOWN),
        ("text/plain", b"# Hi", "/README", ContentKind.TEXT),
        ("text/csv", b"a,b", "", ContentKind.TABLE),
        ("text/plain", b"a,b", "/a.csv", ContentKind.TABLE),
        ("text/css", b"a{}", "", ContentKind.TEXT),
        ("application/javascript", b"x()", "", ContentKind.TEXT),
        ("application/pdf", b"%PDF-1.4 ...", "", ContentKind.PDF),
        ("application/octet-stream", b"%PDF-1.4 ...", "", ContentKind.PDF),
        ("text/html", b"%PDF-1.4\n\x00", "", ContentKind.PDF),
        ("application/pdf", b"junk\x00\n%PDF-1.4 ...", "", ContentKind.PDF),
        ("text/plain", b"A file that begins with %PDF- is a PDF", "", ContentKind.TEXT),
        ("application/pdf", b"\x00\x01\x02", "", ContentKind.BINARY),
        ("image/png", PNG, "", ContentKind.IMAGE),
        ("text/html", PNG, "", ContentKind.IMAGE),
        ("image/x-unheard-of", b"\x00\x01", "", ContentKind.IMAGE),
        ("image/gif", b"words", "", ContentKind.IMAGE),
        ("application/octet-stream", b"RIFF\x00\x00\x00\x00WEBPVP8 ", "", ContentKind.IMAGE),
        ("application/octet-stream", b"\x00\x00\x00 ftypavif", "", ContentKind.IMAGE),
        ("application/octet-stream", b"\x00\x00\x00 ftypisom", "", ContentKind.VIDEO),
        ("audio/mpeg", b"ID3\x03\x00", "", ContentKind.AUDIO),
        ("font/woff2", b"wOF2\x00\x01", "", ContentKind.FONT),
        ("application/zip", b"PK\x03\x04\x14\x00\x00\x00a.txt", "", ContentKind.ARCHIVE),
        ("application/octet-stream", b"PK\x03\x04\x14\x00\x00\x00word/document.xml", "", ContentKind.OFFICE),
        ("application/octet-stream", b"\x1f\x8b\x08\x00", "", ContentKind.ARCHIVE),
        ("application/octet-stream", b"\x7fELF\x02\x01\x01\x00", "", ContentKind.BINARY),
        ("text/plain", b"\x00\x01\x02\x03", "", ContentKind.BINARY),
        ("text/plain", "\ufeffwords".encode("utf-16-le"), "", ContentKind.TEXT),
    ],
)
def test_kind(media_type: str, body: bytes, path: str, kind: ContentKind) -> None:
    assert kind_of(media_type, body, path) is kind


# Text and markdown.


def test_text_stays_as_it_is() -> None:
    read = document("one\r\n  two *three*\n", url="https://site.example/robots.txt")
    assert (read.kind, read.title) == (ContentKind.TEXT, "robots.txt")
    assert read.markdown == read.text == "one\n  two *three*\n"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# The title #\n\ntext", "The title"),
        ("The title\n=====\ntext", "The title"),
        ("---\nlayout: post\ntitle: 'The title'\n---\n# Other", "The title"),
        ("text\n\n## Not this\n\n# The title\n", "The title"),
        ("no heading", "thing"),
    ],
)
def test_the_title_of_markdown(text: str, title: str) -> None:
    read = document(text, "text/markdown")
    assert (read.kind, read.title, read.markdown) == (ContentKind.MARKDOWN, title, text)


@pytest.mark.parametrize(
    ("media_type", "url", "language"),
    [
        ("text/css", "https://site.example/style", "css"),
        ("text/plain", "https://site.example/main.py", "python"),
        ("application/javascript", "https://site.example/a.js?v=1", "javascript"),
        ("application/yaml", "https://site.example/a", "yaml"),
    ],
)
def test_programs_are_fenced(media_type: str, url: str, language: str) -> None:
    assert document("x = 1\n", media_type, url).markdown == f"```{language}\nx = 1\n```"


def test_a_fence_is_longer_than_those_inside() -> None:
    assert document("````\n<a>```</a>", "application/xml").markdown == "`````xml\n````\n<a>```</a>\n`````"


def test_long_text_is_cut_between_lines_and_says_so() -> None:
    read = document("a line of words\n" * 100_000)
    assert read.truncated
    assert MAX_CHARS - 20 < len(read.markdown) <= MAX_CHARS
    assert read.markdown.endswith("words")
    fenced = document("<a>line</a>\n" * 100_000, "application/xml")
    assert fenced.truncated
    assert fenced.markdown.endswith("</a>\n```")
    assert document("x" * (MAX_CHARS + 1)).markdown == "x" * MAX_CHARS
    assert not document("short").truncated


def test_a_file_without_a_name_is_called_by_its_host() -> None:
    assert document("words", url="https://site.example/").title == "site.example"
    assert document("words", url="https://site.example/a%20b/c%20d.txt").title == "c d.txt"


# JSON.


def test_json_is_indented_and_otherwise_as_written() -> None:
    read = document('{"b":1.10,"a":[1e3,null],"name":"Ada \\u00e9"}', "application/json")
    assert (read.kind, read.title) == (ContentKind.JSON, "Ada é")
    assert (
        read.markdown
        == '```json\n{\n  "b": 1.10,\n  "a": [\n    1e3,\n    null\n  ],\n  "name": "Ada \\u00e9"\n}\n```'
    )
    assert json.loads(read.text) == {"b": 1.1, "a": [1000, None], "name": "Ada é"}


@pytest.mark.parametrize("text", ["", "{", "nonsense", '{"a": NaN}', ")]}'\n{}"])
def test_what_only_says_that_it_is_json_is_shown(text: str) -> None:
    read = document(text, "application/json")
    assert read.text == text
    assert read.markdown == f"```\n{text}\n```"


@pytest.mark.parametrize("value", ["7", '"words"', "true", "null", "[]", "{}"])
def test_any_json_value_is_shown(value: str) -> None:
    assert value in document(value, "application/json").markdown


def test_large_json_is_cut_below_an_outline() -> None:
    read = document(json.dumps([{"id": number} for number in range(200_000)]), "application/json")
    assert read.truncated
    assert read.markdown.startswith("A list of 200,000 items, of which the first are shown.\n\n```json\n")
    assert read.markdown.endswith("\n```")
    assert len(read.markdown) <= MAX_CHARS + 200
    named = document(json.dumps({"data": "x" * MAX_CHARS, "more": 1}), "application/json")
    assert named.markdown.startswith(
        "An object with 2 members, of which the first are shown: `data`, `more`\n"
    )


def test_deep_json_is_not_indented() -> None:
    deep = "[" * 400 + "0," * 1000 + "0" + "]" * 400
    assert document(deep, "application/json").text == deep
    bomb = "[" * 200_000 + "]" * 200_000
    assert document(bomb, "application/json").text == bomb


# Tables.


def test_csv_becomes_a_table() -> None:
    read = document(
        'name,note\nAda,"a | b"\n\nBob,"two\nlines",extra\n', "text/csv", "https://site.example/people.csv"
    )
    assert read.title == "people.csv"
    assert read.markdown.splitlines() == [
        "| name | note |  |",
        "| --- | --- | --- |",
        "| Ada | a \\| b |  |",
        "| Bob | two lines | extra |",
    ]
    assert not read.truncated


@pytest.mark.parametrize(
    ("text", "media_type"), [("a\tb\n1,5\t2", "text/tab-separated-values"), ("a;b\n1,5;2", "text/csv")]
)
def test_the_delimiter_is_found(text: str, media_type: str) -> None:
    assert document(text, media_type).markdown == "| a | b |\n| --- | --- |\n| 1,5 | 2 |"


def test_long_and_wide_tables_say_that_they_are_cut() -> None:
    long = document("a,b\n" * 3000, "text/csv")
    assert long.truncated
    assert len(long.markdown.splitlines()) == 1001
    wide = document(",".join(map(str, range(60))), "text/csv")
    assert wide.truncated
    assert wide.markdown.splitlines()[0].endswith("| 49 |")
    assert document("a,b\n" + "x" * 600, "text/csv").truncated
    heavy = document(("y" * 400 + ",") * 49 + "\n" + ("z" * 400 + ",") * 49 + "\n" * 3, "text/csv")
    assert len(heavy.markdown) <= MAX_CHARS


def test_what_is_no_table_is_shown_as_it_is() -> None:
    read = document('a,"' + "x" * 200_000, "text/csv")
    assert read.markdown.startswith('```\na,"xxx')


# Feeds.

FULL_RSS = """<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:dc="x" xmlns:content="y" xmlns:media="z">
<channel><title>News &amp; more</title><link>https://news.example/</link><description>All of it</description>
<language>en</language><lastBuildDate>Tue, 02 Jan 2024 03:04:05 GMT</lastBuildDate>
<atom:link href="https://news.example/feed" rel="self"/>
<image><title>Logo</title><url>l.png</url><link>https://logo.example/</link></image>
<item><title>First [one]</title><link>/a (1)</link><pubDate>Mon, 01 Jan 2024 00:00:00 +0100</pubDate>
<dc:creator>Ada</dc:creator>
<description>&lt;p&gt;Some &lt;b&gt;bold&lt;/b&gt; words&amp;hellip;&lt;/p&gt;</description>
<media:title>not this</media:title></item>
<item><description><![CDATA[<p>Untitled <script>no()</script>text</p>]]></description>
<guid>https://news.example/b</guid></item>
<item><title>Third</title>
<guid isPermaLink="false">tag:3</guid><content:encoded>Whole text</content:encoded></item>
<item><title>Fourth</title><link>javascript:alert(1)</link></item>
</channel></rss>"""


def test_rss_becomes_a_list_of_entries() -> None:
    read = document(FULL_RSS, "application/rss+xml", "https://news.example/feed")
    assert (read.kind, read.title, read.description) == (ContentKind.FEED, "News & more", "All of it")
    assert (read.language, read.published, read.truncated) == ("en", "2024-01-02T03:04:05+00:00", False)
    assert read.markdown.split("\n\n") == [
        "# News & more",
        "All of it",
        "## [First \\[one\\]](https://news.example/a%20%281%29)",
        "2024-01-01T00:00:00+01:00 · Ada",
        "Some bold words…",
        "## [Untitled text](https://news.example/b)",
        "Untitled text",
        "## Third",
        "Whole text",
        "## Fourth",
    ]
    assert [link.text for link in read.links] == ["First [one]", "Untitled text"]
    assert "First [one]" in read.text


def test_atom_becomes_a_list_of_entries() -> None:
    read = document(
        """<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://blog.example/">
        <title type="html">The &lt;i&gt;Blog</title>
        <subtitle>On things</subtitle><updated>2024-05-06T07:08:09Z</updated>
        <entry><title>Hello</title><link rel="edit" href="/edit"/><link href="/hello"/>
        <updated>2024-05-06T07:08:09Z</updated>
        <author><name>Ada</name><email>ada@blog.example</email></author>
        <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>One</p><p>two</p></div></content>
        </entry></feed>""",
        "application/atom+xml",
        "https://blog.example/feed.atom",
    )
    assert (read.title, read.description, read.published) == (
        "The Blog",
        "On things",
        "2024-05-06T07:08:09+00:00",
    )
    assert (
        "## [Hello](https://blog.example/hello)\n\n2024-05-06T07:08:09+00:00 · Ada\n\nOne two"
        in read.markdown
    )


def test_rss_1_becomes_a_list_of_entries() -> None:
    read = document(
        """<rdf:RDF xmlns:rdf="r" xmlns="http://purl.org/rss/1.0/" xmlns:dc="d">
        <channel><title>Old</title></channel>
        <item rdf:about="x"><title>Entry</title>
        <link>https://old.example/1</link><dc:date>2004-05-06</dc:date></item>
        </rdf:RDF>""",
        "application/rdf+xml",
    )
    assert read.markdown == "# Old\n\n## [Entry](https://old.example/1)\n\n2004-05-06T00:00:00"


def test_json_feed_becomes_a_list_of_entries() -> None:
    read = document(
        json.dumps(
            {
                "version": "https://jsonfeed.org/version/1.1",
                "title": "Feed",
                "items": [
                    {
                        "id": "1",
                        "url": "https://j.example/1",
                        "title": "One",
                        "content_html": "<p>x &amp; y</p>",
                    },
                    {
                        "id": "2",
                        "content_text": "two",
                        "authors": [{"name": "Ada"}],
                        "date_published": "2024-01-01",
                    },
                    "nonsense",
                    {"title": 7, "authors": [], "url": None},
                ],
            }
        ),
        "application/feed+json",
    )
    assert read.kind is ContentKind.FEED
    assert (
        "## [One](https://j.example/1)\n\nx & y\n\n## two\n\n2024-01-01T00:00:00 · Ada\n\ntwo"
        in read.markdown
    )


def test_a_feed_with_the_usual_faults_is_read() -> None:
    read = document(
        "\n <rss><channel><title>Fish & chips&nbsp;daily</title><item><title>A\x02B</title></item>"
        "</channel></rss>",
        "application/rss+xml",
    )
    assert (read.title, read.truncated) == ("Fish & chips daily", False)
    assert "## AB" in read.markdown


def test_of_a_feed_that_breaks_off_the_beginning_is_kept() -> None:
    read = document(FULL_RSS[: FULL_RSS.index("Third") + 10], "application/rss+xml")
    assert read.truncated
    assert "## [First" in read.markdown


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE rss [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>',
        '<!DOCTYPE rss [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
    ],
)
def test_a_feed_with_a_doctype_is_shown_but_not_parsed(declaration: str) -> None:
    text = f"<?xml version='1.0'?>{declaration}<rss><channel><title>&a;</title></channel></rss>"
    read = document(text, "application/rss+xml")
    assert read.kind is ContentKind.XML
    assert read.text == text


def test_a_feed_inherits_base_author_and_language() -> None:
    feed = from_xml(
        '<feed xml:lang="da" xml:base="https://a.example/blog/"><author><name>Ida</name></author>'
        '<entry><link href="one"/></entry><entry xml:base="two/"><link href="three"/></entry></feed>'
    )
    assert feed is not None
    assert feed.language == "da"
    assert [(one.link, one.author) for one in feed.entries] == [
        ("https://a.example/blog/one", "Ida"),
        ("https://a.example/blog/two/three", "Ida"),
    ]


@pytest.mark.parametrize("name", ["dc:creator", "itunes:author", "media:credit", "author"])
def test_a_feed_names_its_author_in_many_ways(name: str) -> None:
    feed = from_xml(
        f"<rss><channel><link>https://a.example</link><item><{name}>Ida</{name}></item></channel></rss>"
    )
    assert feed is not None
    assert feed.entries[0].author == "Ida"


def test_a_doctype_that_declares_nothing_is_no_reason_to_refuse_a_feed() -> None:
    doctype = '<!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "http://my.netscape.com/rss.dtd">'
    feed = from_xml(
        f"<?xml version='1.0'?>{doctype}<rss version='0.91'><channel><title>A</title></channel></rss>"
    )
    assert feed is not None
    assert feed.title == "A"


def test_a_feed_that_nests_too_deep_is_shown_but_not_parsed() -> None:
    assert document("<rss>" + "<a>" * 100_000, "application/rss+xml").kind is ContentKind.XML


def test_long_feeds_say_that_they_are_cut() -> None:
    read = document(
        f"<rss><channel>{'<item><title>T</title></item>' * 700}</channel></rss>", "application/rss+xml"
    )
    assert read.truncated
    assert read.markdown.count("## T") == MAX_ENTRIES


# PDF.


def test_pdf_becomes_text_by_pages() -> None:
    body = pdf(
        [["A heading", "# first line", "an exam-", "ple of it"], [], ["Second page"]],
        info="/Title (The title) /Author (Ada) /Subject (About it) /CreationDate (D:20240102030405+01'00')",
    )
    read = document(body, "application/octet-stream", "https://site.example/paper.pdf")
    assert (read.kind, read.title, read.author) == (ContentKind.PDF, "The title", "Ada")
    assert (read.description, read.published) == ("About it", "2024-01-02T03:04:05+01:00")
    assert (read.page_count, read.truncated) == (3, False)
    assert read.text == "A heading\n# first line\nan example of it\f\fSecond page"
    assert read.markdown == "A heading\n\\# first line\nan example of it\n\n---\n\nSecond page"


@pytest.mark.parametrize(
    "info", ["", "/Title (Microsoft Word - paper.docx)", "/Title (untitled)", "/Title ()"]
)
def test_a_pdf_without_a_title_is_called_by_its_first_line(info: str) -> None:
    assert document(pdf([["On rivers", "text"]], info=info), "application/pdf").title == "On rivers"
    assert document(pdf([[]], info=info), "application/pdf", "https://site.example/p.pdf").title == "p.pdf"


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        ("D:2024", "2024-01-01"),
        ("D:20240506", "2024-05-06"),
        ("20240506070809Z", "2024-05-06T07:08:09+00:00"),
        ("D:20241399", ""),
        ("yesterday", ""),
    ],
)
def test_dates_of_pdfs(date: str, expected: str) -> None:
    assert document(pdf([["text"]], info=f"/CreationDate ({date})"), "application/pdf").published == expected


def test_a_pdf_of_pictures_has_no_text() -> None:
    read = document(pdf([[], []]), "application/pdf")
    assert (read.text, read.markdown, read.page_count) == ("", "", 2)


def test_an_encrypted_pdf_is_a_problem() -> None:
    keys = f"/O <{'41' * 32}> /U <{'42' * 32}>"
    body = pdf([["x"]], extra=f"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 {keys} >> /ID [<00><00>]")
    with pytest.raises(Problem) as caught:
        document(body, "application/pdf")
    assert caught.value.members["details"]["reason"] == "encrypted_content"


@pytest.mark.parametrize("body", [b"%PDF-1.7", b"%PDF-1.7\n\x00garbage", pdf([["x"]])[:150]])
def test_a_damaged_pdf_is_a_problem(body: bytes) -> None:
    with pytest.raises(Problem) as caught:
        document(body, "application/pdf")
    assert caught.value.kind.status == 502
    assert caught.value.members["details"]["reason"] == "unreadable_content"


# Everything else.


@pytest.mark.parametrize(
    ("body", "media_type", "kind", "words"),
    [
        (PNG, "image/png", "image", "an image (image/png)"),
        (b"PK\x03\x04\x00", "application/zip", "archive", "an archive (application/zip)"),
        (b"\x00\x00\x00 ftypisom", "video/mp4", "video", "a video (video/mp4)"),
        (b"\x7fELF\x00", "", "binary", "binary data (of no declared type)"),
    ],
)
def test_what_has_no_text_is_a_problem(body: bytes, media_type: str, kind: str, words: str) -> None:
    with pytest.raises(Problem) as caught:
        document(body, media_type)
    assert words in caught.value.detail
    assert caught.value.members["details"] == {
        "url": "https://site.example/files/thing",
        "reason": "unsupported_content",
        "kind": kind,
        "mediaType": media_type,
    }


TYPES = st.sampled_from(
    [
        *("", "text/html", "text/plain", "text/markdown", "text/csv", "application/json", "application/xml"),
        *(
            "application/rss+xml",
            "application/pdf",
            "application/octet-stream",
            "image/png",
            "no type at all",
        ),
    ]
)
STARTS = st.sampled_from(
    [
        *(
            b"",
            b"%PDF-1.7\n",
            b"<rss>",
            b"<feed><entry>",
            b"<?xml version='1.0'?>",
            b'{"version":"https://jsonfeed.org",',
        ),
        *(b"[", b"a,b\n", b"\xff\xfe", b"PK\x03\x04", b'"', b"RIFF", b"---\ntitle:"),
    ]
)


def read_or_problem(body: bytes, media_type: str) -> Document | Problem:
    try:
        return document(body, media_type)
    except Problem as problem:
        return problem


@given(TYPES, STARTS, st.binary(max_size=400))
def test_any_bytes_are_read_or_a_problem(media_type: str, start: bytes, rest: bytes) -> None:
    read = read_or_problem(start + rest, media_type)
    if isinstance(read, Problem):
        assert read.kind.status == 502
    else:
        assert read.title
        assert (read.markdown + read.text + read.title).encode().decode()


@given(st.binary(max_size=60), st.integers(0, 900))
def test_any_damage_to_a_pdf_is_read_or_a_problem(damage: bytes, at: int) -> None:
    body = pdf([["words", "more words"]], info="/Title (T)")
    assert read_or_problem(body[:at] + damage + body[at + len(damage) :], "application/pdf")


HOSTILE = {
    "csv of quotes": ('"' * 900_000, "text/csv"),
    "csv of commas": ("," * 900_000, "text/csv"),
    "json of brackets": ("[" * 900_000, "application/json"),
    "json of quotes": ('{"' * 400_000, "application/json"),
    "feed of ampersands": ("<rss>" + "&" * 900_000, "application/rss+xml"),
    "feed of tags": ("<rss>" + "<item>" * 200_000, "application/rss+xml"),
    "feed of entries": (
        "<rss>" + "<item><title>&lt;script</title></item>" * 20_000 + "</rss>",
        "application/rss+xml",
    ),
    "feed of scripts": ("<rss><item><description>" + "&lt;script&gt;" * 60_000, "application/rss+xml"),
    "feed of comments": ("<rss>" + "<!-- " * 200_000, "application/rss+xml"),
    "markdown of rules": ("---\n" * 200_000, "text/markdown"),
    "markdown of headings": ("#" * 900_000, "text/markdown"),
    "prolog of comments": ("<!--" * 200_000, "text/plain"),
    "backticks": ("`" * 900_000, "application/xml"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_documents_take_bounded_time(name: str) -> None:
    body, media_type = HOSTILE[name]
    started = time.process_time()
    read = document(body, media_type)
    assert time.process_time() - started < 5
    assert len(read.markdown) <= 3 * MAX_CHARS + 1000  # a fence may be as long as what it fences
