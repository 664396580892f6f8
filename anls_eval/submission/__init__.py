"""Whole submissions: scored, grouped, compared."""
