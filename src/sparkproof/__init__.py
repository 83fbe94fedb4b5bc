"""Proof, before you deploy, of what vLLM will do on a DGX Spark."""

__version__ = "0.1.0"
