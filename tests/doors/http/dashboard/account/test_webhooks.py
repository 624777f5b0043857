"""The pages about webhooks."""

import re

from tests.doors.http.dashboard.signed_in import sign_in
from tests.doors.services import Visit


async def test_a_webhook_from_the_form_to_its_removal(visit: Visit) -> None:
    client = await sign_in(visit)
    refused = await client.post("/app/webhooks/new", data={"once": "a", "url": "http://127.0.0.1/"})
    assert refused.status_code == 400
    assert 'value="http://127.0.0.1/"' in refused.text
    form = {
        "once": "b",
        "url": "https://hooks.example/",
        "events": "crawl.*\njob.failed",
        "headers": "X-A: b",
    }
    made = await client.post("/app/webhooks/new", data=form)
    assert "whsec_" in made.text
    found = re.search(r"/app/webhooks/([0-9A-Z]{26})", made.text)
    assert found is not None
    here = found[0]
    shown = (await client.get(here)).text
    assert "crawl.*, job.failed" in shown
    assert "whsec_" not in shown
    assert (
        "whsec_" in (await client.post(f"{here}/rotate", data={"once": "c", "oldSecretSeconds": "60"})).text
    )
    assert (await client.post(f"{here}/disable", data={"once": "d"})).status_code == 303
    assert "This webhook is disabled" in (await client.get(here)).text
    assert (await client.post(f"{here}/delete", data={"once": "e"})).status_code == 303
    assert (await client.get(here)).status_code == 404
