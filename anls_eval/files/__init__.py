"""Read predictions and references in every common format, and write results."""

from anls_eval.files.detection import FORMATS
from anls_eval.files.errors import FormatError
from anls_eval.files.many import open_predictions, open_references
from anls_eval.files.reading import Batch, Detected, Reader
from anls_eval.files.write import write_rows

__all__ = [
    "FORMATS",
    "Batch",
    "Detected",
    "FormatError",
    "Reader",
    "open_predictions",
    "open_references",
    "write_rows",
]
