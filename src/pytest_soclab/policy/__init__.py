"""The policy: its input and output, how a directory of Rego is read, and the two engines that decide."""
