"""What a portal would refuse in a submission, and what costs points."""
