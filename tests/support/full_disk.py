"""A small file system in memory, where one can be mounted."""

import contextlib
import shutil
import subprocess
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
    subprocess.run([shutil.which("mount") or "mount", "-o", f"remount,size={size}", str(folder)], check=True)
