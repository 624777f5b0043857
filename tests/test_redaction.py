import json
import time
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from gossamer.observe.redaction import REDACTED, redact, redact_values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Assignments.
        ("api_key=hunter2", "api_key=[REDACTED]"),
        ("token: hunter2 and more", "token: [REDACTED] and more"),
        ("password=p@ss!w0rd;x user=5", "password=[REDACTED] user=5"),
        ("password='a b c', user=5", "password='[REDACTED]', user=5"),
        ('{"password": "p, \\"q\\" r", "user": "x"}', '{"password": "[REDACTED]", "user": "x"}'),
        ('{\\"secret\\": \\"a\\\\\\"b\\", \\"n\\": 1}', '{\\"secret\\": \\"[REDACTED]\\", \\"n\\": 1}'),
        ("password='it's', user=5", "password='[REDACTED]', user=5"),
        ("{token:abc,user:5}", "{token:[REDACTED],user:5}"),
        ("secret: password: hunter2", "secret: [REDACTED]"),
        ("token: Bearer abc", "token: [REDACTED]"),
        ("Settings(session_secret='abc', port=1)", "Settings(session_secret='[REDACTED]', port=1)"),
        ("psql --password hunter2 -h db", "psql --password [REDACTED] -h db"),
        ("['psql', '--password', 'hunter2']", "['psql', '--password', '[REDACTED]']"),
        (
            'key = """a\n"b"\nc""" password = """a\n"b"\nc""" x',
            'key = """a\n"b"\nc""" password = """[REDACTED]""" x',
        ),
        ('"tokens": ["a]b", "c"], "n": 1', '"tokens": [REDACTED], "n": 1'),
        (
            "password=12345678&password_confirmation=12345678&n=1",
            "password=[REDACTED]&password_confirmation=[REDACTED]&n=1",
        ),
        ("user[password]=abc&n=1", "user[password]=[REDACTED]&n=1"),
        # Names, however they are joined.
        *(
            (f"{name}=abc", f"{name}=[REDACTED]")
            for name in ("clientSecret", "db_password", "X-Api-Key", "APIKEY2")
        ),
        *(
            (f"{name}=abc", f"{name}=[REDACTED]")
            for name in ("PGPASSWORD", "aws_secret_access_key", "authToken")
        ),
        *(
            (f"{name}: abc", f"{name}: [REDACTED]")
            for name in ("password_confirmation", "smtp.pass", "PHPSESSID")
        ),
        # Headers.
        ("Authorization: Bearer abc.def", "Authorization: Bearer [REDACTED]"),
        ("authorization: Basic dXNlcjpwdw==\r\nHost: a", "authorization: Basic [REDACTED]\r\nHost: a"),
        ("Proxy-Authorization: Digest a=b, c=d\nHost: a", "Proxy-Authorization: Digest [REDACTED]\nHost: a"),
        ("Cookie: a=b; c=d e\nHost: a", "Cookie: [REDACTED]\nHost: a"),
        ("Set-Cookie: sid=abc; Path=/\nHost: a", "Set-Cookie: [REDACTED]\nHost: a"),
        ("X-PAYMENT: abc\nPAYMENT-SIGNATURE: def", "X-PAYMENT: [REDACTED]\nPAYMENT-SIGNATURE: [REDACTED]"),
        ("[(b'cookie', b'a=b; c'), (b'host', b'a')]", "[(b'cookie', b'[REDACTED]'), (b'host', b'a')]"),
        ("sent Bearer abcdefgh to it", "sent Bearer [REDACTED] to it"),
        # URLs.
        ("postgresql://ada:pw@db.example/x", "postgresql://[REDACTED]@db.example/x"),
        ("redis://:p@w/1?@db.example/0", "redis://[REDACTED]@db.example/0"),
        ("https://token-as-user@git.example/a@b", "https://[REDACTED]@git.example/a@b"),
        ("https://a/?u=ftp://b:c@d/", "https://a/?u=ftp://[REDACTED]@d/"),
        ("https://a/?token=b&page=2&api_key=c#d", "https://a/?token=[REDACTED]&page=2&api_key=[REDACTED]"),
        ("https://a/?X-Amz-Signature=b&X-Amz-Date=c", "https://a/?X-Amz-Signature=[REDACTED]&X-Amz-Date=c"),
        ("https://a/?key=b&n=1", "https://a/?key=[REDACTED]&n=1"),
        ("/go?to=https%3A%2F%2Fa%2F%3Ftoken%3Dabc", "/go?to=https%3A%2F%2Fa%2F%3Ftoken%3D[REDACTED]"),
        # Shapes.
        ("it is sk_live_0123456789abcdef, yes", "it is [REDACTED], yes"),
        ("sk_test_0123456789abcdef", "[REDACTED]"),
        ("sk-ant-api03-abc_def", "[REDACTED]"),
        ("(eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.)", "([REDACTED])"),
        ("x402 eyJ4NDAyVmVyc2lvbiI6MX0= end", "x402 [REDACTED] end"),
        ("a -----BEGIN EC PRIVATE KEY-----\nMII\n-----END EC PRIVATE KEY----- b", "a [REDACTED] b"),
        ("a -----BEGIN PRIVATE KEY-----\nMII cut off", "a [REDACTED]"),
    ],
)
def test_secrets_are_replaced(text: str, expected: str) -> None:
    assert redact(text) == expected
    assert redact(expected) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tokens: 812, max_tokens=4096, tokens={'input': 12, 'output': 30}",
        "token_budget=5 password_attempts=3 token_count=5 token_type: bearer, token_expires_at=2026-01-01",
        "author: Bob, secretary: Ann, monkey: George, authority=x",
        "cookie_banner: We value your privacy",
        "has_password=true, password: null, token=",
        "basic understanding of bearer tokens; Basic authentication failed",
        "the key sk_live_abc1234... is disabled",
        "KeyError: 'password'",
        "Idempotency-Key: order-17 public_key=abc cache key: render:v1:https://a/",
        "https://example.com:8080/@ada/status?page=2&sort=key mail ada@example.com",
        "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----",
    ],
)
def test_innocent_text_is_left_alone(text: str) -> None:
    assert redact(text) == text


