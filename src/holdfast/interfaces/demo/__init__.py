"""The demo: a sample app, its traffic, and the stories that `holdfast demo --check` verifies."""
