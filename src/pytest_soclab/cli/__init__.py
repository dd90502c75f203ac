"""The `soclab` command: arguments in, an exit status out; what a command does to data lives in the rooms below."""
