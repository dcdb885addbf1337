"""Build hook: names itself, so that it stays out of the wheel, whose package is this very folder; and PyPI's description.

PyPI shows the README without the files beside it, so that a link to one of them becomes its words.
"""

import re
from pathlib import Path

from setuptools import setup

README = Path(__file__).with_name("README.md").read_text(encoding="utf-8")

setup(script_name="setup.py", long_description=re.sub(r"!?\[([^]]*)\]\((?![a-z]+:)[^)]*\)", r"\1", README))
