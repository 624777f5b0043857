"""The pages for crawls and what they have stored: crawls, pages and domains."""
