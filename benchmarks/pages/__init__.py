"""How long the dashboard's pages take."""
