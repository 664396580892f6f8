"""The web app, one file a tab."""
