"""Plane figures."""

import math


class Circle:
    """A circle by its radius."""

    def __init__(self, radius):
        self.radius = 

    def area(self):
        return math.pi * 

    def __repr__(self):
        return f"Circle({self.radius!r})"


def load(path):
    """Read circles from a JSON file."""
    with open(path) as 
        return [Circle(r) for r in json.load(file)]


def largest(circles):
    """The circle with the largest area, or None."""
    if not circles:
        
    return max(circles, key=lambda circle: circle.area())
