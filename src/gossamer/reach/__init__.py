"""Everything that leaves the machine, all of it through one dialer."""
