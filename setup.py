"""Build hook: naming this script keeps it out of the wheel, whose package folder is this very folder."""

from setuptools import setup

setup(script_name="setup.py")
