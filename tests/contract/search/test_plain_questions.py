"""Questions as people ask them find the right page among the first three, on both databases."""

from typing import Final

from tests.contract.search.test_search_index import OURS, noted, page

from gossamer.state.db.database import Database
from gossamer.web.search.question import Question

HANDBOOK: Final = {
    "leave": ("Annual leave", "Employees apply for holidays in the portal. Unused days expire in March."),
    "sick": (
        "Sick notes",
        "Whoever falls ill calls before nine and sends a doctor's note within three days.",
    ),
    "travel": (
        "Business travel",
        "Trains are booked by the office. Receipts for hotels are refunded monthly.",
    ),
    "laptops": (
        "Laptops and phones",
        "Broken devices are replaced. Stolen laptops must be reported at once.",
    ),
    "passwords": ("Passwords", "Passwords are changed when they leak. Forgotten ones are reset by the desk."),
    "vpn": ("Remote access", "Connecting from home needs the VPN client and a second factor."),
    "printers": ("Printers", "Printing in colour costs more. Paper jams are cleared from the back."),
    "rooms": ("Meeting rooms", "Rooms are reserved in the calendar. Cancel bookings that you do not need."),
    "kitchen": ("Kitchen", "The dishwasher runs at six. Label your food; the fridge is emptied on Fridays."),
    "parking": ("Parking", "Bicycles are parked in the yard. Cars need a permit from the reception."),
    "salary": ("Pay day", "Salaries are paid on the 25th. Errors on payslips are corrected next month."),
    "training": ("Courses", "Everybody may attend two courses a year. Language lessons are free."),
    "fire": ("Fire alarm", "Leave the building by the stairs and gather at the gate. Never use the lifts."),
    "visitors": ("Visitors", "Guests sign in at the reception and are accompanied in the building."),
}
QUESTIONS: Final = {
    "how do I apply for a holiday": "leave",
    "when does unused leave expire": "leave",
    "what should I do if I am ill": "sick",
    "refunding hotel receipts": "travel",
    "my laptop was stolen": "laptops",
    "I have forgotten my pasword": "passwords",
    "connect to the office from home": "vpn",
    "clearing a paper jam in the printer": "printers",
    "can I cancel a room reservation": "rooms",
    "who empties the fridge": "kitchen",
    "where can I park my bicycle": "parking",
    "there is an error on my payslip": "salary",
    "are language courses free": "training",
    "may I use the lift when there is a fire": "fire",
    "do guests have to sign in": "visitors",
}


async def test_plain_questions_find_their_page_among_the_first_three(database: Database) -> None:
    index = await noted(database, [page(path, text, title) for path, (title, text) in HANDBOOK.items()])
    missed = []
    for asked, right in QUESTIONS.items():
        matches = (await index.search(OURS, Question.parse(asked, limit=3))).found
        if f"https://example.com/{right}" not in {match.url for match in matches}:
            missed.append((asked, [match.url for match in matches]))
    assert missed == []


async def test_a_page_that_says_it_in_related_words_is_found(database: Database) -> None:
    pages = [
        page("tree", "Removing a directory deletes its contents."),
        page("icons", "Folder icons come in many colours."),
        page("mail", "Remove contents from the outbox."),
    ]
    index = await noted(database, pages)
    (first, *_) = (await index.search(OURS, Question.parse("erase a folder and its contents"))).found
    assert first.url == "https://example.com/tree"
    assert first.missing == ("erase", "folder")
    assert "**directory**" in first.snippet
