"""Data sets in many files, scored by the workers of a Dask cluster."""
