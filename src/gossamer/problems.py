"""The one table of all errors, and the exception that carries a row of it.

    Problem                     any error that a caller sees, as an RFC 9457 document
    └── Unavailable             a service we depend on is away (database, cache, …): 503 with Retry-After
        ├── Busy                the service works, but is overloaded: 503 with Retry-After
        ├── Damaged             its stored data is damaged: 503, until an operator repairs it
        └── NoBrowser           there is no Chromium to render with (`reach.launcher`)
    UnusableDatabase            no process may start on this database, and the operator is told why

Every error answer of every door is made from a `ProblemKind` in `KINDS`. A foreign error is translated into a
`Problem` once, where the foreign code is called. Any other exception that reaches the door is a defect: it is
logged with its traceback, and the caller gets `internal-error`.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from msgspec import Struct, field

MEDIA_TYPE: Final = "application/problem+json"


class ProblemKind(Struct, frozen=True):
    """One row of the table: the names of an error, and the text of its page."""

    code: str  # UPPER_SNAKE, in `code` and `error`
    name: str  # kebab-case, the last part of the type URI
    status: int
    title: str
    when: str  # one paragraph: when the error happens
    causes: tuple[str, ...]
    fixes: tuple[str, ...]
    detail: str  # the `detail` of the example on the page
    retry: bool = False  # the same request may succeed later
    extra: Mapping[str, Any] = field(default_factory=dict)  # further members of the example


class Problem(Exception):
    """An error with a row in the table, and the details of this occurrence."""

    label: str | None = None  # a short cause that the error of a job shows between code and detail

    def __init__(
        self,
        kind: ProblemKind,
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

    @property
    def details(self) -> Mapping[str, Any]:
        """The member `details`: facts about this occurrence for programs."""
        return self.members.get("details") or {}

    @property
    def reason(self) -> str | None:
        """`details.reason`, if there is one."""
        reason = self.details.get("reason")
        return None if reason is None else str(reason)

    @property
    def cause(self) -> str | None:
        """`details.cause`: the cause behind the reason, if it is known."""
        cause = self.details.get("cause")
        return None if cause is None else str(cause)

    @property
    def retry_after(self) -> float:
        """Seconds until the same request may succeed; 0 if unknown."""
        return float(self.members.get("retryAfter") or 0)

    def add_details(self, **more: Any) -> None:
        self.members["details"] = {**self.details, **more}

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
    """A service we depend on does not answer. Nothing was lost; the same request may succeed soon."""

    _state: ClassVar[str] = "not answering"

    def __init__(self, service: str, why: str, *, retry_after: int = 2, hint: str | None = None) -> None:
        super().__init__(
            self._row(),
            f"The {service} is {self._state} right now ({why}).",
            hint=hint or "Nothing was changed. Try again after the number of seconds in Retry-After.",
            headers={"Retry-After": str(retry_after)},
            retryAfter=retry_after,
            details={"service": service, "reason": why},
        )
        self.service = service

    @classmethod
    def _row(cls) -> "ProblemKind":
        return SERVICE_UNAVAILABLE


class Busy(Unavailable):
    """The load is too high. A later or cheaper request may succeed."""

    _state: ClassVar[str] = "busy"

    @classmethod
    def _row(cls) -> "ProblemKind":
        return SERVER_BUSY


class UnusableDatabase(Exception):
    """Nothing may start on this database; its text says why, and what to do."""


class Damaged(Unavailable):
    """A service cannot read its stored data. Waiting does not help; `remedy` does."""

    _state: ClassVar[str] = "not usable"

    def __init__(self, service: str, why: str, *, what: str, remedy: str) -> None:
        super().__init__(service, why, retry_after=60)
        self.hint = "Nothing was changed. The log tells the operator what is damaged and how to repair it."
        self.what = what
        self.remedy = remedy

    def __str__(self) -> str:
        """The text for the operator. Callers must not learn where data is stored."""
        return f"{self.what} is damaged ({self.reason}). {self.remedy}"


def forget_frames(error: BaseException) -> None:
    """Release the frames that an error holds, once it has been handled.

    The frames hold the data they worked on, and some hold the error. Without this, pages of megabytes would
    stay in memory until the garbage collector runs.
    """
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is not None and one.__traceback__ is not None:
            one.__traceback__ = None
            waiting += [one.__cause__, one.__context__]


def validation_error(detail: str, *, hint: str | None = None, **members: Any) -> Problem:
    return Problem(VALIDATION_ERROR, detail, hint=hint, **members)


VALIDATION_ERROR = ProblemKind(
    code="VALIDATION_ERROR",
    name="validation-error",
    status=400,
    title="Validation Error",
    when="The request is not valid: its body is not JSON, a field is missing or has the wrong type, or a "
    "query parameter or a header is malformed.",
    causes=(
        "The body is not valid JSON, or not a JSON object.",
        "A required field is missing, has the wrong type or is out of range.",
        "A field name is misspelt: unknown fields are refused, not ignored.",
        "A header that may appear once was sent twice, or a header value is not valid.",
    ),
    fixes=(
        "Read `detail`: it names the field and the expected value.",
        "Compare the body with the endpoint's example in the API documentation.",
        "Send `Content-Type: application/json` and UTF-8.",
    ),
    detail="Expected `str`, got `int` - at `$.email`",
    extra={"hint": "See the request body of this endpoint in /docs."},
)
INVALID_URL = ProblemKind(
    code="INVALID_URL",
    name="invalid-url",
    status=400,
    title="Invalid URL",
    when="The URL cannot be used: it does not parse, or it points to an address that Gossamer must not "
    "contact. `details.reason` names the rule that refused it.",
    causes=(
        "`invalid_url_format`: the text is not a URL.",
        "`invalid_protocol`: only http and https are allowed.",
        "`hostname_blocked`: the host is a private, loopback or otherwise reserved address, or a local name.",
        "`port_blocked`: the port is not allowed.",
        "`credentials_in_url`: the URL carries a user name or password.",
        "`url_too_long`: the URL has more than 2,048 characters.",
    ),
    fixes=(
        "Give the full public address, beginning with https:// or http://.",
        "Send credentials as headers, never inside the URL.",
        "If you run this server and want to reach your own network, allow it with GOSSAMER_EGRESS_ALLOW.",
    ),
    detail="Private and local addresses are not allowed",
    extra={"details": {"url": "http://localhost:3000/", "reason": "hostname_blocked"}},
)
INVALID_VIEWPORT = ProblemKind(
    code="INVALID_VIEWPORT",
    name="invalid-viewport",
    status=400,
    title="Invalid Viewport",
    when="The viewport is outside the sizes that a screenshot can have.",
    causes=("The width is not between 320 and 3840.", "The height is not between 240 and 2160."),
    fixes=("Choose a width of 320 to 3840 and a height of 240 to 2160 pixels.",),
    detail="viewport.width is 100; it must be between 320 and 3840",
)
INVALID_TTL = ProblemKind(
    code="INVALID_TTL",
    name="invalid-ttl",
    status=400,
    title="Invalid Cache TTL",
    when="The cache lifetime is not a whole number of seconds. (A number outside 60 to 86,400 is not an "
    "error: it is clamped to that range.)",
    causes=("`cacheTtl` is text, a fraction or null.",),
    fixes=("Send `cacheTtl` as a whole number of seconds, for example 3600.",),
    detail="cacheTtl must be a whole number of seconds",
)
INVALID_SELECTOR = ProblemKind(
    code="INVALID_SELECTOR",
    name="invalid-selector",
    status=400,
    title="Invalid Selector",
    when="A CSS selector in the request does not parse.",
    causes=("The selector has a syntax error.", "An XPath or jQuery expression was given instead of CSS."),
    fixes=("Try the selector with document.querySelector in a browser's console first.",),
    detail="'div[' is not a CSS selector",
)
UNAUTHORIZED = ProblemKind(
    code="UNAUTHORIZED",
    name="unauthorized",
    status=401,
    title="Unauthorized",
    when="The endpoint needs an API key, and the request has no valid one.",
    causes=(
        "There is no Authorization header.",
        "The key is misspelt, cut off or belongs to another server.",
        "The key was deleted or replaced by rotation.",
    ),
    fixes=(
        "Send `Authorization: Bearer sk_live_…`.",
        "Ask the operator for a key; operators create one with `gossamer keys create`.",
    ),
    detail="Invalid or missing API key",
    extra={"hint": "Provide an API key in the Authorization header: Bearer sk_live_..."},
)
PAYMENT_REQUIRED = ProblemKind(
    code="PAYMENT_REQUIRED",
    name="payment-required",
    status=402,
    title="Payment Required",
    when="Calls of this endpoint cost money, and the request has neither an API key nor a payment.",
    causes=("Neither PAYMENT-SIGNATURE nor X-PAYMENT was sent.",),
    fixes=(
        "Pay with an x402 client: the answer lists price, asset, network and recipient.",
        "Or send an API key.",
    ),
    detail="This request costs $0.005.",
    extra={"error": "PAYMENT-SIGNATURE or X-PAYMENT header is required"},
)
PAYMENT_FAILED = ProblemKind(
    code="PAYMENT_FAILED",
    name="payment-failed",
    status=402,
    title="Payment Failed",
    when="The payment was refused. This request was not charged; `details.reason` says why the payment was "
    "refused.",
    causes=(
        "The amount, asset, network, recipient or resource differs from the quote.",
        "The quote has expired.",
        "The authorisation was already used (`payment_already_used`) or has expired.",
        "The wallet does not have enough funds.",
    ),
    fixes=("The answer contains a new quote: sign that one.",),
    detail="The payment authorisation has already been used.",
    extra={
        "error": "The payment authorisation has already been used.",
        "details": {"reason": "payment_already_used"},
    },
)
FORBIDDEN = ProblemKind(
    code="FORBIDDEN",
    name="forbidden",
    status=403,
    title="Forbidden",
    when="The caller is known, but the endpoint needs a role that the caller does not have.",
    causes=("The key has the role user, and the endpoint is for admins.",),
    fixes=("Use an admin key, or ask an admin.",),
    detail="This endpoint needs the role 'admin'; the key has the role 'user'",
)
KEY_DISABLED = ProblemKind(
    code="KEY_DISABLED",
    name="key-disabled",
    status=403,
    title="API Key Disabled",
    when="The API key exists but is disabled, or it has expired.",
    causes=(
        "An admin disabled the key.",
        "The key was replaced by rotation.",
        "`expired`: the time that the key was created for is over.",
    ),
    fixes=("Use another key of the same tenant.", "Ask an admin for a new one."),
    detail="The API key sk_live_abc1234... is disabled",
)
NOT_FOUND = ProblemKind(
    code="NOT_FOUND",
    name="not-found",
    status=404,
    title="Not Found",
    when="This address does not exist, or the caller may not see it.",
    causes=("The path is misspelt.", "The id belongs to another tenant, or was deleted."),
    fixes=("Compare the path with the API documentation.", "List your items and use an id from there."),
    detail="There is nothing at /api/keyz",
)
ACTION_FAILED = ProblemKind(
    code="ACTION_FAILED",
    name="action-failed",
    status=422,
    title="Action Failed",
    when="One of the `actions` could not be taken on the page, so the visit ended. `details.action` is its "
    "number, counted from 0, `details.reason` says why, and `details.actions` has the reports of all steps "
    "so far.",
    causes=(
        "The selector matches nothing, or something that cannot be seen.",
        "An earlier step did not lead where it should.",
        "The script of the step throws an error, or its result is too large.",
    ),
    fixes=(
        "Wait for the element first, or give the step a longer `timeout`.",
        "Take a screenshot before the step to see the page.",
        "Mark a step that may fail as `optional`.",
    ),
    detail="The step 2 (click) failed: no element matches '#more'",
    extra={"details": {"action": 2, "type": "click", "reason": "element_not_found"}},
)
ELEMENT_NOT_FOUND = ProblemKind(
    code="ELEMENT_NOT_FOUND",
    name="element-not-found",
    status=404,
    title="Element Not Found",
    when="The page was opened, but the CSS selector matches nothing on it.",
    causes=("The selector belongs to another page.", "The element appears after the time limit."),
    fixes=("Check the selector in a browser.", "Wait for it with `waitForSelector`."),
    detail="No element matches '#main-content'",
)
METHOD_NOT_ALLOWED = ProblemKind(
    code="METHOD_NOT_ALLOWED",
    name="method-not-allowed",
    status=405,
    title="Method Not Allowed",
    when="The path does not support this HTTP method. The `Allow` header lists the methods that it supports.",
    causes=("A GET was sent to an endpoint that takes POST, or the reverse.",),
    fixes=("Use one of the methods in the `Allow` header.",),
    detail="/api/admin/keys does not take PUT; it takes GET, POST",
)
REQUEST_TIMEOUT = ProblemKind(
    code="REQUEST_TIMEOUT",
    name="request-timeout",
    status=408,
    title="Request Timeout",
    when="The request did not arrive in full within the time limit.",
    causes=("The connection is very slow or was interrupted.", "Content-Length is larger than the body."),
    fixes=("Send the request again.", "Check that Content-Length matches the body."),
    detail="The request did not arrive within 10 seconds",
    retry=True,
)
RENDER_EXCLUDED = ProblemKind(
    code="RENDER_EXCLUDED",
    name="render-excluded",
    status=409,
    title="Excluded From Rendering",
    when="The settings of your site say that this is not rendered.",
    causes=(
        "The path matches one of `excludedPaths` of a site that you have registered.",
        "The robot that asks is not among the `bots` of that site.",
    ),
    fixes=("Serve the page of your own server.", "Or change the settings of the site."),
    detail="The owner of https://example.com has excluded /cart from rendering.",
)
IDEMPOTENCY_KEY_CONFLICT = ProblemKind(
    code="IDEMPOTENCY_KEY_CONFLICT",
    name="idempotency-key-conflict",
    status=409,
    title="Idempotency Key Conflict",
    when="The Idempotency-Key was recently used with another request body.",
    causes=(
        "A key was reused for a different request.",
        "The retry builds a new body with a value that changes, such as a timestamp.",
    ),
    fixes=(
        "Use a new key for a new request, such as a UUID.",
        "Send exactly the same body on a retry.",
        "Or wait until the key expires, by default 60 seconds after its first use.",
    ),
    detail="Idempotency-Key 'order-17' was already used with a different request body",
    extra={"hint": "Use a new key, or wait until this one expires (60 s)."},
)
VERSION_CONFLICT = ProblemKind(
    code="VERSION_CONFLICT",
    name="version-conflict",
    status=409,
    title="Version Conflict",
    when="A write to memory was to happen only if the entry has a certain version, and it has another one. "
    "Nothing was written. `details.version` is the version that it has; 0 means that there is no such entry.",
    causes=(
        "Another writer was faster.",
        "`ifVersion` is 0, which is for new entries, and the entry is there.",
        "The entry has expired or was deleted.",
    ),
    fixes=(
        "Read the entry, apply your change to what it has now, and write again with its `version`.",
        "Leave `ifVersion` out to write in any case.",
    ),
    detail="research/plan has version 4, and 3 was expected.",
    extra={"details": {"namespace": "research", "key": "plan", "expected": 3, "version": 4}},
)
PRECONDITION_FAILED = ProblemKind(
    code="PRECONDITION_FAILED",
    name="precondition-failed",
    status=412,
    title="Precondition Failed",
    when="The request has an If-Match or If-None-Match header, and what is there does not fit it. Nothing "
    "was changed. `details.version` is the version that the entry has; 0 means that there is no such entry.",
    causes=("Another writer was faster.", "`If-None-Match: *` was sent, and the entry is there."),
    fixes=(
        "Get what is there, apply your change to it, and send its `ETag` as If-Match.",
        "Leave the header out to write in any case.",
    ),
    detail="research/plan has version 4, and 3 was expected.",
    extra={"details": {"namespace": "research", "key": "plan", "expected": 3, "version": 4}},
)
PAYMENT_IN_USE = ProblemKind(
    code="PAYMENT_IN_USE",
    name="payment-in-use",
    status=409,
    title="Payment In Use",
    when="Another request with the same payment authorisation is running, or an earlier payment of the same "
    "wallet for the same request is still being settled. This request was not charged.",
    causes=(
        "The same signed payment was sent twice at the same time.",
        "The request was sent again with a new payment before the first was resolved.",
    ),
    fixes=(
        "Wait for the first answer.",
        "Ask again after Retry-After.",
        "Sign a new payment for a second call.",
    ),
    detail="This payment is being used by another request.",
    retry=True,
    extra={"retryAfter": 1},
)
PAYLOAD_TOO_LARGE = ProblemKind(
    code="PAYLOAD_TOO_LARGE",
    name="payload-too-large",
    status=413,
    title="Payload Too Large",
    when="The request body is larger than the server accepts.",
    causes=("A list in the body is very long.", "A file was sent where a URL was expected."),
    fixes=("Split the request into several.", "Operators can raise GOSSAMER_MAX_REQUEST_BYTES."),
    detail="The request body is larger than 1,000,000 bytes",
)
URI_TOO_LONG = ProblemKind(
    code="URI_TOO_LONG",
    name="uri-too-long",
    status=414,
    title="URI Too Long",
    when="The requested address, including the query string, is longer than the server accepts.",
    causes=("The query string is very long.", "A redirect loop adds to the address each time."),
    fixes=("Keep the address under 8 KiB.", "Send long values in the body of a POST."),
    detail="The request's URL is longer than 8 KiB",
)
UNSUPPORTED_MEDIA_TYPE = ProblemKind(
    code="UNSUPPORTED_MEDIA_TYPE",
    name="unsupported-media-type",
    status=415,
    title="Unsupported Media Type",
    when="The request body is not declared as JSON.",
    causes=("The Content-Type header is missing.", "A form or plain text was sent."),
    fixes=("Send `Content-Type: application/json` and a JSON body, uncompressed and in UTF-8.",),
    detail="Content-Type is 'text/plain'; send application/json",
)
UNPROCESSABLE_ENTITY = ProblemKind(
    code="UNPROCESSABLE_ENTITY",
    name="unprocessable-entity",
    status=422,
    title="Unprocessable Entity",
    when="The body is valid JSON of the right shape, but its values make no sense.",
    causes=("Two fields contradict each other.", "A value is well formed but has no meaning here."),
    fixes=("Read `detail`: it names the values that do not fit.",),
    detail="'nobody@' is not an email address",
)
CAPTURE_TOO_LARGE = ProblemKind(
    code="CAPTURE_TOO_LARGE",
    name="capture-too-large",
    status=422,
    title="Capture Too Large",
    when="The picture would be larger than 16,384 pixels in one direction, or than 42 million pixels in all. "
    "Nothing is silently cut. `details` has its size and the `limit`, in pixels of the page.",
    causes=(
        "`too_tall`: the page or the element is too tall; some pages have no end.",
        "`too_wide`: the page or the element is too wide.",
        "`too_many_pixels`: the viewport times `deviceScaleFactor` is too large.",
    ),
    fixes=(
        "Set `maxHeight` to cut the picture there; the answer then says `truncated`.",
        "Capture one element with `selector`.",
        "Lower `deviceScaleFactor`.",
    ),
    detail="What is to be captured is 90,000 pixels tall; at most 16,384 can be",
    extra={"details": {"reason": "too_tall", "width": 1280, "height": 90_000, "limit": 16_384}},
)
RATE_LIMITED = ProblemKind(
    code="RATE_LIMITED",
    name="rate-limit-exceeded",
    status=429,
    title="Rate Limit Exceeded",
    when="There were more requests in the policy's window than it allows, or requests that failed many times "
    "in a row are paused; `details.policy` and `details.reason` say which. Windows slide: every request "
    "counts for exactly the length of the window.",
    causes=(
        "`limit_reached`: a loop without pauses, or several programs with one key.",
        "Requests without an API key share the low limit of their network address.",
        (
            "`malformed_request`, `refused_url`, `forbidden`, `refused_key`, `silent_target`: too many "
            "requests failed like this in a row. Only such requests are paused, longer with each failure."
        ),
        "`too_many_streams`: the key has reached its limit of open event streams.",
    ),
    fixes=(
        "Wait for the number of seconds in `Retry-After`, then continue.",
        "Watch `X-RateLimit-Remaining` and slow down before it is 0; `GET /api/usage` lists your limits.",
        "Let the cache answer if it can (`cache`, `maxAge`): it has its own, far higher limit.",
        "Send an API key, or ask for a higher tier (`upgradeUrl`, if present).",
        "If you run the server: `details.setting` names the setting of the limit.",
    ),
    detail="60 requests per hour are allowed without an API key",
    retry=True,
    extra={
        "retryAfter": 1740,
        "limit": 60,
        "used": 60,
        "resetAt": "2026-01-01T12:29:00Z",
        "details": {
            "policy": "anonymous-post",
            "reason": "limit_reached",
            "setting": "GOSSAMER_LIMIT_ANONYMOUS_POST",
        },
    },
)
QUOTA_EXCEEDED = ProblemKind(
    code="QUOTA_EXCEEDED",
    name="quota-exceeded",
    status=429,
    title="Quota Exceeded",
    when="Your tenant has as much of something as its tier allows: crawls, pages, bytes, jobs, batches or "
    "memory; `details.quota` says of what. Quotas bound what requests leave behind, while rate limits bound "
    "how many requests there are.",
    causes=(
        "`crawls`, `jobs`, `batches`: too many are open at the same time.",
        "`pages`: crawls have stored as many pages as they may in a day (UTC). They are paused, not lost.",
        "`bytes`: crawled and cached pages take as much room as they may.",
        "`crawl_pages`: the crawl asks for more pages than one crawl may store.",
        "`memory_entries`, `memory_bytes`: memory has as many entries, or as many bytes, as it may.",
    ),
    fixes=(
        "`crawls`, `jobs`, `batches`: wait for one to end, or stop one that you do not need.",
        "`pages`: wait until `resetAt`; crawls go on by themselves.",
        "`bytes`: delete crawls and cached pages that you do not need.",
        "`crawl_pages`: ask for fewer with `maxPages`.",
        "`memory_entries`, `memory_bytes`: delete entries, or give them a `ttl`.",
        "`GET /api/usage` lists your quotas. A higher tier allows more (`upgradeUrl`, if present).",
        "If you run the server: `details.setting` names the setting of the quota.",
    ),
    detail="20 crawls at a time are allowed in the tier 'pro'.",
    extra={
        "limit": 20,
        "used": 20,
        "details": {"quota": "crawls", "reason": "quota_reached", "setting": "GOSSAMER_QUOTA_CRAWLS"},
    },
)
HEADERS_TOO_LARGE = ProblemKind(
    code="HEADERS_TOO_LARGE",
    name="headers-too-large",
    status=431,
    title="Request Header Fields Too Large",
    when="The request has more or larger headers than the server accepts.",
    causes=("A cookie or token has grown very large.", "A proxy adds the same header again and again."),
    fixes=("Keep all headers together under 64 KiB and 100 fields.",),
    detail="The request has more than 100 header fields",
)
INTERNAL_ERROR = ProblemKind(
    code="INTERNAL_ERROR",
    name="internal-error",
    status=500,
    title="Internal Error",
    when="Something went wrong inside Gossamer. It has been logged under the request id.",
    causes=("A defect.",),
    fixes=(
        "Try again; if it persists, give the operator the `requestId`.",
        "Operators find the cause in the log under that id.",
    ),
    detail="The request could not be completed because of an internal error",
    retry=True,
)
CACHE_ERROR = ProblemKind(
    code="CACHE_ERROR",
    name="cache-error",
    status=500,
    title="Cache Error",
    when="A cache operation failed. The failure is logged, and the request is answered without the cache; "
    "callers see this problem only as a note inside another answer.",
    causes=("The cache's store was briefly unavailable.",),
    fixes=("No action is needed; operators can check /health.",),
    detail="The page could not be written to the cache",
    retry=True,
)
FETCH_TIMEOUT = ProblemKind(
    code="FETCH_TIMEOUT",
    name="fetch-timeout",
    status=502,
    title="Fetch Timeout",
    when="The target did not answer within the time limit.",
    causes=("The site is slow or overloaded.", "The site silently drops requests from this network."),
    fixes=("Raise `timeout`.", "Try again later."),
    detail="The target did not respond within 10000 ms",
    retry=True,
    extra={"retryAfter": 5},
)
FETCH_FAILED = ProblemKind(
    code="FETCH_FAILED",
    name="fetch-failed",
    status=502,
    title="Fetch Failed",
    when="The target gave no usable answer: the name does not resolve, the connection was refused or broken, "
    "the certificate is not valid, or the reply is not HTTP.",
    causes=(
        "The address is wrong.",
        "`dns_not_found`: the name does not exist, or resolves to an address that is not public.",
        "The site is down.",
        "Its TLS certificate is expired or for another host.",
    ),
    fixes=("Open the address in a browser.", "Read `details.reason`."),
    detail="Connection refused",
    retry=True,
)
RENDER_FAILED = ProblemKind(
    code="RENDER_FAILED",
    name="render-failed",
    status=502,
    title="Render Failed",
    when="No browser could render the page; `details.reason` says why.",
    causes=(
        "`page_error`: the page answered with 400 or above, or is a challenge, a sign-in, a shell or a file.",
        "`page_error`: the page crashed its tab, used too much memory or has too many bytes.",
        "`network_error`: the name does not resolve, nothing answers, or the certificate is not valid.",
        "`render_timeout`: the page was not done in time; `details.awaited` says what it waited for.",
        "`worker_error`: the browser failed, or none was free.",
        "`canceled`: the render was canceled.",
    ),
    fixes=(
        "`page_error`: open the address in a private browser window, and fix what it shows.",
        "When the page is fixed, clear it or send `maxAge` 0: failures are cached for some minutes.",
        "`network_error`: check the address, and that the site is publicly reachable.",
        "`render_timeout`: raise `timeout`, or name an element of the finished page in `waitForSelector`.",
        "`worker_error`, `canceled`: try again; if it persists, give the operator `details.jobId`.",
        "Try without rendering, if the page needs no scripts.",
    ),
    detail="The page answered with status 404.",
    retry=True,
    extra={"details": {"reason": "page_error"}},
)
CONTENT_TOO_LARGE = ProblemKind(
    code="CONTENT_TOO_LARGE",
    name="content-too-large",
    status=502,
    title="Content Too Large",
    when="The target sent more than 10 MB, before or after decompression, or the picture or PDF of it is "
    "larger than that. Nothing is silently cut.",
    causes=(
        "The address is a download, not a page.",
        "The answer is a decompression bomb.",
        "The picture is large and full of photographs.",
        "`answer_too_large`: a large page was requested in many formats.",
    ),
    fixes=("Give the address of a page.", "Request a jpeg or webp picture, or a smaller part of the page."),
    detail="The target sent more than 10 MB",
)
CONTENT_UNREADABLE = ProblemKind(
    code="CONTENT_UNREADABLE",
    name="content-unreadable",
    status=502,
    title="Content Unreadable",
    when="The target's answer has no readable text; `details.reason` says why.",
    causes=(
        "`unsupported_content`: an image, a video, an archive or another format without text.",
        "`encrypted_content`: a PDF that needs a password.",
        "`unreadable_content`: the file is damaged, or takes too much time or memory to read.",
        "`damaged_content`: the stored copy of a crawled page is damaged; crawl it again.",
    ),
    fixes=("Give the address of a page, a feed, a PDF or a text.", "Open the address in a browser."),
    detail="The target is an image (image/png), which has no text to read",
    extra={"details": {"reason": "unsupported_content", "mediaType": "image/png"}},
)
SERVICE_UNAVAILABLE = ProblemKind(
    code="SERVICE_UNAVAILABLE",
    name="service-unavailable",
    status=503,
    title="Service Unavailable",
    when="A service that Gossamer depends on is away or overloaded, or the request took longer than its "
    "deadline. Nothing was lost, and a request without an answer is not charged.",
    causes=(
        "The database is restarting.",
        "All browsers are busy, or the server has no Chromium.",
        "The server is shutting down.",
    ),
    fixes=("Wait for the number of seconds in `Retry-After` and try again.", "Operators can check /health."),
    detail="The database is not answering right now (connection refused).",
    retry=True,
    extra={"retryAfter": 2},
)
SERVER_BUSY = ProblemKind(
    code="SERVER_BUSY",
    name="server-busy",
    status=503,
    title="Server Busy",
    when="Everything works, but the load is too high, so the server refused this request early instead of "
    "letting it wait. Searches, long lists, statistics and exports have a few connections of their own and "
    "are refused first; other requests continue.",
    causes=(
        "Many searches, lists or exports run at the same time.",
        "A search or a list covers too much data and was ended.",
        "More requests are in progress than the server accepts (GOSSAMER_MAX_REQUESTS).",
    ),
    fixes=(
        "Wait for the number of seconds in `Retry-After` and try again; double the pause each time.",
        "Ask for less: rarer words, one `site`, a smaller `limit`.",
        "Operators can give the server more CPU time, or run another server beside it.",
    ),
    detail="The search is busy right now (too many are waiting already).",
    retry=True,
    extra={"retryAfter": 2, "details": {"service": "search", "reason": "too many are waiting already"}},
)

KINDS: Final[Mapping[str, ProblemKind]] = {
    kind.name: kind for kind in list(globals().values()) if isinstance(kind, ProblemKind)
}
BY_STATUS: Final[Mapping[int, ProblemKind]] = {
    400: VALIDATION_ERROR,
    401: UNAUTHORIZED,
    402: PAYMENT_REQUIRED,
    403: FORBIDDEN,
    404: NOT_FOUND,
    405: METHOD_NOT_ALLOWED,
    408: REQUEST_TIMEOUT,
    409: IDEMPOTENCY_KEY_CONFLICT,
    413: PAYLOAD_TOO_LARGE,
    414: URI_TOO_LONG,
    415: UNSUPPORTED_MEDIA_TYPE,
    422: UNPROCESSABLE_ENTITY,
    429: RATE_LIMITED,
    431: HEADERS_TOO_LARGE,
    500: INTERNAL_ERROR,
    502: FETCH_FAILED,
    503: SERVICE_UNAVAILABLE,
}
