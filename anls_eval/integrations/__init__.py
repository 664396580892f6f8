"""ANLS and ANLS* in other tools, with the same numbers: one module per tool, the only one that imports it."""
