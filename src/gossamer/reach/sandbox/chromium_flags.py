"""The command line of a fenced Chromium.

The first layer of the fence is here: everything goes through the proxy, including loopback, no names are
resolved, and no datagrams are sent. The other flags suppress requests that no page made, make all machines
alike, and make the start quick.

Some flags of other tools are left out on purpose: those that disable the protection against floods of
messages, pop-ups and pages that hang. There is only one `--disable-features`, as a second would replace it.
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
    "HttpsUpgrades",  # visit the requested address
    "InterestFeedContentSuggestions",
    "LensOverlay",
    "MediaRouter",
    "OptimizationHints",
    "PaintHolding",
    "Translate",
    "WebRtcHideLocalIpsWithMdns",  # it would send multicast, and local addresses are not used anyway
)
_COMMON: Final = (
    "--headless",
    "--remote-debugging-pipe",
    f"--disable-features={','.join(_FEATURES_OFF)}",
    # No requests that no page made.
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
    # There is no user to ask or to listen.
    "--block-new-web-contents",
    "--deny-permission-prompts",
    "--disable-notifications",
    "--disable-prompt-on-repost",
    "--mute-audio",
    "--noerrdialogs",
    "--password-store=basic",
    "--use-mock-keychain",
    # The same on every machine.
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--lang=en-US",
    # Pages in the background are as quick as those in front.
    "--disable-back-forward-cache",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-gpu",
    "--disable-renderer-backgrounding",
)
# A page lives for seconds: most of what TurboFan compiles after the usual 3,000 calls never pays, and a new
# space that grows further is mostly garbage. Code that runs for long is still compiled by TurboFan.
_V8: Final = "--js-flags=--invocation-count-for-turbofan=30000 --max-semi-space-size=4"
# In a headless shell, a tab can wait for a command before each frame, and end animations that are not drawn.
_SHELL: Final = ("--run-all-compositor-stages-before-draw", "--disable-threaded-animation")


def fence(port: int) -> tuple[str, ...]:
    """The flags of the first layer. WebRTC's flag has another name in the headless shell, so both are set."""
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
        _V8,
        *(_SHELL if "headless" in binary.name else ()),
        *([] if sandboxed else ["--no-sandbox"]),
        *([] if shared_memory else ["--disable-dev-shm-usage"]),
        f"--user-data-dir={profile}",
        *more,
    ]
