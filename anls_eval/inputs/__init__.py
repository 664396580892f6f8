"""What people pass to the public functions."""
