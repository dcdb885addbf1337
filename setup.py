"""Build hook: the optional C, PyPI's description, and its own name, by which it stays out of the wheel, whose package lies here.

Where there is no C compiler, or no Python.h, the wheel is built without the extension, and Python does the same in more time.

PyPI shows the README without the files beside it, so that a link to one of them becomes its words.
"""

import re
from pathlib import Path

from setuptools import Extension, setup

README = Path(__file__).with_name("README.md").read_text(encoding="utf-8")

GUARDS = "transforms/compiler/driver/guards"

setup(
    script_name="setup.py",
    long_description=re.sub(r"!?\[([^]]*)\]\((?![a-z]+:)[^)]*\)", r"\1", README),
    ext_modules=[Extension(f"gradscribe.{GUARDS.replace('/', '.')}._entry", [f"{GUARDS}/entry.c"], optional=True)],
)
