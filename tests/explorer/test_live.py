"""`gradscribe explore`: the page over HTTP, whom it refuses, and that it follows the file through errors and back."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gradscribe.explorer import cli
from gradscribe.explorer.attempt import Choice
from gradscribe.explorer.live import Explorer

MODEL = """import numpy as np

w = np.array([1.0, 2.0])

def other(q):
    return np.sum(q)

def loss(w):
    r = np.tanh(w)
    return np.sum(r * r)
"""


def shown(explorer: Explorer, after: int = 0) -> str:
    """The page, once there is one behind the number `after`."""
    end = time.monotonic() + 60
    while explorer.state()["version"] <= after or explorer.state()["seconds"] is not None:
        assert time.monotonic() < end
        time.sleep(0.05)
    status, _, text = asked(explorer)
    assert status == 200
    return text


def asked(explorer: Explorer, path: str | None = None, method: str = "GET", **headers: str) -> tuple[int, Any, str]:
    """What the server says to a request: status, headers, text."""
    line = http.client.HTTPConnection(explorer.host, timeout=10)
    line.putrequest(method, f"/{explorer.token}/" if path is None else path, skip_host=True, skip_accept_encoding=True)
    for name, value in ({"Host": explorer.host} | headers).items():
        line.putheader(name.replace("_", "-"), value)
    line.endheaders()
    answer = line.getresponse()
    text = answer.read().decode()
    line.close()
    return answer.status, answer.headers, text


@pytest.fixture(scope="module")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    path = tmp_path_factory.mktemp("live") / "model.py"
    path.write_text(MODEL)
    with Explorer(Choice(str(path))) as served:
        yield served


def test_the_page_of_the_last_function_is_served_with_arguments_of_its_names(explorer: Explorer) -> None:
    text = shown(explorer)
    assert "<title>The gradient of loss</title>" in text
    assert "d_w: like w" in text
    status, headers, state = asked(explorer, f"/{explorer.token}/state")
    assert (status, headers.get_content_type()) == (200, "application/json")
    assert json.loads(state) == {"version": 1, "seconds": None}


def test_it_listens_to_this_machine_alone(explorer: Explorer) -> None:
    host, port = explorer._server.socket.getsockname()
    assert host == "127.0.0.1"
    own = {address[4][0] for address in socket.getaddrinfo(socket.gethostname(), port, socket.AF_INET)} - {host}
    for address in own:
        if not str(address).startswith("127."):
            with pytest.raises(OSError):
                socket.create_connection((str(address), port), timeout=1).close()


def test_no_two_explorers_have_one_token(explorer: Explorer) -> None:
    others = [Explorer(explorer.choice) for _ in range(3)]
    tokens = {one.token for one in [explorer, *others]}
    for other in others:
        other.close()
    assert len(tokens) == 4
    assert all(len(token) >= 32 for token in tokens)


@pytest.mark.parametrize(
    "path",
    [
        "/", "/state", "//", "/x/", "/index.html", "/model.py", "/favicon.ico", "/{token}", "/{token}/model.py", "/{token}//",
        "/{token}/../{token}/", "/{token}/%2e%2e/", "/{token}/..%2f..%2fetc/passwd", "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/{token}/../../../../etc/passwd", "/{token}/?x=1", "/{token}/state/", "/{token}\\..\\", "/{short}/", "/{token}x/",
        "/{upper}/", "file:///etc/passwd", "http://{host}/{token}/", "*", "/{token}/%00", "/\u00e9/",
    ],
)  # fmt: skip
def test_every_other_path_is_not_there(explorer: Explorer, path: str) -> None:
    token = explorer.token
    asked_for = path.format(token=token, short=token[:-1], upper=token.swapcase(), host=explorer.host)
    line = socket.create_connection(explorer.host.split(":"), timeout=10)
    line.sendall(f"GET {asked_for} HTTP/1.1\r\nHost: {explorer.host}\r\n\r\n".encode("latin-1"))
    answer = b"".join(iter(lambda: line.recv(65536), b""))
    line.close()
    assert answer.startswith(b"HTTP/1.0 404 ")
    assert b"gradient" not in answer
    assert b"root:" not in answer
    assert token.encode() not in answer


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "example.com"}, {"Host": "localhost:{port}"}, {"Host": "127.0.0.1"}, {"Host": "127.0.0.1:1"}, {"Host": ""},
        {"Host": "127.0.0.1:{port}.example.com"}, {"Host": "example.com:{port}"}, {"Host": "[::1]:{port}"},
        {"Origin": "http://example.com"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:1"}, {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "http://localhost:{port}"}, {"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"},
        {"Origin": "http://127.0.0.1:{port}.example.com"},
    ],
)  # fmt: skip
def test_other_hosts_and_origins_are_refused_even_with_the_token(explorer: Explorer, headers: dict[str, str]) -> None:
    port = explorer.host.rpartition(":")[2]
    sent = {name: value.format(port=port) for name, value in headers.items()}
    for path in (None, f"/{explorer.token}/state"):
        status, _, text = asked(explorer, path, **sent)
        assert status == 403
        assert "gradient" not in text
        assert "version" not in text


def test_a_request_without_a_host_or_with_two_is_refused(explorer: Explorer) -> None:
    for hosts in ("", f"Host: {explorer.host}\r\nHost: example.com\r\n"):
        line = socket.create_connection(explorer.host.split(":"), timeout=10)
        line.sendall(f"GET /{explorer.token}/ HTTP/1.1\r\n{hosts}\r\n".encode())
        assert line.recv(100).startswith(b"HTTP/1.0 403 ")
        line.close()


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "HEAD", "TRACE", "CONNECT", "PATCH"])
def test_nothing_can_be_done_but_look(explorer: Explorer, method: str) -> None:
    assert asked(explorer, method=method)[0] == 501


def test_the_page_itself_may_load_nothing_and_be_framed_by_nobody(explorer: Explorer) -> None:
    shown(explorer)
    _, headers, text = asked(explorer, Origin=f"http://{explorer.host}", Sec_Fetch_Site="same-origin")
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.count("'sha256-") == text.count("<script>")
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy.partition("script-src")[2].partition(";")[0]
    assert (headers["Cache-Control"], headers["X-Content-Type-Options"]) == ("no-store", "nosniff")
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "Access-Control-Allow-Origin" not in headers
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", text)


@pytest.mark.slow
def test_the_page_follows_the_file_through_errors_and_back(tmp_path: Path) -> None:
    path, helper = tmp_path / "model.py", tmp_path / "helper.py"
    helper.write_text("def half(x):\n    return x / 2\n")
    path.write_text(MODEL.replace("import numpy as np\n", "import numpy as np\nfrom helper import half\n"))
    with Explorer(Choice(f"{path}:loss", "w")) as explorer:
        assert "The gradient of loss" in shown(explorer)
        path.write_text(MODEL.replace("r * r)", "r * <b>)"))
        text = shown(explorer, 1)
        assert "SyntaxError: invalid syntax" in text
        assert 'class="row lit-backward"><span class="number">10</span>    return np.sum(r * &lt;b&gt;)' in text
        path.write_text(MODEL.replace("np.tanh(w)", "np.tanh(w) @ np.ones(5)"))
        text = shown(explorer, 2)
        assert "ValueError" in text
        assert 'class="row lit-backward"><span class="number">9</span>    r = np.tanh(w) @ np.ones(5)' in text
        path.write_text("import sys\nsys.exit(3)\n")
        assert "SystemExit: 3" in shown(explorer, 3)
        path.write_text("import os\nos._exit(7)\n")
        assert "ended with status 7" in shown(explorer, 4)
        path.write_text("while True: pass  # is given up when the file is saved again\n")
        time.sleep(1.0)
        path.write_text(MODEL.replace("r * r)", "half(r) * r)").replace("as np\n", "as np\nfrom helper import half\n"))
        text = shown(explorer, 5)
        assert "The gradient of loss" in text
        assert "half(r) * r" in text


@pytest.mark.slow
def test_it_follows_an_editor_that_renames_a_file_that_goes_and_modules_of_a_package(tmp_path: Path) -> None:
    path, part = tmp_path / "model.py", tmp_path / "parts" / "scales.py"
    part.parent.mkdir()
    part.write_text("def scaled(x):\n    return x * 2.0\n")
    text = MODEL.replace("import numpy as np\n", "import numpy as np\nfrom parts.scales import scaled\n").replace(
        "r * r)", "scaled(r))"
    )
    path.write_text(text)
    with Explorer(Choice(f"{path}:loss", "w")) as explorer:
        assert "x * 2.0" in shown(explorer)
        part.write_text("def scaled(x):\n    return x * 3.0\n")
        assert "x * 3.0" in shown(explorer, 1)
        (tmp_path / ".model.py.new").write_text(text.replace("scaled(r))", "scaled(r) + 1.0)"))
        (tmp_path / ".model.py.new").replace(path)
        assert "scaled(r) + 1.0" in shown(explorer, 2)
        path.unlink()
        assert "there is no file" in shown(explorer, 3)
        path.write_text(text)
        assert "x * 3.0" in shown(explorer, 4)
        time.sleep(1.0)
        assert explorer.state() == {"version": 5, "seconds": None}  # no page without a reason


def test_the_command_prints_the_address_and_ends_by_an_interrupt(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    command = [sys.executable, "-m", "gradscribe", "explore", str(path)]
    ignored = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # where the tests run in the background, it is inherited
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tmp_path, text=True) as process:
        signal.signal(signal.SIGINT, ignored)
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            host, token = re.fullmatch(r"http://(127\.0\.0\.1:\d+)/([\w-]{32})/", address).groups()  # type: ignore[union-attr]
            line = http.client.HTTPConnection(host, timeout=10)
            line.request("GET", f"/{token}/")
            assert line.getresponse().status == 200
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0
        finally:
            process.kill()


def test_a_file_that_is_not_there_is_a_wrong_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main("1.0", ["explore", "no_such_file.py"]) == 2
    assert "there is no file no_such_file.py" in capsys.readouterr().err
