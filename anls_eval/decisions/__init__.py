"""Decisions that scores are for: whether to ship a system."""
