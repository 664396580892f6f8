"""What the tabs have in common: examples, links, work in another process, and errors in words."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

import gradio as gr
from gradio.processing_utils import save_base64_to_cache, ssrf_protected_download
from gradio.utils import get_upload_folder

from anls_eval.app import child

_LONGEST_LINK = 4_000

_Result = TypeVar("_Result")


@contextlib.contextmanager
def refusals() -> Iterator[None]:
    """Show users of an endpoint what is wrong, in place of a traceback.

    Raises:
        gr.Error: In place of a ValueError or TypeError.
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        raise gr.Error(str(error), print_exception=False) from None


def work(
    task: Callable[..., _Result],
    *arguments: Any,
    seconds: float,
    files: Sequence[str | None] = (),
    progress: gr.Progress | None = None,
) -> _Result:
    """Do some work as `child.run` does; its errors name uploaded files as their users do.

    Args:
        task: As in `child.run`.
        arguments: The same.
        seconds: The same.
        files: The paths of uploaded files.
        progress: Shows the progress.

    Raises:
        ValueError: What `child.run` raises.
    """

    def show(share: float, what: str) -> None:
        if progress is not None:
            progress(share, desc=what)

    try:
        return child.run(task, *arguments, seconds=seconds, on_progress=show)
    except child.RefusedError as error:
        message = str(error)
        for path in filter(None, files):
            message = message.replace(path, Path(path).name)
        raise ValueError(message) from None


def uploaded(file: Any, number: int = 1) -> str:
    """Give the path of a file that came to an endpoint.

    Args:
        file: What gradio makes of an uploaded file, or the address of one as ``https:`` or ``data:``. Gradio itself
            fetches addresses that programs send through MCP, but for those in a list.
        number: For the name of a file that has none.

    Raises:
        ValueError: Something else, or a file that cannot be fetched.
    """
    if isinstance(file, dict) and file.get("meta") == {"_type": "gradio.FileData"}:
        return str(file["path"])  # gradio has refused all files that were not uploaded
    if not isinstance(file, str) or not file.startswith(("https:", "http:", "data:")):
        raise ValueError("expected an uploaded file, or the address of one")
    try:
        if file.startswith("data:"):
            return save_base64_to_cache(file, get_upload_folder(), f"file-{number}")
        return ssrf_protected_download(file, get_upload_folder())
    except Exception as error:  # of any kind: gradio raises what the network raises, and its own
        raise ValueError(f"{file[:200]} cannot be fetched: {error}") from None


def example_buttons(examples: Mapping[str, Sequence[Any]], fields: Sequence[Any]) -> list[Any]:
    """Add a button for each example, which puts its values into the fields.

    Args:
        examples: The values of the fields, by the name of the example.
        fields: As many components as an example has values.

    Returns:
        The events of the buttons.
    """
    gr.Markdown("Examples", elem_classes="examples-label")
    with gr.Row(elem_classes="examples"):
        buttons = [gr.Button(name, size="sm", min_width=80) for name in examples]
    return [
        button.click(_giving(values), None, list(fields), show_progress="hidden", api_visibility="private")
        for button, values in zip(buttons, examples.values(), strict=True)
    ]


def _giving(values: Sequence[Any]) -> Callable[[], list[Any]]:
    return lambda: list(values)


def link(tab: str, **fields: Any) -> str:
    """Give the address that opens a tab with these values, or nothing if browsers would not take it.

    Example:
        >>> link("answer", prediction="a b", threshold=None)
        '?tab=answer&prediction=a+b'
    """
    try:
        address = "?" + urlencode({"tab": tab, **{name: value for name, value in fields.items() if value is not None}})
    except UnicodeEncodeError:  # half a character, which no address can hold
        return ""
    return address if len(address) <= _LONGEST_LINK else ""
