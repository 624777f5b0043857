"""An agent that pays for what it reads, with a wallet and within a budget. It has no account and no key.

The server takes payments by x402: USDC on Base. The key of the wallet stays in this process; what is sent is
a signature for one payment. Put no more into the wallet than you want to spend.

    pip install 'gossamer[client]' 'x402[evm]'
    export GOSSAMER_SERVER=https://gossamer.example.com WALLET_KEY=0x…
    python paid_agent.py --budget 0.05 https://example.com/ https://www.python.org/
"""

import argparse
import asyncio
import os
import sys

from eth_account import Account
from x402 import x402Client
from x402.mechanisms.evm import EthAccountSigner
from x402.mechanisms.evm.exact import register_exact_evm_client

import gossamer

UNITS = 1_000_000  # of a dollar: USDC has six decimals


async def main(urls: list[str], budget: float) -> int:
    wallet = register_exact_evm_client(
        x402Client(), EthAccountSigner(Account.from_key(os.environ["WALLET_KEY"]))
    )
    spending = gossamer.Spending(max_per_call=UNITS // 50, max_in_total=round(budget * UNITS))
    failed = 0
    async with gossamer.connect(
        os.environ["GOSSAMER_SERVER"], payer=gossamer.X402Payer(wallet), spending=spending
    ) as web:
        for url in urls:
            before = spending.spent
            try:
                page = await web.fetch(url, cache=True)
            except gossamer.PaymentRequired as refusal:  # nothing was paid for this one
                print(f"{url}: {refusal}", file=sys.stderr)
                failed += 1
                break
            except gossamer.GossamerError as error:  # a page that cannot be had costs nothing
                print(f"{url}: {error}", file=sys.stderr)
                failed += 1
                continue
            paid, size = (spending.spent - before) / UNITS, len(page.content or "")
            print(f"${paid:.4f} {page.title} ({size} characters)")
    print(f"${spending.spent / UNITS:.4f} spent of ${budget:.4f}")
    return 1 if failed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("urls", nargs="+")
    parser.add_argument("--budget", type=float, default=0.05, help="dollars")
    given = parser.parse_args()
    sys.exit(asyncio.run(main(given.urls, given.budget)))
