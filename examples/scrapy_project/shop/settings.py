"""Three settings are Gossamer's; the others are those of any project."""

import os

BOT_NAME = "shop"
SPIDER_MODULES = ["shop.spiders"]
ROBOTSTXT_OBEY = True
DOWNLOAD_DELAY = float(os.environ.get("SHOP_DELAY", "1"))
LOG_LEVEL = "WARNING"

DOWNLOADER_MIDDLEWARES = {"gossamer.scrapy.GossamerMiddleware": 950}
GOSSAMER_SERVER = os.environ.get("GOSSAMER_SERVER", "http://127.0.0.1:8080")
GOSSAMER_KEY = os.environ.get("GOSSAMER_KEY", "")
