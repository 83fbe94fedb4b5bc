"""Dated knowledge: data files with a source and a date, and the code that loads them."""
