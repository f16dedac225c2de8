"""Plain background jobs of many organisations: nobody waits behind anybody, and everybody sees what theirs cost."""
