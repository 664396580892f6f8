"""Take the answer out of what a model writes."""
