"""Meaning of a boot log: numbers, agreement with a prediction, failure to cause."""
