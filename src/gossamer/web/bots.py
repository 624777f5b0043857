"""The robots of AI companies: by what they do with a page, which is what an owner decides about."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Purpose(StrEnum):
    SEARCH = "search"  # builds the index that answers are found in
    USER = "user"  # fetches a page because somebody asked for it
    TRAINING = "training"  # collects what models are made of


@dataclass(frozen=True, slots=True)
class Bot:
    token: str
    operator: str
    purpose: Purpose


BOTS: Final = (
    Bot("OAI-SearchBot", "OpenAI", Purpose.SEARCH),
    Bot("Claude-SearchBot", "Anthropic", Purpose.SEARCH),
    Bot("PerplexityBot", "Perplexity", Purpose.SEARCH),
    Bot("Applebot", "Apple", Purpose.SEARCH),
    Bot("Amazonbot", "Amazon", Purpose.SEARCH),
    Bot("DuckAssistBot", "DuckDuckGo", Purpose.SEARCH),
    Bot("ChatGPT-User", "OpenAI", Purpose.USER),
    Bot("Claude-User", "Anthropic", Purpose.USER),
    Bot("Perplexity-User", "Perplexity", Purpose.USER),
    Bot("MistralAI-User", "Mistral", Purpose.USER),
    Bot("Meta-ExternalFetcher", "Meta", Purpose.USER),
    Bot("GPTBot", "OpenAI", Purpose.TRAINING),
    Bot("ClaudeBot", "Anthropic", Purpose.TRAINING),
    Bot("anthropic-ai", "Anthropic", Purpose.TRAINING),
    Bot("Google-Extended", "Google", Purpose.TRAINING),
    Bot("Applebot-Extended", "Apple", Purpose.TRAINING),
    Bot("Meta-ExternalAgent", "Meta", Purpose.TRAINING),
    Bot("CCBot", "Common Crawl", Purpose.TRAINING),
    Bot("Bytespider", "ByteDance", Purpose.TRAINING),
    Bot("cohere-training-data-crawler", "Cohere", Purpose.TRAINING),
)
