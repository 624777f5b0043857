"""What all endpoints use: routing, decoding, the state of an exchange, negotiation and streaming."""
