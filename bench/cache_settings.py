"""How the servers of the cache bench are set: limits that are counted on every request and never reached."""

import secrets


def new_key() -> str:
    return "sk_live_" + secrets.token_hex(16)


def settings(key: str) -> dict[str, str]:
    return {
        "GOSSAMER_BOOTSTRAP_KEY": key,
        "GOSSAMER_LIMIT_ADMIN": "1000000000/1",
        "GOSSAMER_LIMIT_HITS_PRO": "1000000000/1",
        "GOSSAMER_LIMIT_CONTROL_PRO": "1000000000/1",
        "GOSSAMER_LIMIT_RENDERS_ENTERPRISE": "1000000000/86400",
        "GOSSAMER_EGRESS_ALLOW": "127.0.0.0/8",
        "GOSSAMER_EGRESS_PORTS": "*",
        "GOSSAMER_SERVE_WORKER": "yes",
    }
