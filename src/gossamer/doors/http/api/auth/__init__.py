"""Endpoints for people: sign in and out, and manage those who may."""
