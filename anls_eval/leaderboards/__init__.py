"""Scores of leaderboards that need more than two texts."""