def test_nested_values_keep_their_shape() -> None:
    value = {
        "password": "a",
        "pin_token": 1234,
        "tokens": 812,
        "tokenList": ["a", {"b": "c"}],
        "token": None,
        "secret": True,
        "apiKey": "",
        "author": "Bob",
        "cookie_banner": "Accept?",
        "usage": {"tokens": {"input": 12, "output": 30}},
        "auth": {"user": "ada", "n": 1},
        "note": "the password=abc was wrong",
        "headers": [("authorization", "Bearer a"), (b"cookie", b"a=b"), ("host", "a")],
        "har": [{"name": "X-Api-Key", "value": "a"}, {"name": "Accept", "value": "b"}],
        b"raw": b"token=abc",
        5: ("a", 1.5, {"x"}),
        "sk_live_0123456789abcdef": 1,
    }
    assert redact_values(value) == {
        "password": REDACTED,
        "pin_token": REDACTED,
        "tokens": 812,
        "tokenList": [REDACTED, {"b": REDACTED}],
        "token": None,
        "secret": True,
        "apiKey": "",
        "author": "Bob",
        "cookie_banner": "Accept?",
        "usage": {"tokens": {"input": 12, "output": 30}},
        "auth": {"user": REDACTED, "n": REDACTED},
        "note": "the password=[REDACTED] was wrong",
        "headers": [("authorization", REDACTED), (b"cookie", b"[REDACTED]"), ("host", "a")],
        "har": [{"name": "X-Api-Key", "value": REDACTED}, {"name": "Accept", "value": "b"}],
        b"raw": b"token=[REDACTED]",
        5: ("a", 1.5, {"x"}),
        REDACTED: 1,
    }
    assert redact_values("token=abc") == "token=[REDACTED]"
    assert redact_values(3) == 3


def test_bottomless_values_end() -> None:
    loop: dict[str, Any] = {}
    loop["inner"] = [loop]
    assert REDACTED in json.dumps(redact_values(loop))
    loop["secret"] = loop.pop("inner")
    assert REDACTED in json.dumps(redact_values(loop))


