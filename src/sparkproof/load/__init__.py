"""Load: schedules, prompts, what a request's record says, and metrics of many. Pure."""
