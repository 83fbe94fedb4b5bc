"""Gates: what to ask of a server and how to judge what it answered. Plan and judge are pure."""
