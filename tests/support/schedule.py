"""Which tests run in one process, of those that pytest-xdist starts."""

from xdist.scheduler import LoadScopeScheduling

_ONE_APP = ("tests/app/", "tests/browser/")


class FilesTogether(LoadScopeScheduling):
    """The tests of a file in one process, and so those of all files that use the app: it is started once."""

    def _split_scope(self, nodeid: str) -> str:
        return "app" if nodeid.startswith(_ONE_APP) else nodeid.partition("::")[0]
