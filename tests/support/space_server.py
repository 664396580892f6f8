"""The web app as its users have it: the real ``python app.py``, in a process of its own."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
from gradio_client import Client  # type: ignore[import-untyped]
from places import ROOT


@contextlib.contextmanager
def serve(folder: Path, root: Path = ROOT, python: str | Path = sys.executable) -> Iterator[str]:
    """Run the app of a folder and give its address; nothing of it may be left over, and no traceback in its log."""
    home, other = folder / "home", folder / "other"
    home.mkdir()
    other.mkdir()
    log = folder / "log"
    (other / "anls.py").write_text("raise ImportError('PyPI has another package of this name')")
    port = free_port()
    environment = os.environ | {
        "GRADIO_SERVER_PORT": str(port),
        "HOME": str(home),
        "MPLCONFIGDIR": str(other),  # where matplotlib, which gradio imports if it is there, keeps its list of fonts
        "PYTHONPATH": str(other),
        "TMPDIR": str(home),
    }
    address = f"http://127.0.0.1:{port}/"
    with log.open("w") as output:
        process = subprocess.Popen(
            [python, root / "app.py"], cwd=home, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        while not answers_requests(address):
            assert process.poll() is None, log.read_text()
            time.sleep(0.1)
        try:
            yield address
        except Exception:
            print(log.read_text())  # says why a request failed
            raise
        assert process.poll() is None, log.read_text()
    finally:
        process.terminate()
        process.wait()
    assert not answers_requests(address)
    # But for gradio's own, where a file was asked for that was not uploaded.
    assert all("InvalidPathError" in own for own in log.read_text().split("Traceback")[1:]), log.read_text()
    assert not [path for path in home.rglob("*") if path.is_file()]


def free_port() -> int:
    """A port below 32,768, from where on the system gives them to whoever asks for any."""
    for port in range(20_000 + os.getpid() % 10_000, 32_768):
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port
    raise OSError("no port is free")


def answers_requests(address: str) -> bool:
    try:
        return httpx.get(f"{address}config").is_success
    except httpx.TransportError:
        return False


def client_of(address: str) -> Client:
    """A client that waits as long as the machine takes."""
    return Client(address, verbose=False, analytics_enabled=False, httpx_kwargs={"timeout": None})
