"""What a checkpoint's metadata declares, layer class by layer class, and what that means."""
