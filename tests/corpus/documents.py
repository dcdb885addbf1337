"""Run the Python blocks of the documents, and compare what they print with the text block that follows each.

Usage: python documents.py [--write] [DOCUMENT ...]      (all of README.md and docs/ by default)

`--write` puts what was printed into the documents. `printed.py` says what counts as the same; a text block whose fence
says ```text rtol=1e-6 has a tolerance of its own (0: each letter counts). A process of its own runs each document, since
examples may register ops.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import linecache
import re
import subprocess
import sys
import tempfile
import traceback
import types
from pathlib import Path

from printed import RTOL, differ

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n*^```text(?P<rtol> rtol=\S+)?\n(?P<output>.*?)^```\n)?", re.M | re.S
)


def blocks(text: str) -> list[re.Match[str]]:
    """The Python blocks of a document, with the output that is stated for each."""
    return list(BLOCK.finditer(text))


def tolerance(block: re.Match[str]) -> float:
    """What the floats of an output may differ by, relatively."""
    return float(block["rtol"].partition("=")[2]) if block["rtol"] else RTOL


def outputs(codes: list[str], name: str) -> list[str]:
    """What each block prints; together they are one program, `name`, whose lines are numbered through."""
    program = "".join(codes)
    linecache.cache[name] = (len(program), None, program.splitlines(keepends=True), name)
    # Where generated source finds ops of the document's.
    module = sys.modules["document"] = types.ModuleType("document")
    space = vars(module)
    printed, line = [], 0
    for code in codes:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile("\n" * line + code, name, "exec"), space)
        printed.append("".join(part.rstrip() + "\n" for part in out.getvalue().rstrip().splitlines()))
        line += code.count("\n")
    return printed


def check(path: Path, write: bool) -> str:
    """What is wrong with a document; with `write`, put right."""
    text = path.read_text(encoding="utf-8")
    found = blocks(text)
    try:
        printed = outputs([b["code"] for b in found], path.stem.lower() + ".py")
    except Exception:
        return f"{path}:\n{traceback.format_exc()}"
    wrong, pieces, end = [], [], 0
    for block, now in zip(found, printed, strict=True):
        stated = block["output"] or ""
        if differ(stated, now, tolerance(block)):
            wrong += difflib.unified_diff(stated.splitlines(), now.splitlines(), path.name, "printed", lineterm="")
        pieces += [text[end : block.start()], f"```python\n{block['code']}```\n"]
        pieces += [f"\n```text{block['rtol'] or ''}\n{now}```\n"] if now else []
        end = block.end()
    if write:
        path.write_text("".join([*pieces, text[end:]]), encoding="utf-8")
        return ""
    return "\n".join(wrong)


def main(arguments: list[str]) -> int:
    """Check them all; the exit status is 1 where one differs."""
    write = "--write" in arguments
    paths = [Path(a).resolve() for a in arguments if a != "--write"] or DOCUMENTS
    if len(paths) > 1:
        own = [[sys.executable, __file__, *(["--write"] if write else []), str(path)] for path in paths]
        return max(subprocess.run(command, check=False).returncode for command in own)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # for what the examples write
        problems = [problem for path in paths if (problem := check(path, write))]
    if problems:
        print("\n".join(problems))
        print("\nIf that is what it should print: python tests/corpus/documents.py --write")
    return int(bool(problems))


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.exit(main(sys.argv[1:]))
