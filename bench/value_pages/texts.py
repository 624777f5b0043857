"""Pages of text: questions, terms, people, contacts, recipes, facts beside labels in many languages."""

from typing import Any, Final

from bench.value_pages.case import DATE, MAIL, NUMBER, TEXT, WHOLE, ValueCase, listed

_FAQ: Final = (
    ("How long does delivery take?", "Two to four days within the country."),
    ("Can I return an item?", "Yes, within thirty days and unused."),
    ("Do you ship abroad?", "To all neighbouring countries, for a fee."),
)
_TRUE_FAQ: Final[dict[str, Any]] = {"faqs": [{"question": one, "answer": two} for one, two in _FAQ]}
_WANTED_FAQ: Final[dict[str, Any]] = {"faqs": listed(question=TEXT, answer=TEXT)}


def _faq(name: str, inner: str) -> ValueCase:
    return ValueCase(
        name,
        _WANTED_FAQ,
        _TRUE_FAQ,
        f"<head><title>Help</title></head><body><nav><a href='/'>Home</a></nav><main><h1>Questions</h1>{inner}</main></body>",
    )


TEXTS: Final = (
    _faq("faq-details", "".join(f"<details><summary>{q}</summary><p>{a}</p></details>" for q, a in _FAQ)),
    _faq("faq-headings", "".join(f"<h3>{q}</h3><p>{a}</p>" for q, a in _FAQ)),
    _faq("faq-dl", "<dl>" + "".join(f"<dt>{q}</dt><dd>{a}</dd>" for q, a in _FAQ) + "</dl>"),
    _faq(
        "faq-accordion",
        "<div class='acc'>"
        + "".join(
            f"<div class='acc-item'><button aria-controls='p{n}'>{q}</button><div id='p{n}' class='panel'>{a}</div></div>"
            for n, (q, a) in enumerate(_FAQ)
        )
        + "</div>",
    ),
    ValueCase(
        "glossary",
        {"terms": listed(term=TEXT, definition=TEXT)},
        {
            "terms": [
                {"term": "Abeam", "definition": "At a right angle to the keel."},
                {"term": "Bight", "definition": "A loop in a rope."},
                {"term": "Cleat", "definition": "A fitting to which a rope is made fast."},
            ]
        },
        """<head><title>Words of the sea</title></head><body><h1>Words of the sea</h1><dl><dt>Abeam</dt>
<dd>At a right angle to the keel.</dd><dt>Bight</dt><dd>A loop in a rope.</dd><dt>Cleat</dt>
<dd>A fitting to which a rope is made fast.</dd></dl></body>""",
    ),
    ValueCase(
        "team",
        {"people": listed(name=TEXT, role=TEXT, email=MAIL)},
        {
            "people": [
                {"name": "Ada Brandt", "role": "Founder", "email": "ada@loom.example"},
                {"name": "Luis Ferro", "role": "Head of design", "email": "luis@loom.example"},
                {"name": "Mei Tanaka", "role": "Engineer", "email": "mei@loom.example"},
            ]
        },
        """<head><title>Team</title></head><body><main><h1>Our team</h1><div class="t">
<figure><img src="a.jpg" alt=""><figcaption><strong>Ada Brandt</strong><span class="role">Founder</span>
<a href="mailto:ada@loom.example">Write</a></figcaption></figure>
<figure><img src="l.jpg" alt=""><figcaption><strong>Luis Ferro</strong><span class="role">Head of design</span>
<a href="mailto:luis@loom.example">Write</a></figcaption></figure>
<figure><img src="m.jpg" alt=""><figcaption><strong>Mei Tanaka</strong><span class="role">Engineer</span>
<a href="mailto:mei@loom.example">Write</a></figcaption></figure></div></main></body>""",
    ),
    ValueCase(
        "contact",
        {"name": TEXT, "phone": TEXT, "email": MAIL, "address": TEXT, "openingHours": TEXT},
        {
            "name": "Bramble Bikes",
            "phone": "+44 1632 960 118",
            "email": "hello@bramble.example",
            "address": "21 Foundry Road, Sheffield S3 8EN",
            "openingHours": "Mon–Fri 9:00–17:30",
        },
        """<head><title>Bramble Bikes: contact</title></head><body><header><a href="/">Bramble Bikes</a></header><main>
<h1>Bramble Bikes</h1><p>Come by or write, we like both.</p><address>21 Foundry Road, Sheffield S3 8EN</address>
<p><a href="tel:+441632960118">+44 1632 960 118</a></p><p><a href="mailto:hello@bramble.example">hello@bramble.example</a></p>
<h2>Opening hours</h2><p>Mon–Fri 9:00–17:30</p></main></body>""",
    ),
    ValueCase(
        "recipe",
        {
            "name": TEXT,
            "servings": WHOLE,
            "prepTime": TEXT,
            "ingredients": {"type": "array", "items": TEXT},
            "steps": {"type": "array", "items": TEXT},
        },
        {
            "name": "Lentil soup with lemon",
            "servings": 4,
            "prepTime": "15 minutes",
            "ingredients": ["250 g red lentils", "1 onion", "2 lemons", "1 l stock"],
            "steps": [
                "Fry the onion until it is soft.",
                "Add lentils and stock.",
                "Cook for twenty minutes, then add lemon.",
            ],
        },
        """<head><title>Lentil soup with lemon</title></head><body><article><h1>Lentil soup with lemon</h1>
<ul class="meta"><li>Serves: 4</li><li>Preparation time: 15 minutes</li></ul><h2>Ingredients</h2><ul>
<li>250 g red lentils</li><li>1 onion</li><li>2 lemons</li><li>1 l stock</li></ul><h2>Method</h2><ol>
<li>Fry the onion until it is soft.</li><li>Add lentils and stock.</li>
<li>Cook for twenty minutes, then add lemon.</li></ol></article></body>""",
    ),
    ValueCase(
        "package",
        {"name": TEXT, "version": TEXT, "license": TEXT, "language": TEXT, "author": TEXT, "released": DATE},
        {
            "name": "weft",
            "version": "2.4.1",
            "license": "MIT",
            "language": "Python",
            "author": "Rosa Quill",
            "released": "2026-01-19",
        },
        """<head><title>weft</title></head><body><main><h1>weft</h1><p>A small web framework that stays out of the way.</p>
<h2>Project details</h2><ul><li>Version: 2.4.1</li><li>License: MIT</li><li>Language: Python</li>
<li>Author: Rosa Quill</li><li>Released: Jan 19, 2026</li></ul></main></body>""",
    ),
    ValueCase(
        "film",
        {
            "title": TEXT,
            "director": TEXT,
            "runtime": TEXT,
            "country": TEXT,
            "rating": NUMBER,
            "cast": {"type": "array", "items": TEXT},
        },
        {
            "title": "The Glass Ferry",
            "director": "Ines Castel",
            "runtime": "104 min",
            "country": "Portugal",
            "rating": 7.8,
            "cast": ["Rui Leal", "Ana Prates", "Jon Holm"],
        },
        """<head><title>The Glass Ferry (2025)</title></head><body><main><h1>The Glass Ferry</h1>
<span class="score">7.8 / 10</span><p>Director: Ines Castel</p><p>Cast: Rui Leal, Ana Prates, Jon Holm</p>
<p>Running time: 104 min</p><p>Country: Portugal</p><p>A ferryman finds a letter that was meant for his father.</p>
</main></body>""",
    ),
    ValueCase(
        "company",
        {
            "name": TEXT,
            "founded": TEXT,
            "founder": TEXT,
            "employees": WHOLE,
            "headquarters": TEXT,
            "website": TEXT,
        },
        {
            "name": "Halyard Systems",
            "founded": "2009",
            "founder": "Pia Soren",
            "employees": 1240,
            "headquarters": "Aarhus, Denmark",
            "website": "halyard.example",
        },
        """<head><title>Halyard Systems - Pedia</title></head><body><main><h1>Halyard Systems</h1><table class="infobox">
<tr><th>Founded</th><td>2009</td></tr><tr><th>Founder</th><td>Pia Soren</td></tr>
<tr><th>Number of employees</th><td>1,240</td></tr><tr><th>Headquarters</th><td>Aarhus, Denmark</td></tr>
<tr><th>Website</th><td><a href="https://halyard.example/">halyard.example</a></td></tr></table>
<p>Halyard Systems makes software for ports and ferries.</p></main></body>""",
    ),
    ValueCase(
        "etkinlik",
        {"name": TEXT, "date": DATE, "location": TEXT, "price": TEXT, "organizer": TEXT},
        {
            "name": "Deniz Feneri Konseri",
            "date": "2026-08-21",
            "location": "Foça Limanı",
            "price": "250 TL",
            "organizer": "Foça Belediyesi",
        },
        """<head><title>Deniz Feneri Konseri</title></head><body><h1>Deniz Feneri Konseri</h1><ul><li>Tarih: 21.08.2026</li>
<li>Yer: Foça Limanı</li><li>Fiyat: 250 TL</li><li>Düzenleyen: Foça Belediyesi</li></ul>
<p>Yaz akşamında deniz kenarında müzik.</p></body>""",
        "tr",
    ),
    ValueCase(
        "anuncio",
        {"title": TEXT, "price": NUMBER, "location": TEXT, "phone": TEXT, "condition": TEXT},
        {
            "title": "Violão clássico",
            "price": 650,
            "location": "Recife",
            "phone": "(81) 95555-0142",
            "condition": "Usado",
        },
        """<head><title>Violão clássico</title></head><body><h1>Violão clássico</h1><dl><dt>Preço</dt><dd>R$ 650,00</dd>
<dt>Localização</dt><dd>Recife</dd><dt>Telefone</dt><dd>(81) 95555-0142</dd><dt>Estado</dt><dd>Usado</dd></dl>
<p>Violão em bom estado, com capa e cordas novas.</p></body>""",
        "pt",
    ),
    ValueCase(
        "shangpin",
        {"name": TEXT, "price": NUMBER, "brand": TEXT, "weight": TEXT, "color": TEXT},
        {"name": "紫砂茶壶", "price": 368, "brand": "宜兴阁", "weight": "320克", "color": "朱泥"},
        """<head><title>紫砂茶壶</title></head><body><h1>紫砂茶壶</h1><p>价格：¥368.00</p><p>品牌：宜兴阁</p><p>重量：320克</p>
<p>颜色：朱泥</p><p>手工制作，适合泡乌龙茶和普洱茶。</p></body>""",
        "zh",
    ),
    ValueCase(
        "sangpum",
        {"name": TEXT, "price": NUMBER, "brand": TEXT, "color": TEXT},
        {"name": "여행용 백팩 30L", "price": 89000, "brand": "산길", "color": "회색"},
        """<head><title>여행용 백팩 30L</title></head><body><h1>여행용 백팩 30L</h1><table><tr><th>가격</th><td>89,000원</td></tr>
<tr><th>브랜드</th><td>산길</td></tr><tr><th>색상</th><td>회색</td></tr></table><p>가볍고 튼튼한 여행용 가방입니다.</p></body>""",
        "ko",
    ),
    ValueCase(
        "produkt-sv",
        {"name": TEXT, "price": NUMBER, "brand": TEXT, "weight": TEXT, "color": TEXT},
        {"name": "Ullfilt Vinter", "price": 899, "brand": "Norrull", "weight": "1,4 kg", "color": "grå"},
        """<head><title>Ullfilt Vinter</title></head><body><h1>Ullfilt Vinter</h1><p>Pris: 899 kr</p><p>Varumärke: Norrull</p>
<p>Vikt: 1,4 kg</p><p>Färg: grå</p><p>En varm filt av svensk ull.</p></body>""",
        "sv",
    ),
    ValueCase(
        "maamar",
        {"name": TEXT, "price": NUMBER, "brand": TEXT, "color": TEXT},
        {"name": "مصباح يدوي", "price": 75, "brand": "النور", "color": "أسود"},
        """<head><title>مصباح يدوي</title></head><body><h1>مصباح يدوي</h1><p>السعر: 75 ريال</p><p>العلامة التجارية: النور</p>
<p>اللون: أسود</p><p>مصباح قوي يعمل بالبطارية لمدة عشر ساعات.</p></body>""",
        "ar",
    ),
    ValueCase(
        "vyrobek",
        {"name": TEXT, "price": NUMBER, "manufacturer": TEXT, "weight": TEXT, "color": TEXT},
        {
            "name": "Stolní lampa Jiskra",
            "price": 1490,
            "manufacturer": "Jiskra",
            "weight": "2,1 kg",
            "color": "černá",
        },
        """<head><title>Stolní lampa Jiskra</title></head><body><h1>Stolní lampa Jiskra</h1><p>Cena: 1 490 Kč</p>
<p>Výrobce: Jiskra</p><p>Hmotnost: 2,1 kg</p><p>Barva: černá</p><p>Lampa s nastavitelným ramenem.</p></body>""",
        "cs",
    ),
    ValueCase(
        "story",
        {
            "title": TEXT,
            "author": TEXT,
            "datePublished": DATE,
            "price": NUMBER,
            "phone": TEXT,
            "products": listed(name=TEXT, price=NUMBER),
        },
        {
            "title": "The last keeper",
            "author": "Ida Lund",
            "datePublished": "2026-02-08",
            "price": None,
            "phone": None,
            "products": None,
        },
        """<head><title>The last keeper - The Quay Courier</title></head><body><header><a href="/">The Quay Courier</a></header>
<article><h1>The last keeper</h1><p class="meta">By Ida Lund · 8 February 2026</p>
<p>When the lamp went out for good, old Marten stayed on the rock for another night. He had kept it since 1971.</p>
<p>“You learn to sleep in pieces,” he says. His pension is 1,900 euros a month, and the boat costs half of it.</p></article>
<aside><h2>More stories</h2><ul><li><a href="/1">Trees for the quay</a></li><li><a href="/2">Night trains</a></li></ul></aside></body>""",
    ),
)
