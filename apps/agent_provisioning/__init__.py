"""A paid checkout provisions a virtual machine through a CI workflow."""
