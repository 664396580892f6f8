"""Only regular files are opened, without waiting for what took their place, in an orderly way for who holds them."""

import errno
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from storage import give_little

from anls_eval.opening import NotRegularError, Regular, open_regular, opening_fault

# Holds a lease on a file until somebody wants to open it.
HOLDER = """
import fcntl, os, signal, sys
held = os.open(sys.argv[1], os.O_RDWR)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])
fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("held", flush=True)
signal.sigwaitinfo([signal.SIGIO])  # which Linux sends, and lets nobody open the file meanwhile
fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_UNLCK)
"""


def test_a_regular_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    for name in ("file", "link"):
        with open_regular(tmp_path / name) as stream:
            assert stream.read() == b"content"


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("fifo", NotRegularError, "not a regular file, which can be read twice. Save the data to a file first."),
        ("/dev/zero", NotRegularError, "not a regular file, which can be read twice. Save the data to a file first."),
        ("folder", IsADirectoryError, "a folder; expected a file. Check the path."),
        ("loop", OSError, "cannot be opened: Too many levels of symbolic links. Check the path."),
        ("nothing", FileNotFoundError, "cannot be opened: No such file or directory. Check the path."),
        ("fifo/x", NotADirectoryError, "cannot be opened: Not a directory. Check the path."),
        ("a\0b", ValueError, "cannot be opened: embedded null byte. Check the path."),
    ],
)
def test_anything_else(tmp_path: Path, name: str, kind: type[Exception], words: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(kind) as raised:
        open_regular(tmp_path / name)
    assert isinstance(raised.value, OSError | ValueError)
    assert opening_fault(raised.value) == words


def test_a_file_that_may_not_be_read() -> None:
    refused = PermissionError(errno.EACCES, os.strerror(errno.EACCES), "x")  # root may read every file
    assert opening_fault(refused) == "cannot be opened: Permission denied. Make it and its folders readable."


def test_an_empty_path_is_no_folder() -> None:
    with pytest.raises(FileNotFoundError):
        open_regular("")


@pytest.mark.skipif(sys.platform != "linux", reason="leases are of Linux")
def test_a_file_with_a_lease(tmp_path: Path) -> None:
    """As a server of Samba has: Linux refuses to open it without waiting, until the holder has given up the lease."""
    path = tmp_path / "file"
    path.write_bytes(b"content")
    with subprocess.Popen([sys.executable, "-c", HOLDER, path], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with open_regular(path) as stream:
            assert stream.read() == b"content"
    assert holder.returncode == 0


def test_a_file_of_the_kernel_without_data() -> None:
    """It looks regular, as /proc/kmsg does, and has nothing yet, as this pipe."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    with io.BufferedReader(Regular(reading)) as stream:
        for size in (1, -1):
            with pytest.raises(NotRegularError):
                stream.read(size)
    os.close(writing)


def test_storage_that_gives_less_than_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As POSIX allows, and FUSE and Lustre do."""
    (tmp_path / "file").write_bytes(bytes(range(256)) * 100)
    give_little(monkeypatch)
    with open_regular(tmp_path / "file") as stream:
        assert stream.read(20_000) == (bytes(range(256)) * 100)[:20_000]