NAMES = st.one_of(
    st.sampled_from(["api_key", "apiKey", "API-KEY", "token", "access_token", "refreshToken", "private_key"]),
    st.sampled_from(["password", "db_password", "PASSWD", "passphrase", "secret", "client_secret", "auth"]),
    st.sampled_from(
        ["X-Api-Key", "x-auth-token", "signature", "credentials", "X-PAYMENT", "PAYMENT-SIGNATURE"]
    ),
    st.sampled_from(["authorization", "Proxy-Authorization", "cookie", "Set-Cookie"]),
)
HEADERS = st.one_of(
    st.sampled_from(["Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie"]),
    st.sampled_from(["X-Api-Key", "X-PAYMENT", "PAYMENT-SIGNATURE"]),
)
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=30)
ANYTHING = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=6, max_size=40)
VISIBLE = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=6, max_size=40)
UNDELIMITED = st.text(
    st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="\"'`&,;:=()[]{}<>\\"),
    min_size=6,
    max_size=40,
).filter(lambda text: not text.isdigit())
LETTERS = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=16, max_size=64)


def survives(secret: str, text: str) -> bool:
    """Whether the secret is still there, looked for where chance cannot have put it."""
    result = redact(text)
    assert redact(result) == result
    return secret in result.replace(REDACTED, "")


@given(NAMES, UNDELIMITED, TEXT, TEXT, st.sampled_from(["=", ": ", " = ", ":", "=>"]))
def test_property_no_assigned_secret_survives(
    name: str, secret: str, before: str, after: str, sign: str
) -> None:
    assume(
        secret not in f"{before} {name} {after}" and secret.lower() not in ("bearer", "digest", "negotiate")
    )
    assert not survives(secret, f"{before} {name}{sign}{secret} {after}")


@given(NAMES, ANYTHING, st.booleans(), st.sampled_from([None, 2]))
def test_property_no_secret_in_json_survives(
    name: str, secret: str, ascii_only: bool, indent: int | None
) -> None:
    assume(secret not in name)
    value = {"id": 7, name: secret, "more": [{name: secret}]}
    document = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert not survives(json.dumps(secret, ensure_ascii=ascii_only)[1:-1], document)
    assert not survives(secret, document)
    assert not survives(json.dumps(json.dumps(secret))[3:-3], json.dumps(document))


@given(NAMES, VISIBLE, TEXT)
def test_property_no_secret_in_a_repr_survives(name: str, secret: str, after: str) -> None:
    assume(secret not in f"ValueError {name} {after}")
    call = f"Thing({name.replace('-', '_')}={secret!r}, n=1)"
    for carried in (repr({name: secret}), repr([(name, secret)]), call):
        assert not survives(secret, f"ValueError: {carried} {after}")
        assert not survives(repr(secret)[1:-1], f"ValueError: {carried} {after}")


@given(HEADERS, VISIBLE, st.sampled_from(["", "Bearer ", "Basic ", "sid="]), st.sampled_from(["\n", "\r\n"]))
def test_property_no_header_survives(name: str, secret: str, scheme: str, end: str) -> None:
    for spelt in (name, name.lower(), name.upper()):
        assume(secret not in f"HTTP/1.1 {spelt}: {scheme}Accept: */*")
        text = f"GET / HTTP/1.1{end}Host: a{end}{spelt}: {scheme}{secret}{end}Accept: */*{end}"
        assert not survives(secret, text)
        assert redact(text).endswith(f"{end}Accept: */*{end}")


@given(
    st.sampled_from(["postgresql", "redis", "https", "s3", "mongodb+srv"]),
    st.sampled_from(["", "ada", "ada%40b"]),
    st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters='"<>'), min_size=6),
    TEXT,
)
@example("redis", "", "p@w/1?#x", "")
@example("redis", "", "//00/://", "")
def test_property_no_password_in_a_url_survives(scheme: str, user: str, password: str, after: str) -> None:
    encoded = quote(password, safe="")
    assume(encoded not in after and password not in after)
    assert not survives(encoded, f"cannot reach {scheme}://{user}:{encoded}@db.example:5432/x {after}")
    if not password[0].isdigit():  # `ada:12/…` is a host and its port
        assert not survives(password, f"cannot reach {scheme}://{user}:{password}@db.example:5432/x {after}")


