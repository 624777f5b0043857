"""The command line of a fenced Chromium.

Layer one of the fence is here: the proxy for everything, loopback too; no names resolved; no datagrams. The
rest makes it quiet (nothing asked for that no page asked for), alike on every machine, and quick to start.

Left out on purpose, though other tools pass them: the switches that take away the protection against floods
of messages, pop-ups and pages that hang. There is one `--disable-features`: a second one would replace it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

_FEATURES_OFF: Final = (
    "AcceptCHFrame",
    "AutofillServerCommunication",
    "CertificateTransparencyComponentUpdater",
    "DialMediaRouteProvider",
    "DestroyProfileOnBrowserClose",
    "HttpsUpgrades",  # the address that was asked for is the one that is visited
    "InterestFeedContentSuggestions",
    "LensOverlay",
    "MediaRouter",
    "OptimizationHints",
    "PaintHolding",
    "Translate",
    "WebRtcHideLocalIpsWithMdns",  # which would send multicast; no local address is looked at to begin with
)
_COMMON: Final = (
    "--headless",
    "--remote-debugging-pipe",
    f"--disable-features={','.join(_FEATURES_OFF)}",
    # Nothing that no page asked for.
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-crash-reporter",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-field-trial-config",
    "--disable-search-engine-choice-screen",
    "--disable-sync",
    "--metrics-recording-only",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
    "--no-service-autorun",
    # Nobody is there to be asked or to listen.
    "--block-new-web-contents",
    "--deny-permission-prompts",
    "--disable-notifications",
    "--disable-prompt-on-repost",
    "--mute-audio",
    "--noerrdialogs",
    "--password-store=basic",
    "--use-mock-keychain",
    # Alike everywhere.
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--lang=en-US",
    # A page in the background is as quick as one in front.
    "--disable-back-forward-cache",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-gpu",
    "--disable-renderer-backgrounding",
)


def fence(port: int) -> tuple[str, ...]:
    """Layer one. WebRTC's switch has another name in the headless shell, so both are given."""
    return (
        f"--proxy-server=http://127.0.0.1:{port}",
        "--proxy-bypass-list=<-loopback>",
        "--webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--disable-quic",
        "--dns-prefetch-disable",
        "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    )


def command(
    binary: Path, profile: Path, *, sandboxed: bool, shared_memory: bool, more: Sequence[str]
) -> list[str]:
    return [
        str(binary),
        *_COMMON,
        *([] if sandboxed else ["--no-sandbox"]),
        *([] if shared_memory else ["--disable-dev-shm-usage"]),
        f"--user-data-dir={profile}",
        *more,
    ]
