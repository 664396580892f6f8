"""Find what a portal would refuse in a submission, and what costs points; fix what is safe to fix."""
