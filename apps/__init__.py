"""Five products on Holdfast, each short enough to read and whole enough to copy from."""
