"""The A/B gate: servers, rounds, scores and the verdict over them."""
