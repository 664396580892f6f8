"""A small file system in memory, where one can be mounted."""

import contextlib
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[bool]:
    """Mount a file system of this size over a folder; False if that is not allowed."""
    command = [shutil.which("mount") or "mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
    if subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode:
        yield False
        return
    try:
        yield True
    finally:
        subprocess.run([shutil.which("umount") or "umount", str(folder)], check=True)


def enlarge(folder: Path, size: str) -> None:
    """Give a small disk another size."""
    assert _remounted(folder, f"size={size}")


def make_read_only(folder: Path) -> None:
    """Let nothing more be written to a small disk, as soon as no file on it is open for that."""
    while not _remounted(folder, "ro"):
        time.sleep(0.01)


def make_writable(folder: Path) -> None:
    """Let a small disk be written to again."""
    assert _remounted(folder, "rw")


def _remounted(folder: Path, option: str) -> bool:
    command = [shutil.which("mount") or "mount", "-o", f"remount,{option}", str(folder)]
    return not subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode
