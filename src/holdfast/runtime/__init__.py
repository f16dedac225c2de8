"""Motion: loops and one attempt's life."""
