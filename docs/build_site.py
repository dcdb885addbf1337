"""Build the documentation site: the pages of docs/, the notebooks as tutorials, and a reference of all public names.

Usage: python docs/build_site.py FOLDER

It needs the extra `docs`. A warning of Sphinx is an error. What the site is made of is put together in a folder of its own, in
which the links between pages, notebooks and files of the repository are those of the site.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PYTORCHS = "functions-of-pytorch"
START = "notebooks/quickstart"
SECTIONS = {  # the page of each: its title, and the pages below it
    "tutorials": (
        "Tutorials",
        "notebooks/reading-generated-source notebooks/control-flow notebooks/fitting-with-scipy notebooks/custom-rules "
        "notebooks/from-autograd notebooks/from-jax notebooks/torch notebooks/tutorials notebooks/exporting "
        "notebooks/finding-a-nan",
    ),
    "how-to": (
        "How to",
        "arguments report pictures why profiler fitting export vmap second-order transforms fixed-point optim functional "
        "adding-an-op native fastmath arrays cupy workers distributed cache command-line",
    ),
    "coming-from": ("Coming from", "from-scipy from-autograd from-jax torch older-api peers"),
    "compiler": ("How the compiler works", "how-it-works control-flow explain internals CONTRIBUTING"),
    "conventions": ("Conventions and limits", "kinks complex numbers limits"),
    "tables": ("Tables", "coverage scipy-table tensor-methods CHANGELOG"),
}
MODULES = {  # the page of each: what its names are called, and a word on it
    "gradscribe": (
        "gs.",
        "What has a name in `gradscribe` itself, by what it is for.",
    ),
    "gradscribe.functional": ("gs.functional.", ""),
    "gradscribe.nn": ("gs.nn.", ""),
    "gradscribe.optim": ("gs.optim.", ""),
    "gradscribe.autograd": ("gs.autograd.", ""),
    "gradscribe.tree": ("gs.tree.", ""),
    PYTORCHS: ("gs.", "Functions of PyTorch's that NumPy has under another name, or not: `gs.` and PyTorch's name."),
}
_PLACE = re.compile(r'^<a id="([\w-]+)"></a>$', re.M)
_LINK = re.compile(r"(?<!!)\[((?:[^][]|\[[^]]*\])*)\]\((?![a-z]+:|#)([^)\s#]*)(#[^)\s]*)?\)")


def build(folder: Path) -> None:
    """Build the site into a folder; raises CalledProcessError where Sphinx warns."""
    with tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary) / "site"
        stage(source)
        command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", str(source), str(folder)]
        subprocess.run(command, check=True)


def stage(source: Path) -> None:
    """Put together what the site is made of."""
    (source / "api").mkdir(parents=True)
    (source / "notebooks").mkdir()
    pictures = [path for kind in ("png", "svg") for path in (ROOT / "docs").glob(f"*.{kind}")]
    for path in (ROOT / "docs" / "conf.py", ROOT / "docs" / "site.css", *pictures):
        shutil.copy(path, source)
    pages = {path: source / path.name for path in sorted((ROOT / "docs").glob("*.md"))}
    pages |= {ROOT / name: source / name for name in ("CONTRIBUTING.md", "CHANGELOG.md")}
    pages |= {path: source / "notebooks" / path.name for path in sorted((ROOT / "notebooks").glob("*.ipynb"))}
    for path, place in pages.items():
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".ipynb":
            text = json.dumps(_notebook(json.loads(text), path, pages, source))
        else:
            text = linked(text, path, pages, place)
        if path.stem == "index":
            names = [f"Start in five minutes <{START}>", *SECTIONS, "reference"]
            text += "\n" + "\n".join(_toctree(names, ":hidden:"))
        place.write_text(text, encoding="utf-8")
    for name, (title, below) in SECTIONS.items():
        (source / f"{name}.md").write_text(
            "\n".join([f"# {title}", "", *_contents(source, below.split())]), encoding="utf-8"
        )
    head = ["# Reference", "", "Each public name, with its docstring. The examples are run by the tests.", ""]
    contents = [*head, *_toctree([f"api/{module}" for module in MODULES])]
    (source / "reference.md").write_text("\n".join(contents), encoding="utf-8")
    for module in MODULES:
        (source / "api" / f"{module}.md").write_text(reference(module), encoding="utf-8")


def linked(text: str, path: Path, pages: dict[Path, Path], place: Path) -> str:
    """The text of a page with links for the site; one to a file that is no page becomes its words."""

    def link(found: re.Match[str]) -> str:
        words, target, anchor = found[1], found[2], found[3] or ""
        to = pages.get((path.parent / target).resolve())
        if to is None:
            return words
        return f"[{words}]({_relative(to, place.parent)}{anchor})"

    parts = re.split(r"(^(`{3,}).*?^\2`*$)", text, flags=re.M | re.S)  # no link within a block of code
    prose = [_PLACE.sub(r"(\1)=", _LINK.sub(link, part)) for part in parts[::3]]
    return "".join(part for pair in zip(prose, [*parts[1::3], ""], strict=True) for part in pair)


def _relative(to: Path, folder: Path) -> str:
    return (
        to.name
        if to.parent == folder
        else f"../{to.name}"
        if to.parent == folder.parent
        else f"{to.parent.name}/{to.name}"
    )


def _notebook(notebook: dict[str, Any], path: Path, pages: dict[Path, Path], source: Path) -> dict[str, Any]:
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = linked("".join(cell["source"]), path, pages, source / "notebooks" / path.name)
    return notebook


def _contents(source: Path, names: list[str]) -> list[str]:
    """What a section shows: its pages, each with its first words."""
    rows = []
    for name in names:
        title, words = _first_words(source / name)
        rows += [f"- [{title}]({name}.{'ipynb' if name.startswith('notebooks/') else 'md'}): {words}"]
    return [*rows, "", *_toctree(names, ":hidden:")]


def _first_words(page: Path) -> tuple[str, str]:
    """The title of a page and the first sentence below it, without links."""
    notebook = page.with_suffix(".ipynb")
    if notebook.exists():
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    else:
        text = page.with_suffix(".md").read_text(encoding="utf-8")
    blocks = re.split(r"\n\s*\n", re.sub(r"^(`{3,}).*?^\1$", "", text, flags=re.M | re.S).strip())
    prose = next(block for block in blocks[1:] if not re.match(r"[#|(<!-]", block.strip()))
    sentence = re.split(r"(?<=[.:])\s", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(prose.split())))[0]
    return blocks[0].partition("\n")[0].lstrip("# "), sentence.rstrip(":") + ("" if sentence.endswith(".") else ".")


def _toctree(names: list[str], *options: str) -> list[str]:
    return ["```{toctree}", *options, ":maxdepth: 1", "", *names, "```", ""]


# --- the reference -------------------------------------------------------------------------------


GROUPS = {  # of the names in `gradscribe` itself: where what they name is defined
    "Derivatives": ("transforms.derivatives",),
    "Compile, and see the source": ("transforms.compiler",),
    "Check and look": ("transforms.checks", "transforms.why", "explorer", "tracer.core.singular"),
    "Fit": ("fit",),
    "Ship": ("transforms.exports", "compat"),
    "Own ops": ("runtime.ops", "runtime.user_ops"),
    "Tensors": ("tracer", "numpy"),
    "Errors and warnings": ("runtime.errors",),
}


def group_of(thing: Any) -> str:
    """The group of the reference that a thing belongs to: that of the longest prefix of its module."""
    module = (getattr(thing, "__module__", None) or type(thing).__module__).removeprefix("gradscribe.")
    known = [(prefix, title) for title, prefixes in GROUPS.items() for prefix in prefixes]
    return max((p, t) for p, t in known if module == p or module.startswith(p + "."))[1]


def reference(module: str) -> str:
    """The page of a module: each public name with its signature and its docstring; those of `gradscribe` in groups."""
    prefix, about = MODULES[module]
    face = importlib.import_module("gradscribe" if module == PYTORCHS else module)
    title = "PyTorch's functions" if module == PYTORCHS else module
    parts = [f"# {title}", "", *([about, ""] if about else _docstring(face))]
    names = sorted(public_names(module), key=str.lower)
    if module == "gradscribe":
        for group in GROUPS:
            its = [name for name in names if group_of(getattr(face, name)) == group]
            parts += [f"## {group}", ""]
            for name in its:
                parts += [f"### {prefix}{name}", "", *_entry(prefix + name, getattr(face, name))]
        return "\n".join(parts) + "\n"
    for name in names:
        parts += [f"## {prefix}{name}", "", *_entry(prefix + name, getattr(face, name))]
    return "\n".join(parts) + "\n"


def public_names(module: str) -> list[str]:
    """The names that a page of the reference holds; a module among them has its own page, or its names stand in one."""
    face = importlib.import_module("gradscribe" if module == PYTORCHS else module)
    names = [name for name in face._FUNCTIONS if name not in face.__all__] if module == PYTORCHS else face.__all__
    return [name for name in dict.fromkeys(names) if not inspect.ismodule(getattr(face, name))]


def _entry(name: str, thing: Any) -> list[str]:
    if not callable(thing):
        return [f"A {type(thing).__name__}.", ""]
    try:
        parameters = list(inspect.signature(thing).parameters.values())
        plain = [p.replace(annotation=p.empty, default=_shown(p.default)) for p in parameters]
        signature = str(inspect.Signature(plain))
    except (TypeError, ValueError):
        signature = "(...)"
    parts = ["```python", f"{name}{signature}", "```", "", *_docstring(thing)]
    if inspect.isclass(thing) and not issubclass(thing, BaseException) and name == "gs.Tensor":
        parts += ["Its methods have [a page of their own](../tensor-methods.md).", ""]
    return parts


class _Words:
    """A default value that has no short spelling."""

    def __repr__(self) -> str:
        return "..."


def _shown(default: Any) -> Any:
    long = len(repr(default)) > 40 or "<" in repr(default)
    return _Words() if default is not inspect.Parameter.empty and long else default


def _docstring(thing: Any) -> list[str]:
    """A docstring as Markdown: its examples are blocks, and what looks like markup is text."""
    lines: list[str] = []
    example = False
    for row in (inspect.getdoc(thing) or "").splitlines():
        if row.startswith(">>>") and not example:
            lines, example = [*lines, "```pycon"], True
        elif example and not row.strip():
            lines, example = [*lines, "```"], False
        lines.append(row if example else _escaped(row))
    return [*lines, *(["```"] if example else []), ""]


def _escaped(row: str) -> str:
    """A line of prose: backticks as they are, and outside of them nothing that Markdown would read as markup."""
    parts = re.split(r"(`[^`]*`)", row.strip() if row[:4].strip() else f"`{row.strip()}`" if row.strip() else row)
    return "".join(
        part if k % 2 else re.sub(r"([\\*_<>\[\]{}|#$])", r"\\\1", part) for k, part in enumerate(parts)
    )  # fmt: skip


if __name__ == "__main__":
    build(Path(sys.argv[1]))
