"""The dated, hashed record of a proof or a gate. Pure: the store is an adapter."""
