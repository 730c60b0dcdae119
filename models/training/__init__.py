"""How the bundled model is made: its data, its training and its files.

Run ``python -m training`` in `models/`.
"""
