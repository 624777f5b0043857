"""The client of an OpenID Connect provider: the authorization code flow, with PKCE and a nonce.

Authlib speaks OAuth and joserfc checks the ID token. Both are an extra (`gossamer[oidc]`), imported when they
are needed. The operator chose the provider, so its address is not judged.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from msgspec import Struct

from gossamer.problems import Unavailable

SECONDS: Final = 10.0  # for each request
LEEWAY_SECONDS: Final = 60  # by which clocks may differ
SCOPE: Final = "openid email profile"
ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
_DISCOVERY: Final = "/.well-known/openid-configuration"


class OidcRefused(Exception):
    """The provider, or what it says, does not show who somebody is."""


class _Endpoints(msgspec.Struct):
    """The part of the discovery document that we use."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str


class OidcIdentity(Struct, frozen=True):
    """Who the provider says somebody is."""

    subject: str
    email: str
    is_verified: bool  # the provider does not doubt the email


@dataclass(slots=True)
class OidcProvider:
    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    redirect_url: str
    seconds: float = SECONDS
    _endpoints: _Endpoints | None = None

    async def address(self, *, state: str, nonce: str, verifier: str) -> str:
        """Where to send the browser."""
        endpoints = await self._discover()
        async with self._client() as client:
            url, _ = client.create_authorization_url(
                endpoints.authorization_endpoint, state=state, nonce=nonce, code_verifier=verifier
            )
        return str(url)

    async def identify(self, code: str, *, nonce: str, verifier: str) -> OidcIdentity:
        """Exchange the code that the browser brought for a checked identity."""
        from authlib.common.errors import AuthlibBaseError

        endpoints = await self._discover()
        try:
            async with asyncio.timeout(self.seconds * 2), self._client() as client:
                token = await client.fetch_token(endpoints.token_endpoint, code=code, code_verifier=verifier)
                keys = (await client.request("GET", endpoints.jwks_uri, withhold_token=True)).json()
        except AuthlibBaseError as error:
            raise OidcRefused(f"the provider refuses the code ({error.error})") from None
        except TimeoutError:
            raise Unavailable("sign-in provider", "it takes too long") from None
        except (OSError, ValueError, _http_error()) as error:
            raise Unavailable("sign-in provider", type(error).__name__) from None
        return _identity(self._check(str(token.get("id_token", "")), keys, nonce))

    def _check(self, id_token: str, keys: Mapping[str, Any], nonce: str) -> Mapping[str, Any]:
        from joserfc import jwt
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet

        registry = jwt.JWTClaimsRegistry(
            leeway=LEEWAY_SECONDS,
            iss={"essential": True, "value": self.issuer},
            aud={"essential": True, "value": self.client_id},
            exp={"essential": True},
            nonce={"essential": True, "value": nonce},
            sub={"essential": True},
        )
        try:
            token = jwt.decode(id_token, KeySet.import_key_set(dict(keys)), algorithms=list(ALGORITHMS))  # type: ignore[arg-type]
            registry.validate(token.claims)
        except (JoseError, ValueError, KeyError, TypeError) as error:
            raise OidcRefused(f"the ID token is not good ({type(error).__name__})") from None
        return token.claims

    async def _discover(self) -> _Endpoints:
        if self._endpoints is None:
            self._endpoints = await self._read_discovery()
        return self._endpoints

    async def _read_discovery(self) -> _Endpoints:
        try:
            async with asyncio.timeout(self.seconds), self._client() as client:
                answer = await client.request("GET", self.issuer + _DISCOVERY, withhold_token=True)
            found = msgspec.convert(answer.json(), _Endpoints)
        except TimeoutError:
            raise Unavailable("sign-in provider", "it takes too long") from None
        except (OSError, ValueError, _http_error()) as error:
            raise Unavailable("sign-in provider", type(error).__name__) from None
        if found.issuer.rstrip("/") != self.issuer:
            raise Unavailable("sign-in provider", "it names another issuer")
        self.issuer = found.issuer  # as its tokens spell it
        return found

    def _client(self) -> Any:
        from authlib.integrations.httpx_client import AsyncOAuth2Client

        return AsyncOAuth2Client(
            self.client_id,
            self.client_secret,
            scope=SCOPE,
            redirect_uri=self.redirect_url,
            code_challenge_method="S256",
            timeout=self.seconds,
        )


def _http_error() -> type[Exception]:
    """The error of the HTTP library that Authlib has chosen."""
    from authlib.integrations.httpx_client.oauth2_client import httpx2

    found: type[Exception] = httpx2.HTTPError
    return found


def _identity(claims: Mapping[str, Any]) -> OidcIdentity:
    email = claims.get("email")
    if not isinstance(email, str) or not email:
        raise OidcRefused("the provider names no email")
    return OidcIdentity(str(claims["sub"]), email, claims.get("email_verified") is not False)
