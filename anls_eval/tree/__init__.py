"""ANLS*: the comparison of trees."""
