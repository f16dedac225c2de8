"""A finalized match gives an advisor access to a client's workspace, by itself, and whole or not at all."""
