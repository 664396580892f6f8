"""``python -m anls_eval`` is the command line."""

import gc
import sys

from anls_eval.cli import interrupts


def main() -> None:
    """Run the command line, or say what it needs."""
    try:
        interrupts.begin()
        _run()
    except BaseException as error:
        if not isinstance(error, KeyboardInterrupt) and not interrupts.was_interrupted:
            raise
        if getattr(error, "code", None) != interrupts.STATUS:  # which says that the commands have told it
            print("interrupted", file=sys.stderr)
        sys.exit(interrupts.STATUS)
    finally:
        interrupts.end()
        gc.freeze()  # else Python looks for cycles among all objects once more as it ends


def _run() -> None:
    try:
        from anls_eval.cli import commands
    except ModuleNotFoundError as error:
        remedy = "pip install '.[eval]' in the folder of anls"
        print(f"error: the command line needs {error.name}: {remedy}", file=sys.stderr)
        sys.exit(2)
    commands.main()


if __name__ == "__main__":
    main()
