"""Pairs of pages, before and after: half of them really changed, the other half only looks different.

Each pair is a page and what was replaced in it. The pages for tuning and for judging are different ones, and
all pairs were written before the rules.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

PAGES: Final = Path(__file__).parent / "pages"
SEEN_AT: Final = 1_794_301_200.0  # 10 November 2026, 09:00 UTC
HOUR: Final = 3600.0

Half = Literal["tuning", "judged"]


@dataclass(frozen=True, slots=True)
class PagePair:
    half: Half
    page: str  # the name of its file
    name: str
    is_change: bool
    before: str  # HTML
    after: str
    hours: float  # between the two

    @property
    def times(self) -> tuple[float, float]:
        return SEEN_AT, SEEN_AT + self.hours * HOUR


@dataclass(frozen=True, slots=True)
class _Edit:
    name: str
    is_change: bool
    replaced: Mapping[str, str]
    hours: float = 24.0


def page_pairs(half: Half) -> Iterator[PagePair]:
    for page, edits in (TUNING if half == "tuning" else JUDGED).items():
        before = (PAGES / half / f"{page}.html").read_text()
        for edit in edits:
            after = before
            for old, new in edit.replaced.items():
                assert before.count(old) == 1, (page, edit.name, old)
                after = after.replace(old, new)
            yield PagePair(half, page, edit.name, edit.is_change, before, after, edit.hours)


def _real(name: str, replaced: Mapping[str, str], hours: float = 24.0) -> _Edit:
    return _Edit(name, is_change=True, replaced=replaced, hours=hours)


def _noise(name: str, replaced: Mapping[str, str], hours: float = 24.0) -> _Edit:
    return _Edit(name, is_change=False, replaced=replaced, hours=hours)


TUNING: Final[Mapping[str, tuple[_Edit, ...]]] = {
    "shop": (
        _real("price", {"£89.00": "£84.00", "14 people": "9 people"}),
        _real("out of stock", {"In stock: delivery in 2 to 3 working days": "Sold out"}),
        _noise(
            "counters, viewers, times and session",
            {
                "218 reviews": "221 reviews",
                "14 people are": "1 person is",
                "Mairi, 3 weeks": "Mairi, 4 weeks",
                "8f2c1e7a-90b1-4d0e-a3c4-6bd1f0a2c911": "0d94b7c3-1f1e-4a55-9c0e-2a77c1be0f42",
                'content="q8Zk2xT0"': 'content="Jw71pQ3d"',
            },
        ),
        _noise(
            "other recommendations, promotion and order of the colours",
            {
                "<li>Birch Day 18, £42.00</li>": "<li>Trekking poles, £35.00</li>",
                "Rain cover M, £14.50": "Bottle 1 l, £11.00",
                "Free delivery on orders over £60 until midnight": "Sign up and get 10% off your first order",
                "moss, slate, rust": "rust, moss, slate",
            },
        ),
    ),
    "news": (
        _real("a figure is corrected", {"cost 1.4 million pounds": "cost 2.1 million pounds"}),
        _real(
            "a paragraph is added",
            {
                "<p>A public meeting": "<p>Update: the police advise drivers to avoid the quay "
                "altogether.</p><p>A public meeting"
            },
            hours=3,
        ),
        _noise(
            "another day: date, age, views, likes, weather",
            {
                "Tuesday 10 November 2026": "Wednesday 11 November 2026",
                ">3 hours ago": ">Yesterday",
                "1,204 views · 38 comments": "9,871 views · 52 comments",
                "20 minutes ago, 12 likes": "1 day ago, 31 likes",
                "9 °C": "6 °C",
            },
        ),
        _noise(
            "another advertisement and other popular articles",
            {
                "Winter tyres fitted from £45 each. Book today at Dunmore Garage.": "Sofas half price. "
                "Only this week at Haddow Furniture.",
                "<li>Fire at the old cannery under control</li>": "<li>Lottery win for a nurse</li>",
                "Rovers lose again, 3–1": "Fire at the old cannery under control",
            },
            hours=2,
        ),
    ),
    "terms": (
        _real("one word in the terms", {"we refund the unused": "we keep the unused"}),
        _real(
            "a period and its date",
            {"warning of at least 14 days": "warning of at least 7 days", "4 March 2026": "1 November 2026"},
        ),
        _noise(
            "another build, copyright year and cookie notice",
            {
                "build 7c41d9e": "build 90aa3f1",
                "© 2026 Pebblebox": "© 2027 Pebblebox",
                "We use cookies to remember your settings.": "Pebblebox uses cookies.",
            },
        ),
        _noise(
            "markup, quotation marks and white space",
            {
                "<p>You keep all rights in the files that you store with us. We": "<p>You keep  all rights "
                "in the files that you store with us.\n   We",
                "<h2>5. Liability</h2><p>We are liable for damage that we cause by": "<h2>5.&nbsp;Liability"
                '</h2><p class="c-19xf">We are liable for damage <span>that we cause</span> by',
                "The law of Ireland applies. Disputes": "The law of Ireland applies.<br>Disputes",
            },
        ),
    ),
    "stellen": (
        _real(
            "a position is gone",
            {
                "<li><h3>Einkäuferin oder Einkäufer (m/w/d)</h3><p>Brno, Vollzeit, ab sofort</p></li>": "",
                "12.871": "12.930",
            },
        ),
        _real("a closing date", {"bis 15. Januar 2027": "bis 29. Januar 2027"}),
        _noise(
            "date of the page, counter and advertisement",
            {
                "Stand: 10.11.2026, 09:00 Uhr": "Stand: 11.11.2026, 09:02 Uhr",
                "wurde 12.871 Mal": "wurde 13.004 Mal",
                "Messe Kassel: Jetzt Karten für die Bautage sichern": "Küchen zum halben Preis bei Bergmann",
            },
        ),
        _noise(
            "the list in another order",
            {
                "<li><h3>Elektronikerin oder Elektroniker (m/w/d)</h3><p>Kassel, Vollzeit, ab sofort</p></li>": "",
                "<p>Brno, Vollzeit, ab sofort</p></li>": "<p>Brno, Vollzeit, ab sofort</p></li><li><h3>"
                "Elektronikerin oder Elektroniker (m/w/d)</h3><p>Kassel, Vollzeit, ab sofort</p></li>",
            },
        ),
    ),
    "releases": (
        _real(
            "a new release",
            {
                "<section><h2>tidewater 3.4.1": "<section><h2>tidewater 3.5.0</h2><p>mika-dev released this 2"
                " hours ago</p><h3>New</h3><ul><li>Forecasts for fourteen days.</li></ul></section>"
                "<section><h2>tidewater 3.4.1"
            },
        ),
        _real("another checksum", {"1f0e3dad99908345": "aa77bd0199017622"}),
        _noise(
            "stars, downloads, ages and request",
            {
                "Star 4.2k": "Star 4.3k",
                "Fork 311": "Fork 312",
                "6 days ago · 12 commits to main": "last week · 15 commits to main",
                "2,318 downloads": "2,702 downloads",
                "9,870 downloads": "9,911 downloads",
                "0x9f31c2aa77be · served in 41 ms": "0x02bb71c9d8ef · served in 37 ms",
            },
        ),
        _noise(
            "two fixes change places",
            {
                "<li>Charts no longer drop the last point of a series.</li><li>Exports keep the time zone of "
                "the station.</li>": "<li>Exports keep the time zone of the station.</li><li>Charts no longer "
                "drop the last point of a series.</li>",
                "last month": "2 months ago",
            },
        ),
    ),
    "forum": (
        _real(
            "a new answer",
            {
                "<p>Connectez-vous": '<article><p class="auteur">Noé, il y a 10 minutes</p><p>Chez moi, une '
                "farine moins complète a suffi.</p></article><p>Connectez-vous",
                "3 réponses": "4 réponses",
            },
            hours=5,
        ),
        _real("an answer is edited", {"garde-le à 22 degrés": "garde-le à 18 degrés"}, hours=5),
        _noise(
            "ages, views and members",
            {
                "ouvert il y a 4 jours · 1 532 vues": "ouvert il y a 5 jours · 1 610 vues",
                "Camille, il y a 4 jours": "Camille, il y a 5 jours",
                "Inès, il y a 2 heures": "Inès, hier",
                "312 membres": "287 membres",
                "0,084 s": "0,112 s",
            },
        ),
        _noise(
            "other similar topics",
            {
                "<li>Levain qui ne monte plus</li>": "<li>Mon pain colle au banneton</li>",
                "Conserver son levain en vacances": "Four à sole ou cocotte ?",
            },
        ),
    ),
    "agenda": (
        _real("a performance moves", {"28 de noviembre de 2026, 19:00": "29 de noviembre de 2026, 19:00"}),
        _real("a price", {"Entradas desde 22 €": "Entradas desde 25 €", "88.213": "88.340"}),
        _noise(
            "today's date, countdown and visits",
            {
                "Hoy es martes, 10 de noviembre de 2026": "Hoy es miércoles, 11 de noviembre de 2026",
                "Faltan 11 días": "Faltan 10 días",
                "Visitas: 88.213": "Visitas: 88.507",
            },
        ),
        _noise(
            "another advertisement, and a class name",
            {
                "Hotel Ribera: duerme junto al teatro desde 59 €": "Cena y copa en La Noria por 25 €",
                'class="funciones"': 'class="funciones x7f3"',
            },
        ),
    ),
    "notice": (
        _real("a fee", {"<td>£38</td>": "<td>£39</td>"}),
        _real("opening hours", {"between 9:00 and 16:00": "between 10:00 and 15:00"}),
        _noise(
            "review date and opinions",
            {"12 May 2026": "9 November 2026", "71% of 243 people": "72% of 251 people"},
        ),
        _noise(
            "the list of documents in another order",
            {
                "<li>Proof of address, not older than three months</li>": "",
                "if you had one</li>": "if you had one</li><li>Proof of address, not older than three months"
                "</li>",
            },
        ),
    ),
}

JUDGED: Final[Mapping[str, tuple[_Edit, ...]]] = {
    "laden": (
        _real("price", {"1.249,00 €": "1.199,00 €", "1.083 Bewertungen": "1.085 Bewertungen"}),
        _real("a shorter guarantee", {"3 Jahre Garantie": "2 Jahre Garantie"}),
        _noise(
            "ratings, viewers and session",
            {
                "1.083 Bewertungen": "1.101 Bewertungen",
                "sehen sich 7 Personen": "sehen sich 12 Personen",
                "a81f0c22e9d74b16": "c07e12ab4411f9d0",
            },
        ),
        _noise(
            "what others bought, and the order of what comes with it",
            {
                "Mühle Basalt, 329,00 €": "Waage Kiesel, 59,00 €",
                "<li>Tamper aus Nussbaum</li><li>Bürste für die Brühgruppe</li>": "<li>Bürste für die "
                "Brühgruppe</li><li>Tamper aus Nussbaum</li>",
            },
        ),
    ),
    "presse": (
        _real("a number of places", {"salle de 300 places": "salle de 250 places"}, hours=6),
        _real(
            "a sentence is gone",
            {"<p>L'opposition critique un projet trop cher et demande un référendum.</p>": ""},
        ),
        _noise(
            "date, age and shares",
            {
                "mardi 10 novembre 2026, 09:04": "mercredi 11 novembre 2026, 09:06",
                "Publié il y a 5 heures": "Publié hier",
                "842 partages": "1 306 partages",
            },
        ),
        _noise(
            "advertisement and other articles",
            {
                "Vos fenêtres à prix d'usine, devis gratuit en 24 h": "Changez d'opérateur et gagnez trois mois",
                "<li>Un phoque dans l'avant-port</li>": "<li>Grève des bus : le point</li>",
                "Le tramway prolongé jusqu'à la gare": "Un phoque dans l'avant-port",
            },
        ),
    ),
    "privacy": (
        _real("one word", {"we do not share it with advertisers": "we may share it with advertisers"}),
        _real(
            "a new processor",
            {"<li>Billwise, invoices</li>": "<li>Billwise, invoices</li><li>Admetrica, statistics</li>"},
        ),
        _noise(
            "greeting, years and trace",
            {
                "Good morning! Our lines are open.": "Good evening! Our lines are closed.",
                "© 2019–2026": "© 2019–2027",
                "4bf92f3577b34da6a3ce929d0e0e4736": "91c0aa27de5f4c1bb6f7cd3a5e2f8801",
            },
            hours=11,
        ),
        _noise(
            "a time stamp without a new text, and typography",
            {
                "Last modified 2 February 2026 10:12.": "Last modified 9 November 2026 17:40.",
                "We need this data to treat you and": "We need this data to\u00a0treat you\u200b and",
            },
        ),
    ),
    "course": (
        _real("the deadline", {"31 January 2027": "15 February 2027"}),
        _real("a module is replaced", {"Remote sensing": "Acoustics"}),
        _noise(
            "countdown, page views and quotation",
            {
                "close in 82 days": "close in 81 days",
                "30,118": "30,240",
                "The sea, once it casts its spell, holds one in its net of wonder.": "How inappropriate to "
                "call this planet Earth when it is quite clearly Ocean.",
            },
        ),
        _noise(
            "other news, and modules in another order",
            {
                "<li>Robot glider crosses the Minch</li>": "<li>Stroma climbs in the league table</li>",
                "<li>Oceanography for data scientists</li><li>Statistical learning</li>": "<li>Statistical "
                "learning</li><li>Oceanography for data scientists</li>",
            },
        ),
    ),
    "affitti": (
        _real("a rent", {"€ 890 al mese": "€ 850 al mese"}),
        _real(
            "a flat is gone, another is there",
            {
                "Monolocale in centro": "Bilocale con balcone",
                "Via Fillungo 77 · 34 m² · 1 locale": "Via Elisa 30 · 52 m² · 2 locali",
            },
        ),
        _noise(
            "ages, users and sponsor",
            {
                "Inserito 3 giorni fa": "Inserito 4 giorni fa",
                "Inserito ieri": "Inserito 2 giorni fa",
                "Inserito 6 giorni fa": "Inserito una settimana fa",
                "Utenti collegati: 146": "Utenti collegati: 98",
                "Traslochi Rossi, preventivo in un'ora": "Tinteggiature Bini, sconto di novembre",
            },
        ),
        _noise(
            "the flats in another order",
            {
                "<li><h3>Bilocale con terrazza, San Frediano</h3><p>Via dei Borghi 12 · 58 m² · 2 locali</p><p>€ "
                "720 al mese</p><p>Inserito 3 giorni fa</p></li>": "",
                "<p>Inserito 1 mese fa</p></li>": "<p>Inserito 1 mese fa</p></li><li><h3>Bilocale con terrazza, "
                "San Frediano</h3><p>Via dei Borghi 12 · 58 m² · 2 locali</p><p>€ 720 al mese</p><p>Inserito 4 "
                "giorni fa</p></li>",
            },
        ),
    ),
    "recipe": (
        _real("an amount", {"150 g pearl barley": "180 g pearl barley"}),
        _real("a step is added", {"<li>Season, and": "<li>Take out the bay leaf.</li><li>Season, and"}),
        _noise(
            "likes, ages and advertisement",
            {
                "412 likes": "431 likes",
                "Ruth, 5 days ago": "Ruth, 6 days ago",
                "Jonas, 1 day ago": "Jonas, 2 days ago",
                "enamel pots, now 20% off": "cast iron, made to last",
            },
        ),
        _noise(
            "other posts, and text in other elements",
            {
                "<li>Rye crackers</li><li>Beetroot pickle</li>": "<li>Apple butter</li><li>Rye crackers</li>",
                "<p>Spelt works as well as barley and needs ten minutes less. The soup": "<p>Spelt works as well "
                "as barley and needs ten minutes less.</p><p>The soup",
            },
        ),
    ),
    "hontana": (
        _real("price", {"8,800円": "9,350円"}),
        _real("postage", {"全国一律で660円": "全国一律で770円"}),
        _noise(
            "views and viewers",
            {
                "閲覧数:2,451回": "閲覧数:2,498回",
                "ただいま6人が": "ただいま2人が",
                "佐藤様、3日前": "佐藤様、4日前",
            },
        ),
        _noise("other recommendations", {"湯呑 白磁 二個組 3,300円": "盆 欅 28cm 7,700円"}),
    ),
    "urzad": (
        _real("a collection moves", {"02.12.2026": "03.12.2026"}),
        _real("the charge", {"32 zł": "36 zł"}),
        _noise(
            "date and visits",
            {
                "Dziś jest wtorek, 10 listopada 2026": "Dziś jest środa, 11 listopada 2026",
                "40 215": "40 377",
            },
        ),
        _noise("time of the last update", {"09.11.2026 15:20": "10.11.2026 11:05"}),
    ),
}
