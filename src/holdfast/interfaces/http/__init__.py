"""The HTTP doors: ASGI applications that can be mounted anywhere or served alone."""
