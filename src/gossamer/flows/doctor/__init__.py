"""The doctor: examines an installation, and says of each part whether it is well and what to do."""
