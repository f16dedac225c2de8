"""A control plane of autonomous agents: they work in steps, are patient with others, and ask people before they do harm."""
