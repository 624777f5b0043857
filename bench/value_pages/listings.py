"""Pages that list things: cards, rows, results, reviews."""

from typing import Final

from bench.value_pages.case import DATE, LINK, NUMBER, TEXT, WHOLE, ValueCase, listed

_BOOKS: Final = (
    ("The Salt Road", "12.50", "4.5", "/b/salt"),
    ("Maps of Rain", "9.99", "3.8", "/b/rain"),
    ("Seven Lighthouses", "21.00", "4.9", "/b/seven"),
    ("The Quiet Engine", "15.25", "4.1", "/b/engine"),
    ("A Field of Clocks", "11.00", "4.0", "/b/clocks"),
    ("Winter Harbor", "18.75", "4.7", "/b/harbor"),
)
_POTS: Final = (
    ("Blue teapot", "19.90", 4, 12, "/p/1"),
    ("Red teapot", "24.50", 3, 3, "/p/2"),
    ("Iron teapot", "59.00", 5, 44, "/p/3"),
)
_JOBS: Final = (
    ("Backend engineer", "Tidewater", "Lisbon", "€55,000 – €70,000", "2026-04-02", "/jobs/81"),
    ("Data analyst", "Fernbank", "Remote", "€42,000 – €50,000", "2026-04-05", "/jobs/82"),
    ("Site manager", "Oakley & Sons", "Porto", "€38,000", "2026-04-07", "/jobs/83"),
    ("Illustrator", "Paper Crane", "Braga", "€30,000 – €36,000", "2026-04-09", "/jobs/84"),
)
_NEWS: Final = (
    (
        "Harbor bridge reopens after two years",
        "Cars and trams may cross again from Monday.",
        "Ida Lund",
        "/n/1",
    ),
    ("Council votes for more trees", "A thousand limes will be planted before spring.", "Sam Okoro", "/n/2"),
    (
        "Night trains return to the coast",
        "Three routes start in June, with more to come.",
        "Ida Lund",
        "/n/3",
    ),
    ("Museum finds a lost map", "It lay behind a cupboard for ninety years.", "Lea Marin", "/n/4"),
    ("Why the river turned green", "An alga likes the warm autumn, researchers say.", "Tom Berg", "/n/5"),
)
_REPOS: Final = (
    ("loom/weft", "A small web framework.", "Python", "12,410", "/loom/weft"),
    ("spindle/core", "Streams for everything.", "Rust", "8,022", "/spindle/core"),
    ("bobbin/ui", "Buttons and forms.", "TypeScript", "31,877", "/bobbin/ui"),
)
_HOMES: Final = (
    ("14 Larch Street, Dunmore", "$420,000", "3", "2", "1,450"),
    ("9 Mill Lane, Dunmore", "$515,500", "4", "2", "1,980"),
    ("2 Station Road, Ashby", "$298,000", "2", "1", "870"),
    ("77 Harbor View, Ashby", "$1,050,000", "5", "4", "3,200"),
)
_EVENTS: Final = (
    ("Jazz on the quay", "2026-06-12", "12 June", "Pier 4", "Free"),
    ("Open workshop day", "2026-06-20", "20 June", "Old Mill", "$5"),
    ("Film under stars", "2026-07-03", "3 July", "Castle garden", "$9"),
)
_REVIEWS: Final = (
    ("Nadia P.", "2026-02-11", "5", "Warm, light, and it dries overnight."),
    ("Joren", "2026-01-30", "3", "Good, but the zip sticks in the cold."),
    ("K. Adeyemi", "2025-12-19", "4", "Bought a second one for my sister."),
)
_CAFES: Final = (
    ("Café Morgentau", "Lindenstraße 4, 10969 Berlin", "030 5550 101", "4,4"),
    ("Kaffeewerk Süd", "Am Kanal 17, 12047 Berlin", "030 5550 202", "4,8"),
    ("Bohne & Blatt", "Torweg 2, 13187 Berlin", "030 5550 303", "4,1"),
)

