"""`gradscribe explore`: the page of gs.report of a file, served to this machine alone, and anew whenever the file is saved."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import html
import http.server
import json
import re
import secrets
import subprocess
import sys
import tempfile
import threading
import time
import webbrowser
from pathlib import Path
from typing import Any, TextIO

from .attempt import Choice
from .report import part
from .targets import UsageError

__all__ = ["Explorer", "explore"]

HOST = "127.0.0.1"
PAUSE = 0.2  # seconds between two looks at the files
# It finds modules where this process finds them.
_CHILD = f"import sys; sys.path[:] = {sys.path!r}; from {__package__}.attempt import main; main(*sys.argv[1:])"
_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def explore(choice: Choice, port: int, browse: bool, out: TextIO) -> None:
    """Serve the page until the process is interrupted."""
    path, _, _ = choice.target.partition(":")
    if path.endswith(".py") and not Path(path).is_file():
        raise UsageError(f"there is no file {path}")
    with contextlib.suppress(KeyboardInterrupt), Explorer(choice, port) as explorer:
        print(f"{explorer.address}\n(for this machine alone; Ctrl-C ends it)", file=out, flush=True)
        if browse:
            webbrowser.open(explorer.address)
        threading.Event().wait()


class Explorer:
    """A server of one page, which a thread of its own keeps as new as the files."""

    def __init__(self, choice: Choice, port: int = 0) -> None:
        self.choice = choice
        self.token = secrets.token_urlsafe(24)
        self.begun: float | None = None  # when the attempt began that runs now
        self.page = 0, _whole("<p>The first look takes a second or two.</p>", "One moment")  # and its number
        self._server = _Server((HOST, port), _handler(self))
        self.host = f"{HOST}:{self._server.server_address[1]}"
        self.address = f"http://{self.host}/{self.token}/"
        self._ends = threading.Event()
        self._threads = [
            threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True),
            threading.Thread(target=self._watch, daemon=True),
        ]

    def __enter__(self) -> Explorer:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._server.shutdown()
        for thread in self._threads:
            thread.join()
        self.close()

    def close(self) -> None:
        """Give the port back."""
        self._server.server_close()

    def state(self) -> dict[str, Any]:
        """Return what the page asks for again and again: whether there is a newer one, and how long one is being made."""
        begun = self.begun
        return {"version": self.page[0], "seconds": None if begun is None else round(time.monotonic() - begun, 1)}

    def _watch(self) -> None:
        """Make the page anew whenever a file was saved; an attempt that a save overtakes is given up."""
        seen: dict[str, tuple[int, int]] | None = None
        imported: list[str] = []
        running: tuple[subprocess.Popen[bytes], tempfile.TemporaryDirectory[str]] | None = None
        while not self._ends.wait(PAUSE):
            now = _stamps(self.choice.target, imported)
            if now != seen:
                seen = now
                _give_up(running)
                folder = tempfile.TemporaryDirectory(prefix="gradscribe-")
                chosen = json.dumps(self.choice._asdict())
                command = [sys.executable, "-P", "-c", _CHILD, folder.name, chosen]
                running = subprocess.Popen(command, stdin=subprocess.DEVNULL), folder
                self.begun = time.monotonic()
            elif running is not None and running[0].poll() is not None:
                self.page = self.page[0] + 1, self._made(running[0], Path(running[1].name))
                self.begun = None
                files = Path(running[1].name) / "files.json"
                if files.exists():
                    imported = json.loads(files.read_text(encoding="utf-8"))
                    seen = {name: now.get(name, stamp) for name, stamp in _stamps(self.choice.target, imported).items()}
                running[1].cleanup()
                running = None
        _give_up(running)

    def _made(self, process: subprocess.Popen[bytes], folder: Path) -> str:
        """Return the page that an attempt made, or one that says what went wrong."""
        made, failed = folder / "page.html", folder / "error.json"
        if made.exists():
            return made.read_text(encoding="utf-8")
        if failed.exists():
            return _error_page(self.choice.target, json.loads(failed.read_text(encoding="utf-8")))
        said = f"The process ended with status {process.returncode}, and without a word."
        return _error_page(self.choice.target, {"said": said, "frames": []})


def _give_up(running: tuple[subprocess.Popen[bytes], tempfile.TemporaryDirectory[str]] | None) -> None:
    if running is not None:
        running[0].kill()
        running[0].wait()
        running[1].cleanup()


def _stamps(target: str, imported: list[str]) -> dict[str, tuple[int, int]]:
    """When the files of Python were saved that lie beside the target or that it imports, and their sizes."""
    place = target.partition(":")[0] if ".py" in target else "."
    folder = Path(place).parent if place.endswith(".py") else Path(place)
    found: dict[str, tuple[int, int]] = {}
    for path in {path.resolve() for path in (*folder.glob("*.py"), *map(Path, imported))}:
        try:
            status = path.stat()
        except OSError:  # an editor is about to put another there
            continue
        found[str(path)] = status.st_mtime_ns, status.st_size
    return found


# --- pages ---------------------------------------------------------------------------------------


def _live(version: int, text: str) -> str:
    """The page with the script that asks for newer ones."""
    before, end, after = text.replace("</title>", '</title>\n<link rel="icon" href="data:,">', 1).rpartition("</body>")
    ours = f'<p id="live" role="status" data-version="{version}"></p>\n<script>\n{part("live.js")}\n</script>\n'
    return before + ours + end + after


def _whole(body: str, title: str) -> str:
    """A page of ours, in the style of the report."""
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" '
        f'content="width=device-width, initial-scale=1">\n<title>{html.escape(title)}</title>\n<style>\n{part("report.css")}\n'
        f"</style>\n</head>\n<body>\n<header><h1>{html.escape(title)}</h1></header>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _error_page(target: str, error: dict[str, Any]) -> str:
    """The error in words, and each of the user's lines that it went through, the last one first."""
    parts = [f'<p class="flag" role="alert" id="said">{html.escape(error["said"])}</p>']
    for frame in error["frames"]:
        place = f"{frame['path']}, line {frame['line']}" + (f", in {frame['in']}" if frame["in"] else "")
        rows = [
            f'<div class="row{" lit-backward" if number == frame["line"] else ""}"><span class="number">{number}</span>'
            f"{html.escape(row) or ' '}</div>"
            for number, row in enumerate(frame["rows"], frame["first"])
        ]
        parts.append(f'<section><h2>{html.escape(place)}</h2><div class="code" tabindex="0" role="region" '
                     f'aria-label="{html.escape(place)}">{"".join(rows)}</div></section>')  # fmt: skip
    parts.append('<p class="hint">Mend it and save the file: the page comes back by itself.</p>')
    return _whole("\n".join(parts), f"{target.rpartition('/')[2]} has an error")


