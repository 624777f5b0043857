"""The structure of a page in Markdown, one clause a test; and it reads back as what was written."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from selectolax.lexbor import LexborHTMLParser

from gossamer.web.content.article import extract

URL = "https://site.example/docs/page.html"
READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def md(html: str, url: str = URL) -> str:
    return extract(html, url, main_content=False).markdown


CASES = {
    "heading levels are those of the page": ("<h1>a</h1><h3>b</h3><h6>c</h6>", "# a\n\n### b\n\n###### c"),
    "headings lose their anchors": (
        "<h2><a href=#x>Part</a><a class=headerlink href=#x>¶</a></h2><h3>b <a href=#b>#</a></h3>",
        "## Part\n\n### b",
    ),
    "headings are not bold as well": ("<h2><strong>a</strong></h2>", "## a"),
    "white space collapses": ("<p> a \n\t b&nbsp; c <span> d</span>", "a b c d"),
    "emphasis": ("<p><b>a</b> <em>b</em> <del>c</del> <i><b>d</b></i>", "**a** *b* ~~c~~ ***d***"),
    "emphasis leaves its spaces outside": ("<p>x<b> a </b>y", "x **a** y"),
    "emphasis between letters": ("<p>un<em>frigging</em>believable", "un*frigging*believable"),
    "emphasis gives up its punctuation before a letter": ("<p><b>Note:</b>this", "**Note**:this"),
    "emphasis within itself": ("<p><b>a <strong>b</strong></b>", "**a b**"),
    "emphasis beside itself": ("<p><b>a</b><b>b</b>", "**ab**"),
    "empty emphasis": ("<p>a<b> </b>b<i></i>", "a b"),
    "emphasis over paragraphs": ("<p><b>a<br><br>b</b>", "**a**\n\n**b**"),
    "emphasis over lines": ("<p><b>a<br>b</b>", "**a  \nb**"),
    "emphasis between a letter and a sign": ("<p>a<b><code>b</code></b>", "a<strong>`b`</strong>"),
    "emphasis of a sign": ("<p>a <em>*</em> <b>_</b>", "a *\\** **\\_**"),
    "emphasis after combining letters": ("<p>है<b>“x”</b>", "है“**x”**"),
    "emphasis beside another": ("<p><b>a</b><i>b</i>", "**a**<em>b</em>"),
    "backslashes before markup": (
        "<p>a\\<b>b</b> c\\<a href=/x>d\\</a> e\\f",
        "a\\\\**b** c\\\\[d\\\\](https://site.example/x) e\\f",
    ),
    "text in several elements": ("<p><span>[a]</span><span>(b)</span> <i>x</i>_y_", "[a\\](b) *x*\\_y\\_"),
    "exclamations before a link": ("<p>a!<a href=/x>b</a>", "a\\![b](https://site.example/x)"),
    "headings that end in signs": ("<h2>C #</h2><h2>C#</h2><h3>#</h3>", "## C \\#\n\n## C#\n\n### \\#"),
    "line breaks in lists": ("<ul><li>a<br>b<br>c</ul>", "- a  \n  b  \n  c"),
    "line breaks": ("<p>a<br>b<br><br>c", "a  \nb\n\nc"),
    "rules": ("<p>a<hr><p>b", "a\n\n---\n\nb"),
    "code in a line": ("<p>run <code>a  b</code>, <kbd>x</kbd>", "run `a b`, `x`"),
    "code with backticks": ("<p><code>a`b</code> <code>`</code>", "``a`b`` `` ` ``"),
    "code that is a link": ("<p><code><a href=/f>f()</a></code>", "[`f()`](https://site.example/f)"),
    "code beside code": ("<p><code>a</code><code>b</code>", "`ab`"),
    "links are absolute": ("<p><a href='../up?q=1#f'>a</a>", "[a](https://site.example/up?q=1#f)"),
    "links have titles": (
        "<p><a href=/x title='say \"hi\"'>a</a>",
        '[a](https://site.example/x "say \\"hi\\"")',
    ),
    "links that go nowhere are text": (
        "<p><a href='java\nscript:x()'>a</a> <a>b</a> <a href='data:,x'>c</a>",
        "a b c",
    ),
    "links with brackets": (
        "<p><a href=/x>a]b</a> <a href=/y>[1]</a>",
        "[a\\]b](https://site.example/x) [[1]](https://site.example/y)",
    ),
    "links with parentheses": (
        "<p><a href='/a_(b)'>a</a> <a href='/c('>c</a>",
        "[a](https://site.example/a_(b)) [c](https://site.example/c%28)",
    ),
    "links around blocks": ("<a href=/x><h3>T</h3><p>t</p></a>", "### [T](https://site.example/x)\n\nt"),
    "images": ("<img src=a.png alt='A b'>", "![A b](https://site.example/docs/a.png)"),
    "images that load late": (
        "<img src=data:image/gif;base64,A data-src=/l.png>",
        "![](https://site.example/l.png)",
    ),
    "images of many sizes": (
        "<img src=s.png srcset='m.png 1x, l.png 2x'>",
        "![](https://site.example/docs/l.png)",
    ),
    "images in pictures": (
        "<picture><source srcset='/big.webp 900w'><img alt=a></picture>",
        "![a](https://site.example/big.webp)",
    ),
    "images that link": (
        "<a href=/x><img src=/i.png alt=i></a>",
        "[![i](https://site.example/i.png)](https://site.example/x)",
    ),
    "pixels that track": ("<p>a<img src=/t.gif width=1 height=1><img src=/spacer.gif>", "a"),
    "figures": (
        "<figure><img src=/i.png alt=i><figcaption>C</figcaption></figure>",
        "![i](https://site.example/i.png)\n\nC",
    ),
    "lists": ("<ul><li>a<li>b</ul>", "- a\n- b"),
    "lists within lists": ("<ul><li>a<ol><li>b<li>c</ol><li>d</ul>", "- a\n  1. b\n  2. c\n- d"),
    "lists directly within lists": ("<ul><li>a</li><ul><li>b</li></ul></ul>", "- a\n  - b"),
    "lists with numbers": ("<ol start=9><li>a<li>b<li value=20>c</ol>", "9. a\n10. b\n20. c"),
    "lists side by side": ("<ul><li>a</ul><div><ul><li>b</ul></div><ul><li>c</ul>", "- a\n\n* b\n\n- c"),
    "lists with numbers side by side": ("<ol><li>a</ol><ol><li>b</ol>", "1. a\n\n1) b"),
    "lists side by side in an item": ("<ul><li>a<ul><li>b</ul><ul><li>c</ul></ul>", "- a\n\n  - b\n\n  * c"),
    "lists with empty items": ("<ol><li>a<li><li>c</ol><ul><li></ul>", "1. a\n2.\n3. c"),
    "lists with rules": ("<ul><li><hr></ul>", "- ___"),
    "lists with paragraphs": ("<ul><li><p>a</p><li>b</ul>", "- a\n\n- b"),
    "lists with blocks": ("<ul><li><p>a<p>b<li>c</ul>", "- a\n\n  b\n\n- c"),
    "lists with code": ("<ol><li>a<pre>x\ny</pre></ol>", "1. a\n\n   ```\n   x\n   y\n   ```"),
    "lists of tasks": (
        "<ul><li><input type=checkbox checked> a<li><label><input type=checkbox> b</label></ul>",
        "- [x] a\n- [ ] b",
    ),
    "terms and meanings": ("<dl><dt>a<dd>b<dt>c<dd><p>d<p>e</dl>", "- **a**: b\n\n- **c**\n\n  d\n\n  e"),
    "quotes": ("<blockquote><p>a<p>b<blockquote>c</blockquote></blockquote>", "> a\n>\n> b\n>\n> > c"),
    "remarks": (
        "<div class='admonition note'><p class=admonition-title>Note<p>a</div>",
        "> **Note**\n>\n> a",
    ),
    "details": ("<details><summary>S</summary><p>a</details>", "**S**\n\na"),
    "sub and sup": ("<p>H<sub>2</sub>O x<sup>2</sup>", "H<sub>2</sub>O x<sup>2</sup>"),
    "footnotes": (
        "<p>a<sup><a href=#n1>1</a></sup><ol><li id=n1>note <a href=#r1>↩</a></ol>",
        "a[^1]\n\n[^1]: note",
    ),
    "formulas": (
        "<p>so <math><mi>x</mi><annotation encoding=application/x-tex>x^2</annotation></math>",
        "so $x^2$",
    ),
    "formulas of their own": (
        "<math display=block><annotation encoding=application/x-tex>\\sum_i</annotation></math>",
        "$$\\sum_i$$",
    ),
    "formulas in scripts": ("<p>so <script type=math/tex>a_1</script>", "so $a_1$"),
    "quotations in a line": ("<p><q>a</q>", "“a”"),
}


@pytest.mark.parametrize("name", CASES)
def test_markdown(name: str) -> None:
    html, expected = CASES[name]
    assert md(html) == expected


CODE = {
    "class": ("<pre><code class='hljs language-c++'>x</code></pre>", "```cpp\nx\n```"),
    "class on pre": ("<pre class='lang-js'>x</pre>", "```js\nx\n```"),
    "class around": (
        "<div class='highlight-python3 notranslate'><div class=highlight><pre>x</pre></div></div>",
        "```python\nx\n```",
    ),
    "class of another kind": (
        "<div class='highlight highlight-source-rust'><pre>x</pre></div>",
        "```rust\nx\n```",
    ),
    "brush": ("<pre class='brush: sql; gutter: false'>x</pre>", "```sql\nx\n```"),
    "data": ("<pre data-lang=go>x</pre>", "```go\nx\n```"),
    "no language": ("<pre class=highlight>x</pre>", "```\nx\n```"),
    "lines as they are": ("<pre>\n a\n\n\tb  \n</pre>", "```\n a\n\n\tb  \n```"),
    "empty lines at the ends": ("<pre><code>\n\na\n\n</code></pre>", "```\n\n\na\n\n```"),
    "lines in a list": ("<ul><li>x<pre>a  \n  \nb</pre></ul>", "- x\n\n  ```\n  a  \n    \n  b\n  ```"),
    "lines as elements": ("<pre><div>a</div><div>b</div></pre>", "```\na\nb\n```"),
    "lines as breaks": ("<pre>a<br>b</pre>", "```\na\nb\n```"),
    "fences inside": ("<pre>```\nx\n```</pre>", "````\n```\nx\n```\n````"),
    "numbers in the margin": (
        "<table class=highlight><tr><td class=linenos><pre>1\n2</pre><td><pre>a\nb</pre></table>",
        "```\na\nb\n```",
    ),
    "numbers in the line": (
        "<pre><span class=lineno>1</span>a\n<span class=lineno>2</span>b</pre>",
        "```\na\nb\n```",
    ),
    "nothing": ("<pre> \n </pre>", ""),
}


@pytest.mark.parametrize("name", CODE)
def test_code(name: str) -> None:
    html, expected = CODE[name]
    assert md(html) == expected


TABLES = {
    "header": ("<thead><tr><th>A<th>B<tbody><tr><td>1<td>2", "| A | B |\n| --- | --- |\n| 1 | 2 |"),
    "header without a head": ("<tr><th>A<th>B<tr><td>1<td>2", "| A | B |\n| --- | --- |\n| 1 | 2 |"),
    "no header": ("<tr><td>1<td>2<tr><td>3<td>4", "|  |  |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |"),
    "headers of rows": ("<tr><th>A<td>1<tr><th>B<td>2", "|  |  |\n| --- | --- |\n| A | 1 |\n| B | 2 |"),
    "pipes": (
        "<tr><th>a|b<th><code>c|d</code><tr><td>1<td>2",
        "| a\\|b | `c\\|d` |\n| --- | --- |\n| 1 | 2 |",
    ),
    "columns spanned": (
        "<tr><th>A<th colspan=2>B<tr><td>1<td>2<td>3",
        "| A | B | B |\n| --- | --- | --- |\n| 1 | 2 | 3 |",
    ),
    "rows spanned": (
        "<tr><th>A<th>B<tr><td rowspan=2>1<td>2<tr><td>3",
        "| A | B |\n| --- | --- |\n| 1 | 2 |\n| 1 | 3 |",
    ),
    "both spanned": (
        "<tr><th>A<th>B<th>C<tr><td rowspan=2 colspan=2>1<td>2<tr><td>3",
        "| A | B | C |\n| --- | --- | --- |\n| 1 | 1 | 2 |\n| 1 | 1 | 3 |",
    ),
    "a whole row spanned": (
        "<tr><th>A<th>B<tr><td colspan=2>x<tr><td>1<td>2",
        "| A | B |\n| --- | --- |\n| x |  |\n| 1 | 2 |",
    ),
    "rows too short": ("<tr><th>A<th>B<tr><td>1", "| A | B |\n| --- | --- |\n| 1 |  |"),
    "blocks in cells": (
        "<tr><th>A<th>B<tr><td>1<br>2<td><ul><li>x<li>y</ul>",
        "| A | B |\n| --- | --- |\n| 1<br>2 | • x<br>• y |",
    ),
    "caption": (
        "<caption>C</caption><tr><th>A<th>B<tr><td>1<td>2",
        "C\n\n| A | B |\n| --- | --- |\n| 1 | 2 |",
    ),
    "alignment": (
        "<tr><th align=left>A<th>B<th style='text-align: right'>C<th>D<tr><td>1<td align=center>2<td>3<td>4",
        "| A | B | C | D |\n| :--- | :---: | ---: | --- |\n| 1 | 2 | 3 | 4 |",
    ),
    "alignment without agreement": (
        "<tr><th>A<th>B<tr><td align=left>1<td>2<tr><td align=right>3<td>4",
        "| A | B |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |",
    ),
    "one column": ("<thead><tr><th>A<tbody><tr><td>1<tr><td>2", "| A |\n| --- |\n| 1 |\n| 2 |"),
    "foot": (
        "<tfoot><tr><td>9<td>9<tbody><tr><th>A<th>B<tr><td>1<td>2",
        "| A | B |\n| --- | --- |\n| 1 | 2 |\n| 9 | 9 |",
    ),
    "layout of one column": ("<tr><td><p>a<tr><td><p>b", "a\n\nb"),
    "layout with tables in it": (
        "<tr><td>a<td><table><tr><th>A<th>B<tr><td>1<td>2</table>",
        "a\n\n| A | B |\n| --- | --- |\n| 1 | 2 |",
    ),
    "layout with headings": ("<tr><td><h2>a</h2>b<td>c", "## a\n\nb\n\nc"),
}


@pytest.mark.parametrize("name", TABLES)
def test_table(name: str) -> None:
    html, expected = TABLES[name]
    assert md(f"<table>{html}</table>") == expected


def test_base_decides_what_links_are_relative_to() -> None:
    assert (
        md("<base href='https://other.example/deep/'><a href=x>a</a>") == "[a](https://other.example/deep/x)"
    )


@pytest.mark.parametrize(
    "text",
    [
        *(
            "# a",
            "- a",
            "+ a",
            "* a",
            "1. a",
            "12) a",
            "> a",
            "---",
            "===",
            "~~~",
            "a * b",
            "snake_case_name",
            "__init__",
        ),
        *(
            "[a](b)",
            "[a]: b",
            "![a](b)",
            "<b>",
            "a < b",
            "&amp;",
            "& b",
            "`a`",
            "\\*",
            "~~a~~",
            "*a*",
            "_a_",
            "2 * 3 * 4",
        ),
        *(
            "```",
            "| a | b |",
            "a\\",
            "<!-- a -->",
            "<https://a.example>",
            "[^1]",
            "#a",
            "-a",
            "1.5",
            "C:\\dir",
            "$5 and $6",
            "=",
            "_ _ _",
            "[a\\](b)",
        ),
    ],
)
def test_plain_text_reads_back_as_plain_text(text: str) -> None:
    _reads_back(text)


@settings(max_examples=400)
@given(st.text(alphabet="ab1 #*_`[]()<>!&;\\~|-+=.:^\"'", max_size=20))
@example("*a *")
def test_any_plain_text_reads_back_as_plain_text(text: str) -> None:
    _reads_back(text)


def _reads_back(text: str) -> None:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    read = READER.render(md(f"<p>{escaped}</p>"))
    tree = LexborHTMLParser(read)
    assert " ".join((tree.body.text() if tree.body else "").split()) == " ".join(text.split())
    assert {node.tag for node in tree.css("body *")} <= {"p"}


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "b", "i", "code", "del"]), st.text("ab .,:!-()", min_size=1, max_size=6)
        ),
        max_size=8,
    )
)
def test_emphasis_never_shows_its_marks(parts: list[tuple[str, str]]) -> None:
    html = "".join(f"<{tag}>{text}</{tag}>" if tag else text for tag, text in parts)
    read = LexborHTMLParser(READER.render(md(f"<p>x {html} x</p>")))
    shown = "".join((read.body.text() if read.body else "").split())
    assert shown == "x" + "".join("".join(text for _, text in parts).split()) + "x"


def test_a_page_of_code_keeps_every_character() -> None:
    code = 'def f(a):\n    return `a` | b  # *not* _emphasis_ <b>\n\n\tx = "```"'
    escaped = code.replace("&", "&amp;").replace("<", "&lt;")
    read = LexborHTMLParser(READER.render(md(f"<pre>{escaped}</pre>")))
    node = read.css_first("code")
    assert node is not None
    assert node.text().rstrip("\n") == code
