"""A Scrapy project whose product pages come through Gossamer.

    pip install scrapy && pip install --no-deps gossamer
    export GOSSAMER_SERVER=http://127.0.0.1:8080 GOSSAMER_KEY=sk_live_…
    cd scrapy_project && scrapy crawl products -a start=https://shop.example.com/ -O products.jsonl

The list of products is plain HTML, so Scrapy reads it itself. The products need a browser: `meta` asks for
one. Delays, retries and robots.txt are as in any other project.
"""
