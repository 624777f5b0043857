"""`gossamer memory`: values and pages that are kept by key."""
