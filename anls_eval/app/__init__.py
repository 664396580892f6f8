"""The web app: one file for each tab (about, answer, compare, document, submission), named after it."""
