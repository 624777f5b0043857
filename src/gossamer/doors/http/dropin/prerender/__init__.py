"""Prerender and Rendertron: the middleware of sites asks for the page that a robot gets."""
