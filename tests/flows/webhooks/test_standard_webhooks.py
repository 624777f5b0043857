"""Receivers verify what we sign with the libraries of Standard Webhooks, in Python and in Node."""

import json
import subprocess
import time
from pathlib import Path

import pytest
from standardwebhooks import Webhook, WebhookVerificationError
from tests.npm import install_packages

from gossamer.flows.webhooks import signing
from gossamer.flows.webhooks.webhook_keys import new_secret

BODY = '{"type":"crawl.page","data":{"title":"Grüße, 世界"}}'


def test_both_secrets_of_a_rotation_verify_and_no_other() -> None:
    new, old = new_secret(), new_secret()
    headers = signing.headers([new, old], "01JGGR2Z3W8Q4T6V9X0Y1B2C3D", int(time.time()), BODY)
    for secret in (new, old):
        Webhook(secret).verify(BODY, headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(new_secret()).verify(BODY, headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(new).verify(BODY.replace("page", "oops"), headers)


def test_they_verify_in_node() -> None:
    programs = Path(__file__).parent / "programs"
    install_packages(programs)
    secrets = [new_secret(), new_secret()]
    headers = signing.headers(secrets, "01JGGR2Z3W8Q4T6V9X0Y1B2C3D", int(time.time()), BODY)
    given = json.dumps({"secrets": secrets, "headers": headers, "body": BODY})
    ran = subprocess.run(
        ["node", "verify.js"], cwd=programs, input=given, capture_output=True, text=True, timeout=60
    )
    assert (ran.stdout.strip(), ran.stderr) == ("verified 2", "")
