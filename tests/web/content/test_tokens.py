"""How many tokens a text has, by rule: held against what vocabularies make of the same texts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.web.audit.audit_subjects import URL, read_as

from gossamer.web.audit.audit import audit_page
from gossamer.web.content.section_picker import brief_of
from gossamer.web.content.tokens import GAP, MAX_TOKENS_PER_CHAR, count, estimate, weigh

# What the vocabularies of GPT, Mistral, Llama and DeepSeek make of each, in the median.
KNOWN: dict[str, tuple[str, int]] = {
    "english": (
        (
            "Orb weavers build a new web nearly every day, mostly at night, and eat the old one first. "
            "The capture spiral is sticky; the radii are not, which is what lets the builder run "
            "across it without being caught in its own work."
        ),
        51,
    ),
    "german": (
        (
            "Radnetzspinnen bauen fast jeden Tag ein neues Netz, meist in der Nacht, und fressen "
            "zuerst das alte auf. Die Fangspirale ist klebrig, die Speichen sind es nicht."
        ),
        42,
    ),
    "french": (
        (
            "Les araignées tissent presque chaque jour une nouvelle toile, le plus souvent la nuit, et "
            "mangent d'abord l'ancienne. La spirale de capture est collante, les rayons ne le sont pas."
        ),
        45,
    ),
    "russian": (
        (
            "Пауки почти каждый день плетут новую сеть, чаще всего ночью, сначала съедая старую. "
            "Ловчая спираль липкая."
        ),
        35,
    ),
    "chinese": (
        "圆蛛几乎每天都会织一张新网。大多在夜里。并且先吃掉旧网。捕捉螺旋是黏的。而辐射线不是。",
        38,
    ),
    "japanese": (
        "コガネグモはほとんど毎日、たいてい夜に新しい網を張り、まず古い網を食べます。捕獲らせんは粘りますが、縦糸は粘りません。",
        50,
    ),
    "arabic": (
        (
            "تبني عناكب الدائرة شبكة جديدة كل يوم تقريبا، غالبا في الليل، وتأكل القديمة أولا. اللولب "
            "لزج، أما الأشعة فليست كذلك."
        ),
        43,
    ),
    "code": (
        (
            'def weave(radii: int, turns: int) -> list[Thread]:\n    """One thread for every '
            'radius."""\n    return [Thread(angle=360 / radii * at, turns=turns) for at in '
            "range(radii)]\n"
        ),
        50,
    ),
    "table": (
        (
            "| spider | radii | web |\n| --- | --- | --- |\n| *Araneus diadematus* | 28 | 1,340.5 cm² "
            "|\n| **Argiope** | 31 | 980.25 cm² |\n"
        ),
        53,
    ),
    "addresses": (
        (
            "[1]: https://www.example.com/articles/2024/05/orb-webs?utm_source=letter&id=18237\n[2]: "
            "https://docs.example.com/silk/spinneret_glands.html#anatomy\n"
        ),
        49,
    ),
    "hexadecimal": (
        "3f786850e387550fdab836ed7e6dc881de23001b 89e6c98d92887913cadf06b2adb97f26cde4849b",
        44,
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_it_is_near_what_a_vocabulary_makes(name: str) -> None:
    text, known = KNOWN[name]
    assert 0.85 * known <= count(text) <= 1.15 * known + 2


def test_nothing_is_nothing() -> None:
    assert (count(""), weigh(""), count("a"), count(" ")) == (0, 0, 1, 0)


def test_an_estimate_is_near_the_count() -> None:
    short = "| silk | 1,340.5 |\n"
    assert estimate(short) == count(short)
    for text in (short * 10_000, "the capture spiral is sticky, the radii are not. " * 9_000, "网" * 50_000):
        assert abs(estimate(text) - count(text)) <= count(text) // 50


@pytest.mark.parametrize("name", KNOWN)
def test_the_budget_of_a_brief_and_the_count_of_an_audit_agree(name: str) -> None:
    """What `format=llm` counts beyond its envelope is what an audit shows for the same markdown."""
    text = KNOWN[name][0]
    empty, whole = (brief_of(markdown, URL, 10_000) for markdown in ("", text))
    assert whole.sections_left_out == 0
    envelope = empty.tokens
    assert abs(whole.tokens - envelope - count(whole.text)) <= 1
    shown = audit_page(read_as(markdown=whole.text)()).agent
    assert shown is not None
    assert shown.tokens == count(whole.text)


anything = st.text(max_size=300)
blocks = st.text(max_size=200).map(str.strip)


@settings(max_examples=300)
@given(st.lists(blocks.filter(bool), max_size=6))
def test_empty_lines_add_up(texts: list[str]) -> None:
    joined = "\n\n".join(texts)
    assert weigh(joined) <= sum(map(weigh, texts)) + GAP * max(0, len(texts) - 1)


@settings(max_examples=200)
@given(anything)
def test_no_text_is_much_dearer_than_its_bytes(text: str) -> None:
    assert count(text) <= MAX_TOKENS_PER_CHAR * len(text) + 1
    assert (
        count(text)
        >= sum(any(sign.isalnum() and sign.isascii() for sign in word) for word in text.split()) // 2
    )
