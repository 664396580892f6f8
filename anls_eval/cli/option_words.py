"""Messages of the library in the words of the command line: ``--missing zero`` for ``missing="zero"``."""

from __future__ import annotations

import re
import shlex

# A message may hold anything from a file or its name. What is translated is only what this package says itself: the
# option that a message begins with, and the remedies that one of its lines ends with, each as a whole sentence.
_REFUSED = re.compile(
    r"""\A(protocol|threshold|missing|unknown|reported|answer_type|dataset_id)="""
    r"""(None|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|['"].{76}\.\.\.)"""
    r"""(?=: (?:expected (?:one of '|a number from 0 to 1\b|owner/name)|protocol '))""",
    re.DOTALL,
)
_REMEDY = re.compile(
    r"""(?:
    To[ ]score[ ]all[ ]the[ ]same:[ ]
        (?:missing="zero"[ ]scores[ ]questions[ ]without[ ]a[ ]prediction[ ]0)?(?:,[ ])?
        (?:unknown="ignore"[ ]leaves[ ]predictions[ ]without[ ]a[ ]question[ ]out)?\.
    | [Nn]ame[ ](?:the[ ]right[ ]one|its[ ]column|their[ ]column)[ ]with[ ]columns=\{'[\w.]+':[ ]NAME\}\.?
    | Mend[ ]them[ ]and[ ]run[ ]again[ ]with[ ]resume=True,[ ]or[ ]count[ ][a-z ]*[ ]with[ ]missing="zero"[ ]and[ ]leave
        [ ][a-z ]*[ ]with[ ]unknown="ignore"\.
    | go[ ]on[ ]with[ ]resume=True
    | again[ ]with[ ]resume=True(?:,[ ]or[ ]leave[ ]them[ ]out[ ]with[ ]skip_bad=True)?\.
    | expected[ ]a[ ]new[ ]folder,[ ]or[ ]resume=True[ ]to[ ]go[ ]on[ ]with[ ]an[ ]earlier[ ]run
    )$""",
    re.MULTILINE | re.VERBOSE,
)
_ARGUMENT = re.compile(r"""\b(missing|unknown|resume|skip_bad)=("\w+"|True)""")
_COLUMN = re.compile(r"columns=\{'([\w.]+)': NAME\}")


def in_options(message: str) -> str:
    r"""Give a message in which arguments as Python writes them are options of the command line.

    Args:
        message: Of an error. What it quotes from files, and their names, stays as it is.

    Example:
        >>> print(in_options("threshold='7/5': expected a number from 0 to 1"))
        --threshold 7/5: expected a number from 0 to 1
        >>> print(in_options("missing='zero': no id. Name the right one with columns={'question_id': NAME}."))
        missing='zero': no id. Name the right one with --columns question_id=NAME.
    """
    return _REMEDY.sub(_remedy, _REFUSED.sub(_option, message))


def _remedy(found: re.Match[str]) -> str:
    return _COLUMN.sub(r"--columns \1=NAME", _ARGUMENT.sub(_option, found[0]))


def _option(found: re.Match[str]) -> str:
    name, value = f"--{found[1].replace('_', '-')}", found[2]
    if value in ("None", "True"):
        return name
    return f"{name} {shlex.quote(value[1:] if value.endswith('...') else value[1:-1])}"
