"""The bot middleware and the snippets of docs/integrations, each run for real between a robot and a site."""
