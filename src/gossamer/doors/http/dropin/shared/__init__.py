"""What several drop-in doors need: pages and crawls within one request, and the terms of a payment."""
