"""Outcome: whether a page is the one that was asked for, or a captcha, a login, an error, an empty shell."""
