"""Hostile inputs in great number: ``PYTHONPATH=.:tests python -m fuzz --minutes 10 --seed 1``, or ``make fuzz``.

Whatever comes in, what comes out is a right result or a clear error of our own kind, soon and in bounded memory.
Each input follows from the name of its target, the seed and its number, so that a fault can be run again alone.
"""
