"""Sites over HTTP."""
