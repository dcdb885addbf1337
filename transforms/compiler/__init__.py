"""The compiler, in seven stages: frontend, capture, analysis, passes, schedule, targets and driver."""
