"""Doors: each translates a protocol to a call and back. No rule of the machine lives here."""
