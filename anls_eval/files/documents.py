"""One document to score: a prediction and its reference, in a JSON file."""

from __future__ import annotations

import os
from typing import Any

from anls_eval.files import FormatError
from anls_eval.files.files import find_file, text_of
from anls_eval.files.json_text import parse


def read_document(path: str | os.PathLike[str], max_bytes: int | None = None) -> tuple[Any, Any]:
    r"""Read ``{"prediction": ..., "reference": ...}`` from a JSON file; both are trees or texts.

    Args:
        path: The file.
        max_bytes: Maximum number of bytes to read.

    Returns:
        The prediction and the reference.

    Raises:
        FormatError: The file cannot be read, or does not hold such an object.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "document.json")
        >>> _ = path.write_text('{"prediction": {"total": "17.9"}, "reference": {"total": "17.99"}}')
        >>> read_document(path)
        ({'total': '17.9'}, {'total': '17.99'})
    """
    name = os.fspath(path)
    document = parse(text_of(find_file(name, max_bytes)), name)
    wanted = {"prediction", "reference"}
    if not isinstance(document, dict) or document.keys() != wanted:
        found = f"the keys {', '.join(document)}" if isinstance(document, dict) else f"a {type(document).__name__}"
        raise FormatError(name, "", f'found {found}; expected an object {{"prediction": ..., "reference": ...}}.')
    return document["prediction"], document["reference"]
