"""A progress bar by tqdm, where somebody may look at it."""

from __future__ import annotations

import sys
from typing import Any

from ..unpatched import np
from .optional import load

__all__ = ["Bar"]


def _is_watched() -> bool:
    """Whether somebody may look at a bar: on a terminal, or in a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell" or bool(getattr(sys.stderr, "isatty", bool)())


class Bar:
    """A progress bar by tqdm: on a terminal or in a notebook where tqdm is installed, always with `progress=True`."""

    def __init__(self, progress: bool | None, title: str, total: Any) -> None:
        self._bar: Any = None
        if progress is False or (progress is None and not _is_watched()):
            return
        try:
            tqdm = load("tqdm", "progress=True").tqdm
        except ImportError:
            if progress:
                raise
            return
        # without its thread, which lives on, so that Python warns of os.fork()
        still = type("Bar", (tqdm,), {"monitor_interval": 0})
        total = total if isinstance(total, int) and total > 0 else None
        self._bar = still(total=total, desc=title, unit="iteration", delay=0 if progress else 0.5)

    def step(self, value: float, slope: float) -> None:
        """Show one more iteration."""
        if self._bar is not None:
            shown = f"value {value:.6g}" + (f", gradient {slope:.1e}" if np.isfinite(slope) else "")
            self._bar.set_postfix_str(shown, refresh=False)
            self._bar.update()

    def close(self) -> None:
        """Leave the bar as it stands."""
        if self._bar is not None:
            self._bar.close()
