"""Questions: predictions and references, brought together by id."""
