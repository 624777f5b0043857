"""Pages about one product, as shops in several countries write them."""

from typing import Final

from bench.value_pages.case import DATE, FLAG, NUMBER, TEXT, WHOLE, ValueCase

PRODUCTS: Final = (
    ValueCase(
        "lantern",
        {
            "name": TEXT,
            "price": NUMBER,
            "originalPrice": NUMBER,
            "rating": NUMBER,
            "reviewCount": WHOLE,
            "sku": TEXT,
            "inStock": FLAG,
            "brand": TEXT,
        },
        {
            "name": "Harbor Lantern No. 3",
            "price": 49.99,
            "originalPrice": 64.5,
            "rating": 4.6,
            "reviewCount": 128,
            "sku": "HL-0003",
            "inStock": True,
            "brand": "Northlight",
        },
        """<head><title>Harbor Lantern No. 3 | Northlight Outdoor</title></head><body>
<header><a href="/">Northlight Outdoor</a><nav><a href="/tents">Tents</a><a href="/light">Light</a></nav></header>
<main><div class="product-detail"><div class="gallery"><img src="/img/hl3.jpg" alt="Harbor Lantern"></div>
<div class="summary"><p class="product-brand">Northlight</p><h1 class="product-title">Harbor Lantern No. 3</h1>
<div class="stars" role="img" aria-label="4.6 out of 5 stars"></div><a href="#reviews">128 reviews</a>
<p class="price-box"><del class="price-old">$64.50</del> <span class="price">$49.99</span></p>
<p class="stock">In stock</p><p class="sku">SKU: HL-0003</p><button>Add to cart</button>
<p>A lantern for boats and balconies. It burns for forty hours and folds flat. Free shipping over $75.</p></div></div>
<section class="related"><h2>You may also like</h2><div class="row">
<div class="card"><a href="/p/1"><h3>Pocket Stove</h3></a><span class="price">$39.00</span></div>
<div class="card"><a href="/p/2"><h3>Rope Set</h3></a><span class="price">$12.00</span></div>
<div class="card"><a href="/p/3"><h3>Dry Bag</h3></a><span class="price">$24.00</span></div></div></section></main>
<footer>© Northlight 2026</footer></body>""",
    ),
    ValueCase(
        "werkbank",
        {
            "name": TEXT,
            "price": NUMBER,
            "currency": TEXT,
            "rating": NUMBER,
            "reviewCount": WHOLE,
            "articleNumber": TEXT,
            "manufacturer": TEXT,
            "weight": TEXT,
            "color": TEXT,
            "material": TEXT,
        },
        {
            "name": "Werkbank Holzmann 120",
            "price": 1299,
            "currency": "EUR",
            "rating": 4.6,
            "reviewCount": 87,
            "articleNumber": "4711-B",
            "manufacturer": "Holzmann",
            "weight": "62,5 kg",
            "color": "Buche natur",
            "material": "Massivholz",
        },
        """<head><title>Werkbank Holzmann 120 kaufen - Werkzeugwelt</title></head><body>
<div class="flex bg-white"><a href="/">Werkzeugwelt</a></div><div class="grid grid-cols-2 gap-8">
<div class="p-4"><img src="bank.jpg"></div><div class="p-4"><h1 class="text-2xl font-bold">Werkbank Holzmann 120</h1>
<div class="mt-2 text-sm">4,6 von 5 Sternen (87 Bewertungen)</div>
<div class="mt-4 text-3xl">1.299,00 €</div><div class="text-xs">inkl. MwSt., zzgl. Versand</div>
<ul class="mt-4"><li>Artikelnummer: 4711-B</li><li>Hersteller: Holzmann</li><li>Gewicht: 62,5 kg</li>
<li>Farbe: Buche natur</li><li>Material: Massivholz</li></ul>
<p class="mt-4">Die stabile Werkbank für jede Werkstatt. Sie trägt bis zu 500 Kilogramm und steht auch auf unebenem Boden.</p>
</div></div><div class="mt-8 text-xs">Alle Preise in Euro.</div></body>""",
        "de",
    ),
    ValueCase(
        "theiere",
        {"nom": TEXT, "price": NUMBER, "brand": TEXT, "sku": TEXT, "availability": TEXT, "material": TEXT},
        {
            "nom": "Théière en fonte Kumo",
            "price": 24.9,
            "brand": "Maison Kumo",
            "sku": "TH-218",
            "availability": "En stock",
            "material": "Fonte émaillée",
        },
        """<head><title>Théière en fonte Kumo – Maison Kumo</title></head><body><main>
<h1>Théière en fonte Kumo</h1><p>Prix : <strong>24,90 €</strong></p>
<table><tr><th>Marque</th><td>Maison Kumo</td></tr><tr><th>Référence</th><td>TH-218</td></tr>
<tr><th>Disponibilité</th><td>En stock</td></tr><tr><th>Matière</th><td>Fonte émaillée</td></tr></table>
<p>Une théière qui garde la chaleur pendant deux heures, avec un filtre en acier inoxydable.</p></main></body>""",
        "fr",
    ),
    ValueCase(
        "hocho",
        {"name": TEXT, "price": NUMBER, "maker": TEXT, "productCode": TEXT, "weight": TEXT, "length": TEXT},
        {
            "name": "三徳包丁 170mm",
            "price": 12800,
            "maker": "堺川刃物",
            "productCode": "SK-170",
            "weight": "180g",
            "length": "300mm",
        },
        """<head><title>三徳包丁 170mm｜道具の店</title></head><body><h1>三徳包丁 170mm</h1>
<p class="k">価格：¥12,800（税込）</p><dl><dt>メーカー</dt><dd>堺川刃物</dd><dt>商品番号</dt><dd>SK-170</dd>
<dt>重量</dt><dd>180g</dd><dt>長さ</dt><dd>300mm</dd></dl><p>家庭で毎日使える包丁です。よく切れて、研ぎやすい。</p></body>""",
        "ja",
    ),
    ValueCase(
        "mochila",
        {"title": TEXT, "price": NUMBER, "brand": TEXT, "weight": TEXT, "color": TEXT, "warranty": TEXT},
        {
            "title": "Mochila Andina 40 L",
            "price": 89.95,
            "brand": "Cóndor",
            "weight": "1,2 kg",
            "color": "Verde bosque",
            "warranty": None,
        },
        """<head><title>Mochila Andina 40 L - Cóndor</title></head><body><main><h1>Mochila Andina 40 L</h1>
<div class="precio">89,95 €</div><dl class="ficha"><dt>Marca</dt><dd>Cóndor</dd><dt>Peso</dt><dd>1,2 kg</dd>
<dt>Color</dt><dd>Verde bosque</dd></dl><p>Una mochila para tres días de montaña, con espalda ventilada.</p></main></body>""",
        "es",
    ),
    ValueCase(
        "tide-book",
        {
            "title": TEXT,
            "author": TEXT,
            "isbn": TEXT,
            "pages": WHOLE,
            "publisher": TEXT,
            "published": DATE,
            "price": NUMBER,
            "language": TEXT,
        },
        {
            "title": "A History of Tides",
            "author": "Ursula Hart",
            "isbn": "978-0-00-000000-2",
            "pages": 352,
            "publisher": "Quay Press",
            "published": "2024-03-14",
            "price": 18,
            "language": "Welsh",
        },
        """<head><title>A History of Tides by Ursula Hart</title></head><body><header>Quay Books</header><main>
<h1>A History of Tides</h1><p class="byline">by <a href="/authors/hart">Ursula Hart</a></p>
<p><b>£18.00</b> paperback</p><table class="details"><tr><td>ISBN</td><td>978-0-00-000000-2</td></tr>
<tr><td>Pages</td><td>352</td></tr><tr><td>Publisher</td><td>Quay Press</td></tr>
<tr><td>Publication date</td><td>14 March 2024</td></tr><tr><td>Language</td><td>Welsh</td></tr></table>
<p>For two thousand years people have asked why the sea leaves and comes back.</p></main></body>""",
    ),
    ValueCase(
        "rower",
        {"name": TEXT, "price": NUMBER, "brand": TEXT, "weight": TEXT, "color": TEXT, "year": WHOLE},
        {
            "name": "Rower miejski Wisła 28",
            "price": 2499,
            "brand": "Wisła",
            "weight": "14,8 kg",
            "color": "granatowy",
            "year": 2025,
        },
        """<head><title>Rower miejski Wisła 28 – sklep</title></head><body><h1>Rower miejski Wisła 28</h1>
<span class="a1">2 499,00 zł</span><table><tr><td>Marka</td><td>Wisła</td></tr><tr><td>Waga</td><td>14,8 kg</td></tr>
<tr><td>Kolor</td><td>granatowy</td></tr><tr><td>Rok</td><td>2025</td></tr></table>
<p>Wygodny rower na miasto, z bagażnikiem i oświetleniem.</p></body>""",
        "pl",
    ),
    ValueCase(
        "chainik",
        {"name": TEXT, "price": NUMBER, "brand": TEXT, "weight": TEXT, "color": TEXT, "country": TEXT},
        {
            "name": "Чайник эмалированный «Волга»",
            "price": 1850,
            "brand": "Волга",
            "weight": "1,1 кг",
            "color": "синий",
            "country": "Россия",
        },
        """<head><title>Чайник эмалированный «Волга» — купить</title></head><body><h1>Чайник эмалированный «Волга»</h1>
<div><span>1 850 ₽</span></div><ul><li>Бренд: Волга</li><li>Вес: 1,1 кг</li><li>Цвет: синий</li>
<li>Страна: Россия</li></ul><p>Чайник со свистком для любых плит, в том числе индукционных.</p></body>""",
        "ru",
    ),
    ValueCase(
        "lamp-nl",
        {
            "name": TEXT,
            "price": NUMBER,
            "brand": TEXT,
            "articleNumber": TEXT,
            "height": TEXT,
            "rating": NUMBER,
        },
        {
            "name": "Leeslamp Duin",
            "price": 79,
            "brand": "Zandlicht",
            "articleNumber": "88012",
            "height": "45 cm",
            "rating": 4.2,
        },
        """<head><title>Leeslamp Duin | Zandlicht</title></head><body><main><h1>Leeslamp Duin</h1>
<p class="prijs">€ 79,-</p><div class="score" title="4,2 / 5">★★★★☆</div><dl><dt>Merk:</dt><dd>Zandlicht</dd>
<dt>Artikelnummer:</dt><dd>88012</dd><dt>Hoogte:</dt><dd>45 cm</dd></dl>
<p>Een lamp voor bij de stoel, met een arm die blijft staan waar je hem zet.</p></main></body>""",
        "nl",
    ),
    ValueCase(
        "scarpe",
        {"name": TEXT, "price": NUMBER, "brand": TEXT, "color": TEXT, "material": TEXT, "sku": TEXT},
        {
            "name": "Scarponcino Dolomia",
            "price": 159.9,
            "brand": "Vetta",
            "color": "cuoio",
            "material": "pelle",
            "sku": "VD-77",
        },
        """<head><title>Scarponcino Dolomia - Vetta</title></head><body><h1>Scarponcino Dolomia</h1>
<p>Prezzo: 159,90 €</p><p>Marca: Vetta</p><p>Colore: cuoio</p><p>Materiale: pelle</p><p>Codice prodotto: VD-77</p>
<p>Per sentieri e rifugi, con suola che non scivola sul bagnato.</p></body>""",
        "it",
    ),
    ValueCase(
        "article-on-prices",
        {"title": TEXT, "price": NUMBER, "rating": NUMBER, "sku": TEXT},
        {"title": "Why bread costs more this year", "price": None, "rating": None, "sku": None},
        """<head><title>Why bread costs more this year</title></head><body><article>
<h1>Why bread costs more this year</h1><p>A loaf that cost $2.10 in spring now costs $2.60, and bakers say that it will
be $3 before winter. Flour rose by 14 %, and wages by 5 %.</p><p>In a survey, 3 of 5 bakers said that they would rather
close for a day than raise prices again. The smallest ones, with fewer than 10 people, feel it most.</p></article></body>""",
    ),
    ValueCase(
        "sell-hub-keyboard",
        {"name": TEXT, "price": NUMBER, "condition": TEXT, "seller": TEXT, "location": TEXT, "posted": DATE},
        {
            "name": "Mechanical keyboard, 87 keys",
            "price": 55,
            "condition": "Used – like new",
            "seller": "marta_k",
            "location": "Leeds",
            "posted": "2026-05-03",
        },
        """<head><title>Mechanical keyboard, 87 keys – Sellhub</title></head><body><nav><a href="/">Sellhub</a></nav>
<main><div class="listing"><h1>Mechanical keyboard, 87 keys</h1><div class="listing__price">£55</div>
<div class="row"><span class="label">Condition</span><span class="value">Used – like new</span></div>
<div class="row"><span class="label">Seller</span><span class="value">marta_k</span></div>
<div class="row"><span class="label">Location</span><span class="value">Leeds</span></div>
<div class="row"><span class="label">Posted</span><span class="value"><time datetime="2026-05-03">3 May</time></span></div>
<p>Bought last year, hardly used. Comes with its box and a cable.</p></div></main></body>""",
    ),
)
