"""What operators see: logs, metrics, and the redaction of secrets in them."""
