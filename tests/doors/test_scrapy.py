"""`gossamer.scrapy` in an unmodified Scrapy, which has none of the server's dependencies."""

from tests.doors.crawls import PROSE, page
from tests.doors.dropins import Served, served
from tests.doors.fetches import say
from tests.doors.renders import app_page

__all__ = ["served"]

PROGRAM = """
import json, logging, sys
import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor

logging.getLogger().setLevel(logging.CRITICAL)
server, key, *urls = sys.argv[1:]
plain, rendered, cookied, missing, forbidden, unreadable, refused = urls
said = {}

class Pages(scrapy.Spider):
    name = "pages"
    allowed_domains = ["127.0.0.1", "127.0.0.2"]
    handle_httpstatus_list = [404]

    async def start(self):
        for name, url, wanted in (
            ("plain", plain, True), ("rendered", rendered, {"render": True}), ("cookied", cookied, {}),
            ("missing", missing, True), ("forbidden", forbidden, True), ("unreadable", unreadable, True),
            ("own", plain, False), ("refused", refused, True), ("option", plain, {"colour": "red"}),
            ("posted", plain, True)):
            yield scrapy.Request(url, self.parse, errback=self.failed, dont_filter=True,
                                 cb_kwargs={"name": name}, meta={"gossamer": wanted, "dont_retry": True},
                                 method="POST" if name == "posted" else "GET")

    def parse(self, response, name):
        said[name] = {"url": response.url, "status": response.status, "type": type(response).__name__,
                      "h1": response.css("h1::text").get(), "flags": response.flags,
                      "links": [link.url for link in LinkExtractor().extract_links(response)]}
        if name == "cookied":
            yield response.follow(plain + "?with-cookie", self.parse, cb_kwargs={"name": "again"},
                                  meta={"gossamer": True})

    def failed(self, failure):
        said[failure.request.cb_kwargs["name"]] = [type(failure.value).__name__, str(failure.value)]

process = CrawlerProcess({
    "DOWNLOADER_MIDDLEWARES": {"gossamer.scrapy.GossamerMiddleware": 950}, "GOSSAMER_SERVER": server,
    "GOSSAMER_KEY": key, "ROBOTSTXT_OBEY": False, "LOG_ENABLED": False, "TELNETCONSOLE_ENABLED": False,
    "DOWNLOAD_DELAY": 0})
process.crawl(Pages)
process.start()
print(json.dumps(said))
"""


async def test_pages_come_through_the_server(served: Served) -> None:
    plain, cookied = (
        page("Plain", "/next"),
        say(f"<h1>Sets</h1><p>{PROSE}</p>", "Content-Type: text/html", "Set-Cookie: a=1; Path=/"),
    )
    targets = [plain, app_page(), cookied, say("<h1>Gone</h1>", status="404 Not Found")]
    urls = [*(served.site.url(target) for target in targets), "http://127.0.0.2/"]
    urls.append(served.site.url(say(b"PNG", "Content-Type: image/png")))
    urls.append("http://127.0.0.1:9/")
    said = await served.run_client(PROGRAM, *urls)
    assert said["plain"] == {
        "url": urls[0],
        "status": 200,
        "type": "HtmlResponse",
        "h1": "Plain",
        "flags": ["gossamer:ok"],
        "links": [served.site.url("/next")],
    }
    assert (said["rendered"]["h1"], said["rendered"]["url"]) == ("Rendered by a script", urls[1])
    assert (said["missing"]["status"], said["missing"]["h1"]) == (404, "Gone")
    assert said["forbidden"][0] == "GossamerRefusal"
    assert said["unreadable"][0] == "NotSupported"
    assert said["refused"][0] == "DownloadFailedError"
    assert said["posted"][0] == "NotSupported"
    assert said["option"] == ["GossamerRefusal", "Object contains unknown field `colour`."]
    assert said["own"]["flags"] == []
    (ours, scrapys) = served.site.seen(plain)
    agents = {request.header("user-agent") or "" for request in (ours, scrapys)}
    assert sum("Scrapy" in agent for agent in agents) == 1
    (again,) = served.site.seen(f"{plain}?with-cookie")
    assert again.header("cookie") == "a=1"
