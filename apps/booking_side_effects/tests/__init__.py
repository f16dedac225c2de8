"""What the product promises, sentence by sentence."""
