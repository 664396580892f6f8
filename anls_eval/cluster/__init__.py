"""Data sets in many files, scored by the workers of a Dask cluster."""

import psutil

from anls_eval.cluster.errors import MISCONFIGURED, ClusterError, misconfigured

try:
    import dask.distributed  # noqa: F401 - it reads its configuration and looks up this process
except MISCONFIGURED as error:
    raise misconfigured(error) from None
except psutil.Error:
    raise ClusterError("Dask cannot look up this process. On Linux, /proc must be mounted.") from None
