"""What can go wrong: the one table of errors, and the exception that carries a row of it.

    Problem                     anything a caller is told about, as an RFC 9457 document
    └── Unavailable             something we stand on is away (database, cache, …): 503 with Retry-After

Every error answer of every door is made from a `Kind` in `KINDS`. A foreign error is translated into a
`Problem` once, where the foreign thing is called; whatever is not a `Problem` when it reaches the door is a
defect, is logged with its traceback and leaves as `internal-error`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

MEDIA_TYPE: Final = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Kind:
    """One row of the table: what an error is called, and what its page tells a reader."""

    code: str  # UPPER_SNAKE, in `code` and `error`
    name: str  # kebab-case, the last part of the type URI
    status: int
    title: str
    when: str  # one paragraph: when it happens
    causes: tuple[str, ...]
    fixes: tuple[str, ...]
    detail: str  # the `detail` of the example on the page
    retry: bool = False  # the same request may succeed later
    extra: Mapping[str, Any] = field(default_factory=dict)  # further members of the example


class Problem(Exception):
    """An error with a row in the table, and what is particular to this occurrence."""

    def __init__(
        self,
        kind: Kind,
        detail: str,
        *,
        hint: str | None = None,
        headers: Mapping[str, str] | None = None,
        **members: Any,
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.hint = hint
        self.headers = dict(headers or {})
        self.members = members

    def document(self, public_url: str, instance: str, request_id: str) -> dict[str, Any]:
        """The RFC 9457 document; members that do not apply are left out."""
        kind = self.kind
        type_uri = f"{public_url}/problems/{kind.name}"
        document: dict[str, Any] = {
            "type": type_uri,
            "title": kind.title,
            "status": kind.status,
            "detail": self.detail,
            "instance": instance,
            "error": kind.code,
            "code": kind.code,
            "message": self.detail,
            "requestId": request_id,
            "docsUrl": type_uri,
        }
        if self.hint is not None:
            document["hint"] = self.hint
        document.update((name, value) for name, value in self.members.items() if value is not None)
        return document


class Unavailable(Problem):
    """Something we stand on does not answer. Nothing was lost; the same request may succeed soon."""

    def __init__(self, service: str, why: str, *, retry_after: int = 2) -> None:
        super().__init__(
            SERVICE_UNAVAILABLE,
            f"The {service} is not answering right now ({why}).",
            hint="Nothing was changed. Try again after the number of seconds in Retry-After.",
            headers={"Retry-After": str(retry_after)},
            retryAfter=retry_after,
            details={"service": service, "reason": why},
        )
        self.service = service


def validation_error(detail: str, *, hint: str | None = None, **members: Any) -> Problem:
    return Problem(VALIDATION_ERROR, detail, hint=hint, **members)


VALIDATION_ERROR = Kind(
    code="VALIDATION_ERROR",
    name="validation-error",
    status=400,
    title="Validation Error",
    when="The request could not be understood: its body is not JSON, a field is missing or of the wrong "
    "type, a query parameter or a header is malformed.",
    causes=(
        "The body is not valid JSON, or not a JSON object.",
        "A required field is missing, has the wrong type or is out of range.",
        "A field name is misspelt: unknown fields are refused rather than ignored.",
        "A header that may appear once was sent twice, or a header value is not acceptable.",
    ),
    fixes=(
        "Read `detail`: it names the field and what was expected there.",
        "Compare the body with the endpoint's example in the API documentation.",
        "Send `Content-Type: application/json` and UTF-8.",
    ),
    detail="Expected `str`, got `int` - at `$.email`",
    extra={"hint": "See the request body of this endpoint in /docs."},
)
INVALID_URL = Kind(
    code="INVALID_URL",
    name="invalid-url",
    status=400,
    title="Invalid URL",
    when="The URL that was given cannot be used: it does not parse, or it points to a place that Gossamer "
    "must not touch. `details.reason` names which rule refused it.",
    causes=(
        "`invalid_url_format`: the text is not a URL.",
        "`invalid_protocol`: only http and https are allowed.",
        "`hostname_blocked`: the host is, or resolves to, a private, loopback or otherwise reserved address.",
        "`port_blocked`: the port is not among the allowed ones.",
        "`credentials_in_url`: the URL carries a user name or password.",
        "`url_too_long`: the URL has more than 2,048 characters.",
    ),
    fixes=(
        "Give the full public address, beginning with https:// or http://.",
        "Send credentials as headers, never inside the URL.",
        "If you run this server and mean to reach your own network, open it with GOSSAMER_EGRESS_ALLOW.",
    ),
    detail="Private and local addresses are not allowed",
    extra={"details": {"url": "http://localhost:3000/", "reason": "hostname_blocked"}},
)
INVALID_VIEWPORT = Kind(
    code="INVALID_VIEWPORT",
    name="invalid-viewport",
    status=400,
    title="Invalid Viewport",
    when="The viewport asked for is outside what a screenshot can be taken with.",
    causes=("The width is not between 320 and 3840.", "The height is not between 240 and 2160."),
    fixes=("Choose a width of 320 to 3840 and a height of 240 to 2160 pixels.",),
    detail="viewport.width is 100; it must be between 320 and 3840",
)
INVALID_TTL = Kind(
    code="INVALID_TTL",
    name="invalid-ttl",
    status=400,
    title="Invalid Cache TTL",
    when="The cache lifetime is not a whole number of seconds. (A number outside 60 to 86,400 is not an "
    "error: it is moved to the nearest bound.)",
    causes=("`cacheTtl` is text, a fraction or null.",),
    fixes=("Send `cacheTtl` as a whole number of seconds, for example 3600.",),
    detail="cacheTtl must be a whole number of seconds",
)
INVALID_SELECTOR = Kind(
    code="INVALID_SELECTOR",
    name="invalid-selector",
    status=400,
    title="Invalid Selector",
    when="A CSS selector in the request does not parse.",
    causes=("The selector has a syntax error.", "An XPath or jQuery expression was given instead of CSS."),
    fixes=("Try the selector with document.querySelector in a browser's console first.",),
    detail="'div[' is not a CSS selector",
)
UNAUTHORIZED = Kind(
    code="UNAUTHORIZED",
    name="unauthorized",
    status=401,
    title="Unauthorized",
    when="The endpoint needs to know who is asking, and the request carries no valid API key.",
    causes=(
        "There is no Authorization header.",
        "The key is misspelt, cut off or was made for another server.",
        "The key was deleted or replaced by rotation.",
    ),
    fixes=(
        "Send `Authorization: Bearer sk_live_…`.",
        "Ask the operator for a key; operators make one with `gossamer keys create`.",
    ),
    detail="Invalid or missing API key",
    extra={"hint": "Provide an API key in the Authorization header: Bearer sk_live_..."},
)
PAYMENT_REQUIRED = Kind(
    code="PAYMENT_REQUIRED",
    name="payment-required",
    status=402,
    title="Payment Required",
    when="The endpoint is paid for by the call, and the request carries neither an API key nor a payment.",
    causes=("Neither PAYMENT-SIGNATURE nor X-PAYMENT was sent.",),
    fixes=(
        "Pay with an x402 client: the answer lists price, asset, network and recipient.",
        "Or send an API key.",
    ),
    detail="This request costs $0.005.",
    extra={"error": "PAYMENT-SIGNATURE or X-PAYMENT header is required"},
)
PAYMENT_FAILED = Kind(
    code="PAYMENT_FAILED",
    name="payment-failed",
    status=402,
    title="Payment Failed",
    when="A payment was sent, but it could not be accepted. For this request nothing was charged; "
    "`details.reason` says why.",
    causes=(
        "The amount, asset, network, recipient or resource is not what was quoted.",
        "The quote that the payment was made for has run out.",
        "The authorisation was used before (`payment_already_used`) or has expired.",
        "The wallet does not hold enough.",
    ),
    fixes=("The answer is a fresh quote: sign that one.",),
    detail="The payment authorisation has already been used.",
    extra={
        "error": "The payment authorisation has already been used.",
        "details": {"reason": "payment_already_used"},
    },
)
FORBIDDEN = Kind(
    code="FORBIDDEN",
    name="forbidden",
    status=403,
    title="Forbidden",
    when="The caller is known, but the endpoint needs a role that the caller does not have.",
    causes=("The key is a user's and the endpoint is an admin's.",),
    fixes=("Use an admin's key, or ask an admin to do it.",),
    detail="This endpoint needs the role 'admin'; the key has the role 'user'",
)
KEY_DISABLED = Kind(
    code="KEY_DISABLED",
    name="key-disabled",
    status=403,
    title="API Key Disabled",
    when="The API key exists but has been disabled.",
    causes=("An admin disabled the key.", "The key was replaced by rotation."),
    fixes=("Use another key of the same tenant.", "Ask an admin for a new one."),
    detail="The API key sk_live_abc1234... is disabled",
)
NOT_FOUND = Kind(
    code="NOT_FOUND",
    name="not-found",
    status=404,
    title="Not Found",
    when="There is nothing at this address, or nothing that the caller may see.",
    causes=("The path is misspelt.", "The id belongs to another tenant, or is long gone."),
    fixes=("Compare the path with the API documentation.", "List what you have and use an id from there."),
    detail="There is nothing at /api/keyz",
)
ELEMENT_NOT_FOUND = Kind(
    code="ELEMENT_NOT_FOUND",
    name="element-not-found",
    status=404,
    title="Element Not Found",
    when="The page was opened, but the CSS selector matches nothing on it.",
    causes=("The selector belongs to another page.", "The element appears later than the time allowed."),
    fixes=("Check the selector in a browser.", "Wait for it with `waitForSelector`."),
    detail="No element matches '#main-content'",
)
METHOD_NOT_ALLOWED = Kind(
    code="METHOD_NOT_ALLOWED",
    name="method-not-allowed",
    status=405,
    title="Method Not Allowed",
    when="The path exists, but not for this HTTP method. The `Allow` header lists the ones it has.",
    causes=("A GET was sent to an endpoint that takes POST, or the other way round.",),
    fixes=("Use one of the methods in the `Allow` header.",),
    detail="/api/admin/keys does not take PUT; it takes GET, POST",
)
REQUEST_TIMEOUT = Kind(
    code="REQUEST_TIMEOUT",
    name="request-timeout",
    status=408,
    title="Request Timeout",
    when="The request did not arrive in full within the time that is allowed for it.",
    causes=("The connection is very slow or was interrupted.", "Content-Length is larger than the body."),
    fixes=("Send the request again.", "Check that Content-Length matches the body."),
    detail="The request did not arrive within 10 seconds",
    retry=True,
)
IDEMPOTENCY_KEY_CONFLICT = Kind(
    code="IDEMPOTENCY_KEY_CONFLICT",
    name="idempotency-key-conflict",
    status=409,
    title="Idempotency Key Conflict",
    when="The Idempotency-Key was used a moment ago with another request body.",
    causes=(
        "A key was reused for a different request.",
        "The body is built anew on a retry and contains something that changes, such as a timestamp.",
    ),
    fixes=(
        "Use a new key for a new request (a UUID is a good one).",
        "Send exactly the same body on a retry.",
        "Or wait until the key is forgotten, 60 seconds after its first use by default.",
    ),
    detail="Idempotency-Key 'order-17' was already used with a different request body",
    extra={"hint": "Use a new key, or wait until this one is forgotten (60 s)."},
)
PAYMENT_IN_USE = Kind(
    code="PAYMENT_IN_USE",
    name="payment-in-use",
    status=409,
    title="Payment In Use",
    when="Another request with the same payment authorisation is being served at this moment.",
    causes=("The same signed payment was sent twice at the same time.",),
    fixes=("Wait for the first answer.", "Sign a new payment for a second call."),
    detail="This payment is being used by another request.",
    retry=True,
    extra={"retryAfter": 1},
)
PAYLOAD_TOO_LARGE = Kind(
    code="PAYLOAD_TOO_LARGE",
    name="payload-too-large",
    status=413,
    title="Payload Too Large",
    when="The request body is larger than the server takes.",
    causes=("A list in the body is very long.", "A file was sent where a URL was expected."),
    fixes=("Split the request into several.", "Operators may raise GOSSAMER_MAX_REQUEST_BYTES."),
    detail="The request body is larger than 1,000,000 bytes",
)
UNSUPPORTED_MEDIA_TYPE = Kind(
    code="UNSUPPORTED_MEDIA_TYPE",
    name="unsupported-media-type",
    status=415,
    title="Unsupported Media Type",
    when="The request body is not declared as JSON.",
    causes=("The Content-Type header is missing.", "A form or plain text was sent."),
    fixes=("Send `Content-Type: application/json` and a JSON body, uncompressed and in UTF-8.",),
    detail="Content-Type is 'text/plain'; send application/json",
)
UNPROCESSABLE_ENTITY = Kind(
    code="UNPROCESSABLE_ENTITY",
    name="unprocessable-entity",
    status=422,
    title="Unprocessable Entity",
    when="The body is valid JSON of the right shape, but what it asks for makes no sense.",
    causes=("Two fields contradict each other.", "A value is well formed but means nothing here."),
    fixes=("Read `detail`: it says what does not fit together.",),
    detail="'nobody@' is not an email address",
)
CAPTURE_TOO_LARGE = Kind(
    code="CAPTURE_TOO_LARGE",
    name="capture-too-large",
    status=422,
    title="Capture Too Large",
    when="A picture of what was asked for would be larger than pictures can be: 16,384 pixels either way, "
    "42 million in all. Nothing is silently cut. `details` has its size and the `limit`, in pixels of the "
    "page.",
    causes=(
        "`too_tall`: the page, or the element, is taller than a picture can be; some pages have no end.",
        "`too_wide`: it is wider than that.",
        "`too_many_pixels`: the viewport times `deviceScaleFactor` is too much.",
    ),
    fixes=(
        "Give `maxHeight` to have the picture cut there; the answer then says `truncated`.",
        "Capture one element with `selector`.",
        "Lower `deviceScaleFactor`.",
    ),
    detail="What is to be captured is 90,000 pixels tall; at most 16,384 can be",
    extra={"details": {"reason": "too_tall", "width": 1280, "height": 90_000, "limit": 16_384}},
)
RATE_LIMITED = Kind(
    code="RATE_LIMITED",
    name="rate-limit-exceeded",
    status=429,
    title="Rate Limit Exceeded",
    when="More requests arrived within the policy's window than it allows. Windows slide: every request "
    "counts for exactly the length of the window and then no more.",
    causes=(
        "A loop without pauses.",
        "Requests without an API key share the low limit of their network address.",
        "Several programs use one key.",
        "`repeated_failures`: many requests in a row have failed, and each failure makes the pause longer.",
        "`too_many_streams`: the key has as many streams of events open as it may.",
    ),
    fixes=(
        "Wait for the number of seconds in `Retry-After`, then go on.",
        "Watch `X-RateLimit-Remaining` and slow down before it reaches 0.",
        "Send an API key, or ask for a higher tier.",
    ),
    detail="60 requests per hour are allowed without an API key",
    retry=True,
    extra={"retryAfter": 1740, "limit": 60, "used": 60, "resetAt": "2026-01-01T12:29:00Z"},
)
HEADERS_TOO_LARGE = Kind(
    code="HEADERS_TOO_LARGE",
    name="headers-too-large",
    status=431,
    title="Request Header Fields Too Large",
    when="The request line or the headers are larger, or more, than the server takes.",
    causes=("A cookie or token has grown very large.", "The URL's query string is very long."),
    fixes=("Keep the URL under 8 KiB and all headers together under 64 KiB and 100 fields.",),
    detail="The request has more than 100 header fields",
)
INTERNAL_ERROR = Kind(
    code="INTERNAL_ERROR",
    name="internal-error",
    status=500,
    title="Internal Error",
    when="Something went wrong inside Gossamer. It has been logged under the request id.",
    causes=("A defect.",),
    fixes=(
        "Try again; if it stays, give the operator the `requestId`.",
        "Operators find the cause in the log under that id.",
    ),
    detail="The request could not be completed because of an internal error",
    retry=True,
)
CACHE_ERROR = Kind(
    code="CACHE_ERROR",
    name="cache-error",
    status=500,
    title="Cache Error",
    when="A cache operation failed. It is logged, and the request is answered without the cache; callers "
    "see this problem only as a note inside another answer.",
    causes=("The cache's store was away for a moment.",),
    fixes=("Nothing needs to be done; operators look at /health.",),
    detail="The page could not be written to the cache",
    retry=True,
)
FETCH_TIMEOUT = Kind(
    code="FETCH_TIMEOUT",
    name="fetch-timeout",
    status=502,
    title="Fetch Timeout",
    when="The target did not answer within the time allowed.",
    causes=("The site is slow or overloaded.", "The site silently drops requests from this network."),
    fixes=("Raise `timeout`.", "Try again later."),
    detail="The target did not respond within 10000 ms",
    retry=True,
    extra={"retryAfter": 5},
)
FETCH_FAILED = Kind(
    code="FETCH_FAILED",
    name="fetch-failed",
    status=502,
    title="Fetch Failed",
    when="No answer could be had from the target: the name does not resolve, the connection was refused or "
    "broken, the certificate is not valid, or what came back is not HTTP.",
    causes=(
        "The address is wrong.",
        "The site is down.",
        "Its TLS certificate is expired or for another host.",
    ),
    fixes=("Open the address in a browser.", "Read `details.reason`."),
    detail="Connection refused",
    retry=True,
)
RENDER_FAILED = Kind(
    code="RENDER_FAILED",
    name="render-failed",
    status=502,
    title="Render Failed",
    when="No browser could show the page that was asked for; `details.reason` says why.",
    causes=(
        "`page_error`: the page answered with 400 or above, or is a wall, a sign-in, a shell or a file.",
        "`page_error`: the page crashed its tab, took too much memory or has too many bytes.",
        "`network_error`: the name does not resolve, nothing answers, or the certificate is not valid.",
        "`render_timeout`: the page was not done in time, or nothing matched `waitForSelector`.",
        "`worker_error`: the browser failed, or none was free.",
        "`canceled`: somebody has canceled the render.",
    ),
    fixes=(
        "`page_error`: open the address in a private window of a browser; what that shows must be right.",
        "When the page is mended, clear it or send `maxAge` 0: a failure is believed for some minutes.",
        "`network_error`: check the address, and that the site can be reached publicly.",
        "`render_timeout`: raise `timeout`, or name in `waitForSelector` what shows that the page is ready.",
        "`worker_error`, `canceled`: ask again; if it stays, tell the operator `details.jobId`.",
        "Try without rendering, where the page needs no scripts.",
    ),
    detail="The page answered with status 404.",
    retry=True,
    extra={"details": {"reason": "page_error"}},
)
CONTENT_TOO_LARGE = Kind(
    code="CONTENT_TOO_LARGE",
    name="content-too-large",
    status=502,
    title="Content Too Large",
    when="The target sent more than 10 MB, before or after decompression, or a picture or PDF of it has "
    "more. Nothing is silently cut.",
    causes=(
        "The address is that of a download, not a page.",
        "The answer is a decompression bomb.",
        "The picture is large and full of photographs.",
        "`answer_too_large`: a large page was asked for in many formats.",
    ),
    fixes=("Give the address of a page.", "Ask for a picture as jpeg or webp, or of less of the page."),
    detail="The target sent more than 10 MB",
)
CONTENT_UNREADABLE = Kind(
    code="CONTENT_UNREADABLE",
    name="content-unreadable",
    status=502,
    title="Content Unreadable",
    when="The target answered, but with something that has no text to read; `details.reason` says why.",
    causes=(
        "`unsupported_content`: an image, a video, an archive or another format without text.",
        "`encrypted_content`: a PDF that needs a password.",
        "`unreadable_content`: the file is damaged, or too much work to read.",
    ),
    fixes=("Give the address of a page, a feed, a PDF or a text.", "Open the address in a browser."),
    detail="The target is an image (image/png), which has no text to read",
    extra={"details": {"reason": "unsupported_content", "mediaType": "image/png"}},
)
SERVICE_UNAVAILABLE = Kind(
    code="SERVICE_UNAVAILABLE",
    name="service-unavailable",
    status=503,
    title="Service Unavailable",
    when="Something that Gossamer stands on is away or overloaded, or the request took longer than its "
    "deadline. Nothing was lost, and nothing is charged that is not answered.",
    causes=("The database is restarting.", "All browsers are busy.", "The server is shutting down."),
    fixes=("Wait for the number of seconds in `Retry-After` and try again.", "Operators look at /health."),
    detail="The database is not answering right now (connection refused).",
    retry=True,
    extra={"retryAfter": 2},
)

KINDS: Final[Mapping[str, Kind]] = {
    kind.name: kind for kind in list(globals().values()) if isinstance(kind, Kind)
}
BY_STATUS: Final[Mapping[int, Kind]] = {
    400: VALIDATION_ERROR,
    401: UNAUTHORIZED,
    402: PAYMENT_REQUIRED,
    403: FORBIDDEN,
    404: NOT_FOUND,
    405: METHOD_NOT_ALLOWED,
    408: REQUEST_TIMEOUT,
    409: IDEMPOTENCY_KEY_CONFLICT,
    413: PAYLOAD_TOO_LARGE,
    415: UNSUPPORTED_MEDIA_TYPE,
    422: UNPROCESSABLE_ENTITY,
    429: RATE_LIMITED,
    431: HEADERS_TOO_LARGE,
    500: INTERNAL_ERROR,
    502: FETCH_FAILED,
    503: SERVICE_UNAVAILABLE,
}
