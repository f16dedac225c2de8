"""The service measured beside the same ASGI server that answers a constant."""
