"""Learning: functions of networks, losses and optimisers, on top of the engine."""
