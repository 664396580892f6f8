"""The files that a path, a folder, a pattern or a list of them stands for, in the order in which they are read."""

import glob
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from pathlib import Path

from anls_eval.errors import AnlsError
from anls_eval.files.dataset_folder import folder_and_split, is_dataset
from anls_eval.files.errors import FormatError
from anls_eval.files.files import exists, is_folder
from anls_eval.inputs.values import type_with_article
from anls_eval.limits import raise_limit

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""One file, a folder, a pattern, or a list of them."""


def is_several(given: Paths, format_name: str | None = None) -> bool:
    """Return whether this is a list, a folder or a pattern of files."""
    if not isinstance(given, (str, os.PathLike)):
        return True
    path = os.fspath(given)
    if path.startswith("hub:") or format_name in ("dataset", "hub") or "\0" in path:
        return False
    if not exists(path):
        folder, split = folder_and_split(path)
        return glob.has_magic(path) and not (split and is_dataset(folder))
    return is_folder(path) and not is_dataset(path)


def file_paths(given: Paths, format_name: str | None = None) -> list[str]:
    """Return the files of a path, folder, pattern or list of them, in the natural order of their names."""
    if isinstance(given, str) and not given:
        # Which `Path` takes for the current folder: a variable of the shell that is not set.
        raise ValueError("an empty path; expected a file, a folder or a pattern")
    if not is_several(given, format_name):
        return [os.fspath(given)]  # type: ignore[arg-type] # a list is several
    if not isinstance(given, (str, os.PathLike)):
        if isinstance(given, bytes) or not isinstance(given, (Sequence, Set, Iterator)):
            raise _no_path(given, "a path, a pattern or a list of them")
        paths = [path for item in given for path in file_paths(item, format_name)]
        if not paths:
            raise ValueError("an empty list of files; expected at least one")
    elif exists(given):
        paths = _shown_files(given, names_in(given))
    else:
        _check_folders(Path(given))
        paths = _shown_files(given, glob.glob(os.fspath(given), recursive=True))  # noqa: PTH207 # takes absolute ones
    first: dict[str, str] = {}
    for path in filter(exists, paths):
        place = os.path.realpath(path)
        if place in first:
            what = "given twice" if first[place] == path else f"the same file as {first[place]}"
            raise FormatError(path, f"{what}. Expected each file once.")
        first[place] = path
    return sorted(paths, key=natural_order)


def one_path(given: str | os.PathLike[str]) -> str:
    """Return a path as a text, or raise an AnlsError for values in memory."""
    if not isinstance(given, (str, os.PathLike)):
        raise _no_path(given, "a path")
    return os.fspath(given)


def _no_path(given: object, expected: str) -> AnlsError:
    scored_by = "Values in memory are scored by anls_scores and anls_star_scores."
    return AnlsError(f"{type_with_article(given)} is not a path; expected {expected}. {scored_by}")


def names_in(folder: str | os.PathLike[str]) -> list[str]:
    """Return the paths of what is in a folder; an error of the system is a FormatError."""
    try:
        return list(map(str, Path(folder).iterdir()))
    except OSError as error:
        raise _unreadable(folder, error) from None


def _check_folders(pattern: Path) -> None:
    """Raise a FormatError for a folder that the pattern looks into and cannot read, which `glob` would leave out."""
    levels: dict[Path, bool] = {}  # whether the names in such a folder are listed, or one of them is known
    for number, part in enumerate(pattern.parts):
        above = Path(*pattern.parts[: number + (part == "**")])
        if part != pattern.anchor:
            levels[above] = levels.get(above, False) or glob.has_magic(part)
    for above, is_listed in levels.items():
        for folder in glob.glob(os.path.join(above, ""), recursive=True):  # noqa: PTH118, PTH207 # of folders only
            _check_folder(folder, is_listed)


def _check_folder(folder: str, is_listed: bool = True) -> None:
    """Raise a FormatError for a folder whose files may not be opened, or not be listed where that is needed."""
    try:
        if is_listed:
            os.scandir(folder).close()
        os.stat(os.path.join(folder, "."))  # noqa: PTH116, PTH118 # `Path` would leave the dot out
    except OSError as error:
        raise _unreadable(folder, error) from None


def _unreadable(folder: str | os.PathLike[str], error: OSError) -> FormatError:
    raise_limit(error)
    problem = f"the folder cannot be read: {error.strerror}. Make it readable, or pass paths without it."
    return FormatError(os.fspath(folder), problem)


def _shown_files(given: str | os.PathLike[str], found: Iterable[str]) -> list[str]:
    """Return the files whose names do not begin with ``.`` or ``_``, unless the pattern does."""
    hidden = "" if Path(given).name[:1] in ("_", ".") else "._"
    paths = [path for path in found if not hidden or Path(path).name[:1] not in hidden]
    folder = next((path for path in paths if is_folder(path) and not is_dataset(path)), None)
    if folder is not None:
        _check_folder(folder)
        if any(map(is_dataset, paths)) and any(Path(folder).glob("*.arrow")):
            problem = "a dataset that was not saved to its end: it has no state.json. Save it again, or move it."
            raise FormatError(folder, problem)
        inside = (str(own) for own in Path(folder).rglob("*"))
        file = next((path for path in (*paths, *inside) if not is_folder(path)), folder)
        pattern = f"{glob.escape(str(Path(folder).parent))}/**/*{Path(file).suffix}"
        named = f", or name the files by a pattern, such as {pattern!r}, which also reads folders in folders"
        raise FormatError(
            folder,
            f"a folder among the files of {os.fspath(given)}. Expected files only: move it"
            f"{'' if file is folder else named}.",
        )
    if not paths:
        raise FormatError(os.fspath(given), "no files. Expected a folder with files or a pattern that matches some.")
    return paths


_OF_SEVERAL = re.compile(r"(.*?)([0-9]+)-of-([0-9]+)(\D.*)?", re.DOTALL)


def notes_on_absent(given: Paths, paths: Sequence[str], format_name: str | None = None) -> list[str]:
    """Return notes on files of a folder or pattern that others announce by their names, as ``data-00001-of-00012``."""
    if not isinstance(given, (str, os.PathLike)) or not is_several(given, format_name):
        return []  # which names the files that are wanted
    there: dict[tuple[str, str, str], set[int]] = {}
    for name in filter(None, map(_OF_SEVERAL.fullmatch, paths)):
        there.setdefault((name[1], name[3], name[4] or ""), set()).add(int(name[2]))
    return [
        f"{start}*-of-{total}{end}: {len(numbers)} of {int(total)} files are read, and the others are not among them: "
        "their rows are missing"
        for (start, total, end), numbers in there.items()
        if len(numbers) < int(total)
    ]


def natural_order(path: str) -> tuple[list[str | int], str]:
    """Return a sort key that puts ``part-2`` before ``part-10``."""
    pieces = re.split(r"([0-9]+)", path)
    return [int(piece) if number % 2 else piece for number, piece in enumerate(pieces)], path


def check_order(predictions: Sequence[str], references: Sequence[str]) -> None:
    """Refuse files that are paired in their order if their names show another one: by numbers, or by the same names."""
    numbers = _numbers(predictions), _numbers(references)
    names = _short_names(predictions), _short_names(references)
    on_both_sides = set(names[0]).intersection(names[1])
    pairs = zip(*numbers, *names, predictions, references, strict=False)
    for own, other, name, other_name, one, counterpart in pairs:
        is_elsewhere = name != other_name and not on_both_sides.isdisjoint((name, other_name))
        if is_elsewhere or (own and other and len(own) == len(other) and own != other):
            what = "names" if is_elsewhere else "numbers in these names"
            raise AnlsError(
                f"{one} would be paired with {counterpart}: without question_ids, files are paired in the natural "
                f"order of their names, and the {what} differ. Rename the files, or add question_ids."
            )


def _short_names(paths: Sequence[str]) -> list[str]:
    return [Path(path).name.split(".")[0].casefold() for path in paths]


def _numbers(paths: Sequence[str]) -> list[tuple[int, ...]]:
    """Return the first numbers of each name that together tell the names apart; empty for names with more or fewer."""
    found = [tuple(map(int, re.findall(r"[0-9]+", Path(path).name))) for path in paths]
    usual = max(Counter(map(len, found)).items(), key=lambda own: (own[1], own[0]), default=(0, 0))[0]
    alike = [own for own in found if len(own) == usual]
    varying = [place for place, column in enumerate(zip(*alike, strict=True)) if len(set(column)) > 1]
    for count in range(1, len(varying) + 1):
        rows = {own: tuple(own[place] for place in varying[:count]) for own in alike}
        if len(set(rows.values())) == len(alike):
            return [rows.get(own, ()) for own in found]
    return [()] * len(paths)


def paths_label(paths: Sequence[str]) -> str:
    """Return the name of several files together, for messages."""
    return paths[0] + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
