"""Bots: those of AI companies, by what they do with a page, then search engines and link previews."""

from enum import StrEnum
from typing import Final, NamedTuple


class Purpose(StrEnum):
    SEARCH = "search"  # builds the index of a search
    USER = "user"  # fetches a page on behalf of a user
    TRAINING = "training"  # collects training data for models


class Bot(NamedTuple):
    token: str  # as in its User-Agent and in robots.txt; letters, digits, - and _ only
    operator: str
    purpose: Purpose


class Robot(NamedTuple):
    token: str
    operator: str


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

# Bots that build the index of a search engine.
SEARCH_ENGINES: Final = (
    Robot("Googlebot", "Google"),
    Robot("GoogleOther", "Google"),
    Robot("Google-InspectionTool", "Google"),
    Robot("Bingbot", "Microsoft"),
    Robot("DuckDuckBot", "DuckDuckGo"),
    Robot("YandexBot", "Yandex"),
    Robot("Baiduspider", "Baidu"),
    Robot("Sogou", "Sogou"),
    Robot("Yeti", "Naver"),
    Robot("SeznamBot", "Seznam"),
    Robot("Qwantbot", "Qwant"),
    Robot("MojeekBot", "Mojeek"),
    Robot("PetalBot", "Huawei"),
    Robot("Slurp", "Yahoo"),
)

# Bots that make the preview of a link in a chat or a timeline.
LINK_PREVIEWS: Final = (
    Robot("facebookexternalhit", "Meta"),
    Robot("Twitterbot", "X"),
    Robot("LinkedInBot", "LinkedIn"),
    Robot("Slackbot", "Slack"),
    Robot("WhatsApp", "Meta"),
    Robot("TelegramBot", "Telegram"),
    Robot("Discordbot", "Discord"),
    Robot("Pinterestbot", "Pinterest"),
    Robot("redditbot", "Reddit"),
    Robot("SkypeUriPreview", "Microsoft"),
)
