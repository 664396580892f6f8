"""Intervals, tests, rankings and calibration."""
