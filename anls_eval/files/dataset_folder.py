"""Datasets on disk, as ``save_to_disk`` writes them: which folders are one, and of which files."""

import os
from pathlib import Path

from anls_eval.files.files import exists, is_folder

_NAMES = ("dataset_info.json", "dataset_dict.json", "state.json")
_OF_OTHERS = ("cache-", "tmp")  # begin the names of what `Dataset.map` writes into the folder


def is_dataset(path: str | os.PathLike[str]) -> bool:
    """Return whether a folder is a dataset."""
    return is_folder(path) and any(exists(Path(path, name)) for name in _NAMES)


def folder_and_split(path: str) -> tuple[str, str | None]:
    """Return the folder of a dataset and the split that ``folder:split`` selects."""
    folder, _, split = path.rpartition(":")
    return (folder, split) if folder and not exists(path) and is_folder(folder) else (path, None)


def splits_in(folder: str) -> list[str]:
    """Return the splits that a folder has; none if it is one dataset."""
    return sorted(own.name for own in Path(folder).iterdir() if is_dataset(own))


def dataset_files(path: str) -> list[Path]:
    """Return the files of a dataset, or of the split that is selected; none if it is no dataset."""
    return sorted(own for own in folder_of(path).rglob("*") if _is_of_dataset(own))


def folder_of(path: str) -> Path:
    """Return the folder that holds the files of a dataset, or of the split that is selected."""
    folder, split = folder_and_split(path)
    return Path(folder, split) if split and is_folder(Path(folder, split)) else Path(folder)


def is_about(error: Exception, path: str) -> bool:
    """Return whether an error names a file, or a dataset or one of its files."""
    return str(error).startswith((f"{path}:", f"{path},", f"{folder_of(path)}{os.sep}"))


def _is_of_dataset(path: Path) -> bool:
    is_shard = path.suffix == ".arrow" and not path.name.startswith(_OF_OTHERS)
    return (is_shard or path.name in _NAMES) and path.is_file()
