"""What a word means: a rule, a claim, an option, a release's own names."""
