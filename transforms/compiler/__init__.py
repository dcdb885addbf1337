"""The compiler: capture, IR, passes, emission, guards and the cache of specialisations."""
