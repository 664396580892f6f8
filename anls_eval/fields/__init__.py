"""Fields: how each part of a tree is compared and weighed."""
