"""ANLS and ANLS* inside other tools: one file a tool, which alone imports it. The numbers are those of `anls`."""
