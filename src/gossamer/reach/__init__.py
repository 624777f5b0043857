"""Everything that leaves the machine, through one dialer."""
