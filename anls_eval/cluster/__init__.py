"""Data sets in many files, scored by the workers of a Dask cluster."""

from anls_eval.cluster.errors import MISCONFIGURED, misconfigured

try:
    import dask.distributed  # noqa: F401 - it reads its configuration
except MISCONFIGURED as error:
    raise misconfigured(error) from None
