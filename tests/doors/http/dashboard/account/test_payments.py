"""The page about payments."""

import csv
import io

from msgspec.structs import replace
from tests.contract.pay.test_ledger import NEW, NOW
from tests.contract.pay.test_payment_totals import settled
from tests.doors.http.dashboard.account.forms import ESCAPED, HOSTILE
from tests.doors.http.dashboard.signed_in import sign_in
from tests.doors.services import Visit, Visiting

from gossamer.state.pay import ledger
from gossamer.state.pay.ledger import Proof


async def fill(visit: Visit) -> None:
    """A payment that is done, one that is owed and unproven, and one that was released."""
    database = visit.service.database
    await settled(database, NEW, Proof.CHAIN, delivered=True)
    await settled(database, replace(NEW, nonce="0x02", amount=300), Proof.NONE, delivered=False)
    other = replace(NEW, nonce="0x03", payer=HOSTILE, endpoint="/search", request_id=HOSTILE)
    async with database.write() as connection:
        entry = await ledger.reserve(connection, other, NOW)
        assert entry is not None
        await ledger.release(connection, entry, HOSTILE, NOW)


async def test_totals_and_receipts_are_shown(visit: Visit) -> None:
    admin = await sign_in(visit)
    await fill(visit)
    page = (await admin.get("/app/payments")).text
    totals = page.partition("Totals by endpoint")[2].partition("</table>")[0]
    assert [text in totals for text in ("$0.0053", "$0.005", "$0.0003", "base-sepolia")] == [True] * 4
    assert "0xabc" in page
    assert "confirmed by the chain" in page
    assert ">unproven<" in page
    assert ">owed<" in page
    assert ">delivered<" in page


async def test_hostile_texts_are_shown_as_text(visit: Visit) -> None:
    admin = await sign_in(visit)
    await fill(visit)
    page = (await admin.get("/app/payments")).text
    assert "<script>alert" not in page
    assert page.count(ESCAPED) == 3


async def test_filters_narrow_the_list_and_keep_their_values(visit: Visit) -> None:
    admin = await sign_in(visit)
    await fill(visit)
    owed = (await admin.get("/app/payments", params={"state": "owed", "payer": ""})).text
    assert owed.count("<td><time") == 1
    assert '<option value="owed" selected>' in owed
    none = (await admin.get("/app/payments", params={"payer": "0xnobody"})).text
    assert "No payment fits these filters." in none
    assert 'value="0xnobody"' in none
    assert (await admin.get("/app/payments", params={"state": "lost"})).status_code == 400


async def test_what_is_shown_can_be_exported(visit: Visit) -> None:
    admin = await sign_in(visit)
    await fill(visit)
    page = (await admin.get("/app/payments", params={"state": "settled"})).text
    assert 'href="/app/payments/export?state=settled"' in page
    exported = await admin.get("/app/payments/export", params={"state": "settled"})
    assert exported.headers["content-type"].startswith("text/csv")
    assert 'filename="payments.csv"' in exported.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(exported.text)))
    assert [row["price"] for row in rows] == ["$0.0003", "$0.005"]


async def test_a_server_without_wallets_says_how_to_turn_payments_on(visit: Visit) -> None:
    page = (await (await sign_in(visit)).get("/app/payments")).text
    assert "Payments are off" in page
    assert "GOSSAMER_WALLET_SVM" in page
    assert "Nothing was ever paid here." in page


async def test_a_server_with_wallets_waits_for_the_first_payment(visiting: Visiting) -> None:
    wallets = {
        "wallet_address": "0x" + "11" * 20,
        "wallet_svm": "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin",
    }
    async with visiting(**wallets) as visit:
        page = (await (await sign_in(visit)).get("/app/payments")).text
    assert "Payments are off" not in page
    assert "No payments yet" in page


async def test_payments_are_the_admins_business(visit: Visit) -> None:
    user = await sign_in(visit, "user")
    assert (await user.get("/app/payments")).status_code == 403
    assert (await user.get("/app/payments/export")).status_code == 403