@given(NAMES, ANYTHING, st.sampled_from(["", "&page=2", "#top", "&page=2 refused"]))
def test_property_no_query_parameter_survives(name: str, secret: str, after: str) -> None:
    assume(secret not in name)
    query = urlencode({"q": "cats", name: secret})
    text = f"GET https://api.example/v1/search?{query}{after}"
    assert not survives(query.rpartition("=")[2], text)
    assert redact(text).startswith(f"GET https://api.example/v1/search?q=cats&{name}={REDACTED}")


@given(
    st.sampled_from(["sk_live_", "sk_test_", "sk-ant-", "ghp_", "whsec_", "eyJhbGciOiJI.eyJ", "Bearer "]),
    LETTERS,
)
def test_property_no_key_survives_anywhere(prefix: str, rest: str) -> None:
    key = prefix + rest
    for text in (
        key,
        f"x={key} y",
        f"<{key}>",
        f"('{key}',)",
        f"https://a.example/{key}/b",
        f"no such key: {key}.",
    ):
        assert not survives(rest, text)


SHAPES = st.recursive(
    st.just("leaf"),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3),
        st.tuples(st.sampled_from(["a", "items", "response"]), inner).map(lambda pair: {pair[0]: pair[1]}),
    ),
    max_leaves=5,
)


def planted(shape: Any, carrier: Any) -> Any:
    if isinstance(shape, list):
        return [planted(item, carrier) for item in shape]
    if isinstance(shape, dict):
        return {key: planted(item, carrier) for key, item in shape.items()}
    return carrier


@given(SHAPES, NAMES, ANYTHING, st.integers(100_000, 10**12))
def test_property_no_secret_in_nested_values_survives(
    shape: Any, name: str, secret: str, number: int
) -> None:
    assume(secret not in f"{REDACTED} {name}")
    for carrier in ({name: secret}, {name: [secret]}, (name, secret), {"name": name, "value": secret}):
        result = redact_values(planted(shape, carrier))
        assert repr(secret) not in repr(result)
        assert redact_values(result) == result
    assert str(number) not in str(redact_values(planted(shape, {name: number})))


PIECES = "token|tokens|password|secret|key|true|1|a|=|:|://|@|/|.|#|?|&|;|,|`|>|--|%3D|[REDACTED]|\"|'|\\|[|]|{|}|(|)"
PHRASES = 'b\'|"""|Cookie|eyJ|sk_live_| |\n|Bearer |basic |-----BEGIN PRIVATE KEY'
TRICKY = st.lists(
    st.one_of(st.sampled_from((PIECES + "|" + PHRASES).split("|")), st.text(max_size=8)), max_size=25
).map("".join)


@given(TRICKY)
def test_property_twice_is_once(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


MEGABYTE = 1_000_000
HOSTILE = (
    'a|token|token=|token:|token: |tokens=1,|password=\'|password="\\"|secret=[|secret={|\'|"|\\|\\"|://'
    "|a://b:c|://a:b@|@|sk_live_|eyJ|eyJabcdefghij.|-----BEGIN PRIVATE KEY|Bearer |basic a|Cookie: "
    "|Cookie: a\n|--password |%3D|token=&|token=,a|token='a'b| |\t|=|token\t|a.b-c_|[REDACTED]"
    "|token=[REDACTED]|('token', '|[[|aA|key=|tokens={a:1,|=\"'"
)


@pytest.mark.parametrize("front", ["", "password: ", "tokens=", "x://u:", 'token="', "secret=["])
def test_hostile_text_takes_linear_time(front: str) -> None:
    size = MEGABYTE // 4 if front == "" else MEGABYTE // 20
    for unit in HOSTILE.split("|"):
        text = front + unit * (size // len(unit))
        started = time.process_time()
        redact(text)
        assert time.process_time() - started < 10 * size / MEGABYTE + 1, unit
