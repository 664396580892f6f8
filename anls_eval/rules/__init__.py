"""Protocols: the rules of scores as data."""
