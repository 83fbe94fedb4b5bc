"""What device code an artifact holds, and what of it runs on one device."""
