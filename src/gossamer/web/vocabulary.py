"""Lists of words as they are read best: a few lines of text."""

import re


def tags(text: str) -> frozenset[str]:
    """Words apart from each other by spaces."""
    return frozenset(text.split())


def phrases(text: str) -> re.Pattern[str]:
    """A pattern that finds any of these phrases, apart from each other by commas, as whole words."""
    found = [" ".join(phrase.split()) for phrase in text.split(",")]
    return re.compile(rf"(?:^| )(?:{'|'.join(phrase for phrase in found if phrase)})(?: |$)")
