"""How many examples hypothesis tries: the same few in every `make test`, five times as many in `make test-long`."""

from hypothesis import HealthCheck, settings

_MANY = 500


def register_profiles() -> None:
    """No test depends on how fast the machine is."""
    for name, examples in ("project", _MANY // 5), ("all", _MANY):
        settings.register_profile(
            name,
            deadline=None,
            derandomize=name == "project",
            max_examples=examples,
            suppress_health_check=[HealthCheck.too_slow],
        )
    settings.load_profile("project")


def examples(many: int) -> settings:
    """The settings of a test that needs so many examples in `make test-long`."""
    return settings(max_examples=many * settings().max_examples // _MANY)
