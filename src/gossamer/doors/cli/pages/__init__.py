"""Commands for pages: fetch, batch, render, screenshot, pdf and search."""
