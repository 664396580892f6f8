"""The version of the package, which signatures carry."""

__version__ = "0.1.0"
