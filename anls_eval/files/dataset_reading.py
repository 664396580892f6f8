"""Hugging Face datasets on disk or on the Hub, which the library datasets opens."""

import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from anls_eval.decoding import kind_not_read
from anls_eval.files.arrow_files import blocks, faults_named, ipc_batches, open_arrow, plain
from anls_eval.files.dataset_folder import dataset_files, folder_and_split, is_dataset, splits_in
from anls_eval.files.errors import FormatError, NoRowsError, listed
from anls_eval.files.files import File, find_file, start_of, text_of
from anls_eval.files.source import Block, Source
from anls_eval.limits import raise_limit


def _datasets(path: str) -> Any:
    """Return the library, which looks for a folder for temporary files when it is imported."""
    try:
        import datasets
    except FileNotFoundError:
        raise FormatError(
            path,
            "the library datasets needs a writable folder for temporary files, and there is none. Name one by the "
            "environment variable TMPDIR.",
        ) from None
    return datasets


def open_dataset(path: str) -> Source:
    """Open a dataset written by ``save_to_disk``; ``path:split`` selects one of several splits."""
    found = _loaded(path)
    notes: dict[str, None] = {}
    # Not by the library, which maps the files to memory, where one that is cut off meanwhile ends the process.
    shards = [File(shard["filename"], None, None, notes=notes) for shard in found.cache_files]

    def read(wanted: Sequence[str], size: int) -> Iterator[Block]:
        with faults_named(path, "dataset"):
            batches = itertools.chain.from_iterable(ipc_batches(shard, wanted, size) for shard in shards)
            yield from blocks(batches, wanted, size)

    return Source("dataset", tuple(found.column_names), found.num_rows, read, notes=notes)


def _loaded(path: str) -> Any:
    """Return the dataset of a folder or split."""
    datasets = _datasets(path)
    folder, split = folder_and_split(path)
    for own in Path(folder).rglob("*"):
        if own.exists() and not own.is_dir() and not own.is_file():  # to open a FIFO would wait for its writer
            raise FormatError(path, f"{own.name} is not a regular file. Save the dataset again.")
    if split is not None and is_dataset(Path(folder, split)):  # whatever is wrong with others
        folder, split = str(Path(folder, split)), None
    try:
        found = datasets.load_from_disk(folder, keep_in_memory=False)
    except IndexError:  # without rows, a dataset is saved without the file that is needed here
        if splits := splits_in(folder):
            _of_split(dict.fromkeys(splits), split, path)
        raise NoRowsError(path, "the dataset has no rows.") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, pa.ArrowException) as error:
        raise_limit(error)
        raise _not_loaded(path, folder, error) from None
    return _of_split(found, split, path)


def _not_loaded(path: str, folder: str, error: Exception) -> FormatError:
    """Return the error of a folder that the library cannot load, with the file that is at fault if there is one."""
    reason = f"no {error}" if isinstance(error, KeyError) else str(error).rstrip(".")
    if isinstance(error, OSError) and error.filename:
        reason = f"{error.strerror}: {error.filename}"
    if not is_dataset(folder):
        problem = f"not a dataset on disk: {reason}. Expected a file, or a folder written by save_to_disk."
        return FormatError(path, problem)
    for own in dataset_files(folder):
        try:
            _check_part_of_dataset(find_file(str(own), None))
        except FormatError as fault:
            return fault
    return FormatError(path, f"a damaged dataset: {reason}. Save or copy it again.")


def _check_part_of_dataset(file: File) -> None:
    """Refuse a file of a dataset on disk that is damaged, or another file in its place."""
    kind = kind_not_read(start_of(file))
    if kind is not None:
        raise FormatError(file.path, f"{kind}.")
    if file.name.endswith(".json"):
        try:
            json.loads(text_of(file))
        except json.JSONDecodeError as error:
            problem = f"not JSON: {error.msg}. The dataset is damaged: save or copy it again."
            raise FormatError(file.path, problem, f"line {error.lineno}, column {error.colno}") from None
        return
    source = open_arrow(file)
    for _ in source.read(source.names[:1], 1024):
        pass


def open_hub(path: str) -> Source:
    """Open a dataset on the Hub as a stream: ``hub:name``, ``hub:name:split`` or ``hub:name:config:split``."""
    datasets = _datasets(path)
    name, *rest = path.removeprefix("hub:").split(":")
    if not name or len(rest) > 2:
        raise FormatError(path, "expected hub:name, hub:name:split or hub:name:config:split.")
    try:
        is_config = len(rest) == 2 or (len(rest) == 1 and rest[0] in datasets.get_dataset_config_names(name))
        config = rest[0] if is_config else None
        split = rest[-1] if rest and (len(rest) == 2 or config is None) else None
        loaded = datasets.load_dataset(name, config, streaming=True)
    except Exception as error:  # the network, the Hub and the dataset's files each raise their own
        raise_limit(error)
        raise FormatError(path, f"cannot be loaded: {error}") from None
    own = _of_split(loaded, split, path)
    names = tuple(own.column_names or next(iter(own.take(1))))

    def read(wanted: Sequence[str], size: int) -> Iterator[Block]:
        tables = own.select_columns(list(wanted)).with_format("arrow").iter(size)
        batches = (batch for table in tables for batch in table.combine_chunks().to_batches())
        with faults_named(path, "dataset"):
            yield from blocks(plain(batches, wanted, size, File(path, None, None)), wanted, size)

    return Source("hub", names, None, read)


def _of_split(loaded: Any, split: str | None, path: str) -> Any:
    """Return the dataset of a split, which need not be named if there is one."""
    if isinstance(loaded, dict):
        splits = list(map(str, loaded))
        if split is None and len(splits) == 1:
            split = splits[0]
        if split not in splits:
            asked = "it has several splits" if split is None else f"it has no split {split!r}"
            raise FormatError(path, f"{asked}: {listed(splits)}. Write {path.removesuffix(f':{split}')}:{splits[0]}.")
        return loaded[split]
    if split is not None:
        raise FormatError(path, f"it has no splits, so there is no {split!r}. Leave the split out.")
    return loaded
