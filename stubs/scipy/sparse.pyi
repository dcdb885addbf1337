"""gradscribe.scipy.sparse, for type checkers."""

from typing import Any

def __getattr__(name: str) -> Any: ...
