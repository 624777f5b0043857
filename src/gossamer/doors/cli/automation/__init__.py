"""Commands for work that goes on by itself: schedules, monitors, sites, webhooks."""
