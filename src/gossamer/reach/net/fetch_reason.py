"""Why a target could not be fetched, as `details.reason` of a problem has it."""

from enum import StrEnum


class FetchReason(StrEnum):
    # The written address is refused.
    HOSTNAME_BLOCKED = "hostname_blocked"
    PORT_BLOCKED = "port_blocked"

    # No connection.
    DNS_NOT_FOUND = "dns_not_found"
    DNS_FAILED = "dns_failed"
    CONNECTION_REFUSED = "connection_refused"
    TLS_INVALID_CERTIFICATE = "tls_invalid_certificate"
    TLS_FAILED = "tls_failed"
    UNREACHABLE = "unreachable"

    # The connection broke.
    CONNECTION_CLOSED = "connection_closed"
    CONNECTION_RESET = "connection_reset"
    INCOMPLETE = "incomplete"

    # The answer is not acceptable.
    BAD_ENCODING = "bad_encoding"
    BAD_REDIRECT = "bad_redirect"
    HEADERS_TOO_LARGE = "headers_too_large"
    NOT_HTTP = "not_http"
    REDIRECT_LOOP = "redirect_loop"
    STACKED_ENCODING = "stacked_encoding"
    TOO_LARGE = "too_large"
    TOO_MANY_REDIRECTS = "too_many_redirects"
    UNEXPECTED_UPGRADE = "unexpected_upgrade"
    UNKNOWN_ENCODING = "unknown_encoding"

    # A deadline passed.
    DNS_TIMEOUT = "dns"
    CONNECT_TIMEOUT = "connect"
    TLS_TIMEOUT = "tls"
    FIRST_BYTE_TIMEOUT = "first_byte_timeout"
    TOO_SLOW = "too_slow"
    WHOLE_TIMEOUT = "whole_timeout"
    BUSY = "busy"
