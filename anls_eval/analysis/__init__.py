"""Why points were lost, and how a number came about."""