# --- HTTP ----------------------------------------------------------------------------------------


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = False  # whoever had the port before is gone

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a browser that hangs up is no error, and a hostile request no news."""


def _policy(text: str) -> str:
    """Return the policy of a page: the scripts that it holds, by their digests, and nothing from elsewhere."""
    digests = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in _SCRIPT.findall(text)]
    scripts = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _handler(explorer: Explorer) -> type[http.server.BaseHTTPRequestHandler]:
    """A class of handlers that know the explorer."""

    class Handler(http.server.BaseHTTPRequestHandler):
        timeout = 10  # seconds for a request to come in
        server_version, sys_version = "gradscribe", ""

        def do_GET(self) -> None:
            """Give the page or its state to the page itself and to whoever has typed its address."""
            if not self._welcome():
                self._answer(403, "text/plain", "Refused: this address is for the pages of gradscribe explore alone.\n")
            elif self._asks_for(f"/{explorer.token}/"):
                text = _live(*explorer.page)
                self._answer(200, "text/html", text, _policy(text))
            elif self._asks_for(f"/{explorer.token}/state"):
                self._answer(200, "application/json", json.dumps(explorer.state()))
            else:
                self._answer(404, "text/plain", "There is nothing here; the address has a token, which was printed.\n")

        def _asks_for(self, path: str) -> bool:
            return secrets.compare_digest(self.path.encode(), path.encode())

        def _welcome(self) -> bool:
            """Whether a request was sent to this very host, and neither by nor from the page of another one."""
            hosts, origins = self.headers.get_all("Host", []), self.headers.get_all("Origin", [])
            site = self.headers.get("Sec-Fetch-Site", "none")
            at_home = hosts == [explorer.host] and origins in ([], [f"http://{explorer.host}"])
            return at_home and site in ("none", "same-origin")

        def _answer(self, status: int, kind: str, text: str, policy: str = "default-src 'none'") -> None:
            body = text.encode()
            self.send_response(status)
            for name, value in {
                "Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(body)), "Content-Security-Policy": policy,
                "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
                "X-Frame-Options": "DENY", "Cross-Origin-Opener-Policy": "same-origin",
                "Cross-Origin-Resource-Policy": "same-origin",
            }.items():  # fmt: skip
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Write no log, which would hold the token."""

    return Handler
