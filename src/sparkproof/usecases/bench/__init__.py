"""The benchmark: rounds of load, and what the server was while they ran."""
