"""What stands on the engine for those who train: functions of networks, losses, optimisers."""
