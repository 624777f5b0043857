"""Pages for people: start page, API reference, problem pages, OpenAPI and discovery documents."""
