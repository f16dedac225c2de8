"""Words: pure values and rules, without I/O, clock or chance."""
