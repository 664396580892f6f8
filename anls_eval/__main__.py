"""``python -m anls_eval`` is the command line."""

import sys


def main() -> None:
    """Run the command line, or say what it needs."""
    try:
        from anls_eval import cli
    except ModuleNotFoundError as error:
        print(f"error: the command line needs {error.name}: pip install 'anls-metric[eval]'", file=sys.stderr)
        sys.exit(2)
    cli.main()


if __name__ == "__main__":
    main()
