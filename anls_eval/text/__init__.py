"""ANLS: the similarity of texts."""