LISTINGS: Final = (
    ValueCase(
        "book-cards",
        {"products": listed(name=TEXT, price=NUMBER, rating=NUMBER, url=LINK)},
        {
            "products": [
                {
                    "name": name,
                    "price": float(price),
                    "rating": float(rating),
                    "url": f"https://site.example{link}",
                }
                for name, price, rating, link in _BOOKS
            ]
        },
        "<head><title>New books</title></head><body><header><a href='/'>Quay Books</a><ul><li><a href='/new'>New</a>"
        "<li><a href='/used'>Used</a><li><a href='/gifts'>Gifts</a></ul></header><main><h1>New books</h1><div class='g'>"
        + "".join(
            f"<div class='c'><a href='{link}'><img src='{link}.jpg' alt='{name}'></a><h3><a href='{link}'>{name}</a></h3>"
            f"<div class='r' aria-label='{rating} out of 5 stars'></div><div class='p'>${price}</div>"
            "<button>Add to basket</button></div>"
            for name, price, rating, link in _BOOKS
        )
        + "</div></main><footer><ul><li><a href='/a'>About</a><li><a href='/c'>Contact</a></ul></footer></body>",
    ),
    ValueCase(
        "starred-cards",  # without a format, an address is made absolute all the same
        {"products": listed(name=TEXT, price=NUMBER, rating=NUMBER, reviewCount=WHOLE, image=TEXT, url=TEXT)},
        {
            "products": [
                {
                    "name": name,
                    "price": float(price),
                    "rating": stars,
                    "reviewCount": reviews,
                    "image": f"https://site.example{link}.png",
                    "url": f"https://site.example{link}",
                }
                for name, price, stars, reviews, link in _POTS
            ]
        },
        "<head><title>Shop of small things</title></head><body><main><h1>Teapots</h1><div class=grid>"
        + "".join(
            f'<div class=card><img src="{link}.png"><h3><a href="{link}">{name}</a></h3><span>€ {price}</span>'
            f"<span>{'★' * stars}{'☆' * (5 - stars)} ({reviews})</span></div>"
            for name, price, stars, reviews, link in _POTS
        )
        + "</div></main></body>",
    ),
    ValueCase(
        "job-rows",
        {"jobs": listed(title=TEXT, company=TEXT, location=TEXT, salary=TEXT, datePosted=DATE, url=LINK)},
        {
            "jobs": [
                {
                    "title": title,
                    "company": company,
                    "location": place,
                    "salary": salary,
                    "datePosted": date,
                    "url": f"https://site.example{link}",
                }
                for title, company, place, salary, date, link in _JOBS
            ]
        },
        "<head><title>Jobs</title></head><body><h1>4 open jobs</h1><ul class='job-list'>"
        + "".join(
            f"<li class='job'><h2 class='job-title'><a href='{link}'>{title}</a></h2><span class='job-company'>{company}"
            f"</span> <span class='job-location'>{place}</span> <span class='job-salary'>{salary}</span>"
            f"<time datetime='{date}T08:00'>{int(date[-2:])} days ago</time></li>"
            for title, company, place, salary, date, link in _JOBS
        )
        + "</ul></body>",
    ),
    ValueCase(
        "news-front",
        {"articles": listed(headline=TEXT, summary=TEXT, author=TEXT, url=LINK)},
        {
            "articles": [
                {
                    "headline": title,
                    "summary": summary,
                    "author": author,
                    "url": f"https://site.example{link}",
                }
                for title, summary, author, link in _NEWS
            ]
        },
        "<head><title>The Quay Courier</title></head><body><nav><a href='/s'>Sport</a><a href='/w'>World</a></nav><main>"
        + "".join(
            f"<article class='css-1a{place}'><a class='css-9x' href='{link}'><h2 class='css-k2'>{title}</h2></a>"
            f"<p class='css-77'>{summary}</p><span class='css-u'>By {author}</span></article>"
            for place, (title, summary, author, link) in enumerate(_NEWS)
        )
        + "</main><aside><h3>Most read</h3><ol><li><a href='/m/1'>A</a><li><a href='/m/2'>B</a></ol></aside></body>",
    ),
    ValueCase(
        "repositories",
        {"repositories": listed(name=TEXT, description=TEXT, language=TEXT, stars=WHOLE, url=LINK)},
        {
            "repositories": [
                {
                    "name": name,
                    "description": text,
                    "language": language,
                    "stars": int(stars.replace(",", "")),
                    "url": f"https://site.example{link}",
                }
                for name, text, language, stars, link in _REPOS
            ]
        },
        "<head><title>Trending</title></head><body><main><h1>Trending</h1><div>"
        + "".join(
            f"<article class='Box-row'><h2><a href='{link}'>{name}</a></h2><p>{text}</p><div><span><span class='dot'>"
            f"</span><span itemprop='programmingLanguage'>{language}</span></span>"
            f"<a href='{link}/stargazers' aria-label='{stars} stars'>{stars}</a></div></article>"
            for name, text, language, stars, link in _REPOS
        )
        + "</div></main></body>",
    ),
    ValueCase(
        "homes",
        {"homes": listed(address=TEXT, price=NUMBER, bedrooms=WHOLE, bathrooms=WHOLE)},
        {
            "homes": [
                {
                    "address": address,
                    "price": int(price.strip("$").replace(",", "")),
                    "bedrooms": int(beds),
                    "bathrooms": int(baths),
                }
                for address, price, beds, baths, _ in _HOMES
            ]
        },
        "<head><title>Homes in Dunmore and Ashby</title></head><body><main><h1>Homes for sale</h1><ul>"
        + "".join(
            f"<li><div class='card-photo'></div><div class='card-price'>{price}</div><ul class='facts'><li>{beds} "
            f"bedrooms</li><li>{baths} bathrooms</li><li>{area} sq ft</li></ul><address>{address}</address></li>"
            for address, price, beds, baths, area in _HOMES
        )
        + "</ul></main></body>",
    ),
    ValueCase(
        "events",
        {"events": listed(name=TEXT, date=DATE, venue=TEXT, price=TEXT)},
        {
            "events": [
                {"name": name, "date": date, "venue": venue, "price": price}
                for name, date, _, venue, price in _EVENTS
            ]
        },
        "<head><title>This summer</title></head><body><h1>This summer</h1><div class='events'>"
        + "".join(
            f"<div class='event'><time datetime='{date}'>{shown}</time><h3>{name}</h3><p class='venue'>{venue}</p>"
            f"<p class='price'>{price}</p></div>"
            for name, date, shown, venue, price in _EVENTS
        )
        + "</div></body>",
    ),
    ValueCase(
        "reviews",
        {"reviews": listed(author=TEXT, date=DATE, rating=WHOLE, text=TEXT)},
        {
            "reviews": [
                {"author": author, "date": date, "rating": int(stars), "text": text}
                for author, date, stars, text in _REVIEWS
            ]
        },
        "<head><title>Fleece jacket: reviews</title></head><body><h1>Fleece jacket</h1><h2>Reviews</h2><div>"
        + "".join(
            f"<div class='review-item'><span class='review-author'>{author}</span><span>{'★' * int(stars)}"
            f"{'☆' * (5 - int(stars))}</span><time datetime='{date}'>{date}</time><p>{text}</p></div>"
            for author, date, stars, text in _REVIEWS
        )
        + "</div></body>",
    ),
    ValueCase(
        "cafes",
        {"cafes": listed(name=TEXT, address=TEXT, phone=TEXT, rating=NUMBER)},
        {
            "cafes": [
                {"name": name, "address": address, "phone": phone, "rating": float(stars.replace(",", "."))}
                for name, address, phone, stars in _CAFES
            ]
        },
        "<head><title>Cafés in Berlin</title></head><body><main><h1>Cafés in Berlin</h1>"
        + "".join(
            f"<section><h2>{name}</h2><p>{address}</p><p><a href='tel:{phone.replace(' ', '')}'>{phone}</a></p>"
            f"<p>{stars} von 5</p></section>"
            for name, address, phone, stars in _CAFES
        )
        + "</main></body>",
        "de",
    ),
    ValueCase(
        "div-table",
        {"plans": listed(name=TEXT, price=NUMBER, storage=TEXT)},
        {
            "plans": [
                {"name": "Hut", "price": 4, "storage": "5 GB"},
                {"name": "House", "price": 9, "storage": "50 GB"},
                {"name": "Castle", "price": 29, "storage": "1 TB"},
            ]
        },
        """<head><title>Plans</title></head><body><h1>Plans</h1><div class="plans">
<div class="plan"><h2>Hut</h2><p class="amount">$4 / month</p><dl><dt>Storage</dt><dd>5 GB</dd></dl><a href="/b/1">Buy</a></div>
<div class="plan popular"><h2>House</h2><p class="amount">$9 / month</p><dl><dt>Storage</dt><dd>50 GB</dd></dl><a href="/b/2">Buy</a></div>
<div class="plan"><h2>Castle</h2><p class="amount">$29 / month</p><dl><dt>Storage</dt><dd>1 TB</dd></dl><a href="/b/3">Buy</a></div>
</div></body>""",
    ),
    ValueCase(
        "search-results",
        {"results": listed(title=TEXT, url=LINK, snippet=TEXT)},
        {
            "results": [
                {
                    "title": f"{name} explained",
                    "url": f"https://{name.lower()}.example/",
                    "snippet": f"{name} is older than you think, and this page says how it came to be.",
                }
                for name in ("Paper", "Glass", "Steel", "Rope")
            ]
        },
        "<head><title>how things are made - Find</title></head><body><form><input name=q></form><div id='rso'>"
        + "".join(
            f"<div class='x{name[0]}'><a href='https://{name.lower()}.example/'><h3>{name} explained</h3>"
            f"<cite>{name.lower()}.example</cite></a><div><span>{name} is older than you think, and this page says how it "
            "came to be.</span></div></div>"
            for name in ("Paper", "Glass", "Steel", "Rope")
        )
        + "</div><nav><a href='?p=2'>2</a><a href='?p=3'>3</a></nav></body>",
    ),
)
