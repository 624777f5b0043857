"""A week in five minutes: recrawls, monitors, schedules, webhooks and retention under a clock that jumps."""
