"""Steps of the Python target, by name: what they make of a Program is printed as it stands.

Where calls are nested depends on the widths of names, and names on what is nested: one walk (walk.py) decides both. Without
`nesting` each call is a statement; without `deletes` each array that the schedule frees has its `del`; without `tuples` each
assignment is a statement.
"""

__all__ = ["STEPS"]

STEPS = ("nesting", "names", "deletes", "tuples")
