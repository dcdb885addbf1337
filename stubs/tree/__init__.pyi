"""gradscribe.tree, for type checkers."""

from ..transforms.tree import *
