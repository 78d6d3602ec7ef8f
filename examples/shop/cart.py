"""A small shop. It has a true bug, which the demo lets an agent run into."""


def discounted(price: float, percent: float) -> float:
    """Return the price in euros after a discount, rounded to whole cents."""
    return round(price * (100 - percent) / 100, 2)
