"""Pages that are nothing without their JavaScript: the HTML around real packages, and what serves it."""
