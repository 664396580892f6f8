"""The leaderboards by name: one file for each, or for each family."""

from __future__ import annotations

import types
from collections.abc import Mapping

from anls_eval.errors import check_choice
from anls_eval.leaderboards.base import Leaderboard
from anls_eval.leaderboards.benchmark import Benchmark
from anls_eval.leaderboards.benchmarks import BENCHMARKS
from anls_eval.leaderboards.dude import DUDE
from anls_eval.leaderboards.icdar2026 import ICDAR2026
from anls_eval.leaderboards.mmesgbench import MMESGBENCH, MMESGBENCH_DOCUMENTED
from anls_eval.leaderboards.mmlongbench import MMLONGBENCH
from anls_eval.leaderboards.ocrbench import OCRBENCH_V2, OCRBENCH_V2_LMMS
from anls_eval.rules.protocol import Protocol
from anls_eval.rules.table import PROTOCOLS_BY_NAME_OR_ALIAS, name_key

_BOARDS = (DUDE, MMLONGBENCH, MMESGBENCH, MMESGBENCH_DOCUMENTED, OCRBENCH_V2, OCRBENCH_V2_LMMS, ICDAR2026)

LEADERBOARDS: Mapping[str, Leaderboard] = types.MappingProxyType({board.name: board for board in _BOARDS})
"""Every leaderboard by its name. `get_leaderboard` also accepts the aliases."""

LEADERBOARDS_BY_NAME_OR_ALIAS = {name: board for board in _BOARDS for name in (board.name, *board.aliases)}


BENCHMARKS_BY_NAME_OR_ALIAS = {name: own for own in BENCHMARKS.values() for name in (own.name, *own.aliases)}

BOARDS_BY_NAME_OR_ALIAS: Mapping[str, Leaderboard | Benchmark] = {
    **LEADERBOARDS_BY_NAME_OR_ALIAS,
    **BENCHMARKS_BY_NAME_OR_ALIAS,
}

_BY_NAME_OR_ALIAS: Mapping[str, Protocol | Leaderboard | Benchmark] = {
    **PROTOCOLS_BY_NAME_OR_ALIAS,
    **BOARDS_BY_NAME_OR_ALIAS,
}


def get_scored_rules(protocol: object) -> Protocol | Leaderboard | Benchmark:
    """Return the rules of any kind with this name or alias; rules are returned unchanged."""
    if isinstance(protocol, (Protocol, Leaderboard, Benchmark)):
        return protocol
    key = protocol if isinstance(protocol, str) and protocol in _BY_NAME_OR_ALIAS else name_key(protocol)
    if key not in _BY_NAME_OR_ALIAS:
        check_choice("protocol", protocol, tuple(_BY_NAME_OR_ALIAS))
    return _BY_NAME_OR_ALIAS[key]


def get_leaderboard(protocol: str) -> Leaderboard:
    """Return the leaderboard with this name or alias; refuse protocols for texts or trees."""
    key = name_key(protocol)
    other = protocol if isinstance(protocol, Protocol) else PROTOCOLS_BY_NAME_OR_ALIAS.get(key)
    if other is not None:
        kinds, function = ("trees", "anls_star_score") if other.tree else ("texts alone", "anls_score")
        raise ValueError(f"protocol {other.name!r} scores {kinds}: use anls_eval.{function}")
    if key in BENCHMARKS_BY_NAME_OR_ALIAS:
        name = BENCHMARKS_BY_NAME_OR_ALIAS[key].name
        raise ValueError(
            f"protocol {name!r} reports figures of many {BENCHMARKS[name].unit}s: use anls_eval.leaderboard_figures"
        )
    if key not in LEADERBOARDS_BY_NAME_OR_ALIAS:
        check_choice("protocol", protocol, tuple(LEADERBOARDS_BY_NAME_OR_ALIAS))
    return LEADERBOARDS_BY_NAME_OR_ALIAS[key]
