"""What an operator needs to last: alerts, and who evaluates them."""
