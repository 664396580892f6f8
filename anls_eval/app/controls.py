"""What the tabs share: examples, links, work in another process, and errors shown to the user."""

from __future__ import annotations

import contextlib
import functools
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

import gradio as gr
from gradio.processing_utils import save_base64_to_cache, ssrf_protected_download
from gradio.utils import get_upload_folder

from anls_eval.app import child
from anls_eval.app.limits import SUBMISSION_SECONDS
from anls_eval.app.page import alert
from anls_eval.app.results import Handler, as_sent
from anls_eval.errors import AnlsError

_MAX_LINK_CHARACTERS = 4_000

_Result = TypeVar("_Result")
_LABELS = {"protocol": "Protocol", "threshold": "Threshold", "extract": "Extract", "dataset_id": "Dataset on the Hub"}


def in_page_words(error: Exception, choices: Mapping[str, str] | None = None) -> str:
    """Return the message of an error in the words of the page; `choices` label the tab's further controls by option."""
    labels = _LABELS | dict(choices or {})

    def words(option: str, value: object) -> str | None:
        if option == "columns" and isinstance(value, dict):
            return _columns_of_file(value)
        label = labels.get(option)
        return label and (f"\u201c{label}\u201d" if option in (choices or ()) else f"{label} \u201c{value}\u201d")

    return error.told(words, verb="use") if isinstance(error, AnlsError) else str(error)


def _columns_of_file(columns: Mapping[str, str]) -> str:
    """Return what to do without an option for columns."""
    [role] = columns
    return f"a file with only one such column, named \u201c{role.rpartition('.')[2]}\u201d"


def _in_words_of_endpoints(option: str, value: object) -> str | None:
    """Endpoints take what they refuse as Python does, but have no options for missing ids and columns."""
    return _columns_of_file(value) if option == "columns" and isinstance(value, dict) else None


@contextlib.contextmanager
def endpoint_errors() -> Iterator[None]:
    """Turn a ValueError or TypeError of an endpoint into a `gr.Error` without a traceback."""
    try:
        yield
    except (ValueError, TypeError) as error:
        message = error.told(_in_words_of_endpoints, verb="use") if isinstance(error, AnlsError) else str(error)
        raise gr.Error(message, print_exception=False) from None


def shows_errors(outputs: int, choices: Mapping[str, str] | None = None) -> Callable[[Handler], Handler]:
    """Let a handler of this many outputs show a ValueError in the first; `choices` are for `in_page_words`."""

    def decorate(handler: Handler) -> Handler:
        @functools.wraps(handler)
        def guarded(*arguments: Any) -> tuple[Any, ...]:
            try:
                return handler(*arguments)
            except ValueError as error:
                return alert(in_page_words(error, choices)), *[""] * (outputs - 1)

        return guarded

    return decorate


def work_on_files(
    task: Callable[..., _Result], predictions: str | Sequence[str], references: str | None, *options: Any
) -> _Result:
    """Run a task on uploaded files in a separate process; errors name the files without their folders."""
    progress = gr.Progress()
    try:
        return child.run(
            task,
            predictions,
            references,
            *options,
            seconds=SUBMISSION_SECONDS,
            on_progress=lambda share, what: progress(share, desc=what),
        )
    except AnlsError as error:
        paths = (predictions, references) if isinstance(predictions, str) else (*predictions, references)
        for path in filter(None, paths):
            error.where, error.problem = (part.replace(path, Path(path).name) for part in (error.where, error.problem))
        raise


def uploaded(file: Any, number: int = 1) -> str:
    """Return the path of a file that an endpoint received; the number names a file that has no name."""
    if isinstance(file, dict) and file.get("meta") == {"_type": "gradio.FileData"}:
        return str(file["path"])  # gradio has refused all files that were not uploaded
    if not isinstance(file, str) or not file.startswith(("https:", "http:", "data:")):
        raise ValueError("expected an uploaded file, or the address of one")
    try:  # gradio fetches the addresses that programs send through MCP, except those in a list
        if file.startswith("data:"):
            return save_base64_to_cache(file, get_upload_folder(), f"file-{number}")
        return ssrf_protected_download(file, get_upload_folder())
    except Exception as error:  # of any kind: gradio raises what the network raises, and its own
        raise ValueError(f"{file[:200]} cannot be fetched: {error}") from None


def new_folder() -> str:
    """Return a new folder whose files users can download until they are deleted as old."""
    folder = Path(get_upload_folder())
    folder.mkdir(parents=True, exist_ok=True)
    return tempfile.mkdtemp(dir=folder)


def example_buttons(examples: Mapping[str, Sequence[Any]], fields: Sequence[Any]) -> list[Any]:
    """Add a button for each example that puts its values into the fields; return the click events."""
    gr.Markdown("Examples", elem_classes="examples-label")
    with gr.Row(elem_classes="examples"):
        buttons = [gr.Button(name, size="sm", min_width=80) for name in examples]
    values = [list(map(as_sent, fields, example)) for example in examples.values()]
    source = gr.JSON(values, visible=False)  # on the page: the server could answer after another choice of the user
    return [
        button.click(None, source, list(fields), js=f"(examples) => examples[{number}]")
        for number, button in enumerate(buttons)
    ]


def link(tab: str, **fields: Any) -> str:
    """Return the address that opens a tab with these values, or "" if it is too long for browsers."""
    try:
        address = "?" + urlencode({"tab": tab, **{name: value for name, value in fields.items() if value is not None}})
    except UnicodeEncodeError:  # a lone surrogate, which no address can hold
        return ""
    return address if len(address) <= _MAX_LINK_CHARACTERS else ""
