"""Browserless and Cloudflare Browser Rendering: both take one body, named after Puppeteer's options."""
