"""What an operator needs to last: alerts, who evaluates them, and webhooks that are still to be sent."""
