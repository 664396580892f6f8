"""Evaluating with the metric in `anls`: what goes beyond one file that `evaluate` can load."""
