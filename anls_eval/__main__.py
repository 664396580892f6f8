"""``python -m anls_eval`` is the command line."""

import gc
import sys

from anls_eval.cli import interrupts


def main() -> None:
    """Run the command line, or say what it needs."""
    interrupts.run(_command_line)


def _command_line() -> None:
    try:
        from anls_eval.cli import commands
    except ModuleNotFoundError as error:
        remedy = "pip install '.[eval]' in the folder of anls"
        print(f"error: the command line needs {error.name}: {remedy}", file=sys.stderr)
        sys.exit(2)
    try:
        commands.main()
    finally:
        gc.freeze()  # else Python looks for cycles among all objects once more as it ends


if __name__ == "__main__":
    main()
