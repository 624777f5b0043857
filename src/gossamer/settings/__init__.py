"""Everything that an operator can choose, one line each, and the packages that some choices need."""
