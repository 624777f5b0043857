"""The x402 SDK's own middleware around a trivial answer, run by a Python that has it: PORT FACILITATOR."""

import sys
from typing import Any

import uvicorn
from fastapi import FastAPI  # type: ignore[import-not-found]
from x402 import x402ResourceServer
from x402.http import FacilitatorConfig, HTTPFacilitatorClient
from x402.http.middleware.fastapi import PaymentMiddlewareASGI
from x402.http.types import PaymentOption, RouteConfig
from x402.mechanisms.evm.exact import ExactEvmServerScheme

PAYEE = "0x" + "22" * 20


def build(facilitator: str) -> Any:
    server = x402ResourceServer([HTTPFacilitatorClient(FacilitatorConfig(url=facilitator))])
    scheme: Any = ExactEvmServerScheme
    server.register("eip155:84532", scheme())
    option = PaymentOption(scheme="exact", pay_to=PAYEE, price="$0.005", network="eip155:84532")
    app = FastAPI()
    app.add_middleware(
        PaymentMiddlewareASGI, routes={"POST /paid": RouteConfig(accepts=option)}, server=server
    )
    for path in ("/free", "/paid"):
        app.post(path)(_answer)
    app.get("/ready")(_answer)
    return app


async def _answer() -> dict[str, str]:
    return {"content": "what was paid for"}


if __name__ == "__main__":
    uvicorn.run(build(sys.argv[2]), port=int(sys.argv[1]), log_level="error")
