"""Where the rows of a Parquet file end, from its footer: as Arrow says, and no damaged footer ends the process."""

import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from places import ROOT

from anls_eval.files.thrift import end_of_rows

TABLE = pa.table(
    {
        "id": [str(number) for number in range(60)],
        "answers": [[str(number % 7), None] for number in range(60)],
        "is_known": [number % 3 == 0 for number in range(60)],
        "box": [{"x": 1.5, "y": None}] * 60,
    }
)

# Each bit of the footer, one after another. What can be read is read, and what cannot is refused.
EACH_BIT = """
import sys
from pathlib import Path
from anls_eval.files import FormatError, open_predictions
path = Path(sys.argv[1])
whole, start, refused = path.read_bytes(), int(sys.argv[2]), 0
for at in range(start, len(whole) - 8):
    for bit in range(8):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << bit
        path.write_bytes(damaged)
        try:
            for _ in open_predictions(path, columns={"prediction": "id"}).batches():
                pass
        except FormatError:
            refused += 1
print(refused)
"""


def footer_of(path: Path) -> bytes:
    data = path.read_bytes()
    (length,) = struct.unpack("<i", data[-8:-4])
    return data[-8 - length : -8]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"row_group_size": 7},
        {"row_group_size": 1, "compression": "none"},
        {"write_page_index": True},
        {"use_dictionary": False},
        {"write_statistics": False},
        {"version": "1.0"},
    ],
    ids=str,
)
def test_as_arrow_says(options: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(TABLE, path, **options)
    metadata = pq.read_metadata(path)
    last = metadata.row_group(metadata.num_row_groups - 1)
    columns = [last.column(number) for number in range(last.num_columns)]
    starts = [column.dictionary_page_offset or column.data_page_offset for column in columns]
    ends = [start + column.total_compressed_size for start, column in zip(starts, columns, strict=True)]
    assert end_of_rows(footer_of(path)) == max(ends)


@pytest.mark.parametrize("footer", [b"", b"\x15", b"\x19\xff\xff\xff\xff\x0f", b"\x1c" * 5_000, b"\x1b\x01"], ids=str)
def test_what_is_no_footer(footer: bytes) -> None:
    with pytest.raises(pa.ArrowInvalid, match="its footer is damaged"):
        end_of_rows(footer)


def test_no_damaged_footer_ends_the_process(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(TABLE.select(["id"]).slice(0, 3), path)
    start = len(path.read_bytes()) - 8 - len(footer_of(path))
    command = [sys.executable, "-c", EACH_BIT, str(path), str(start)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 100
