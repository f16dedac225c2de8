"""How long the auditor takes."""
