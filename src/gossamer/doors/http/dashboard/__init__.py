"""The dashboard at `/app`: pages for people, rendered here, alive where scripts run, whole without them.

Every page is a `Route` with `page=True`. Its handler calls the same endpoints or flows as the API, and
`Dashboard` fills a template with the result. A form posts to an address of its own and is answered with a
redirect, or with the same page, the problem beside the form and everything that was typed. `assets/` has the
style sheet and small ES modules, which are served as they are; there is no build step.
"""
