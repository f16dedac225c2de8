"""The API's operations, a module a kind of thing."""
