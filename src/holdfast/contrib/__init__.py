"""Holdfast inside other people's libraries; each module needs the library that it is called after, and nothing else does."""
