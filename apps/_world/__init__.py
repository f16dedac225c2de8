"""The outside world of the products, on loopback: services that behave like the real ones, errors included, and can be told to misbehave."""
