"""What was seen: frozen values without an opinion, one file each."""
