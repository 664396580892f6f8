"""Questions: predictions and references, paired by id."""
