"""Environment variables of other programs that would change Stoker, or the libraries that it runs on.

Kubernetes describes each service of a namespace to all its containers (`METRICS_PORT=tcp://10.0.0.1:9090`,
https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables). Celery, Flower, Flask
and Python read many variables, some with names as common as `APP`. Stoker configures these libraries itself,
so none of their variables is passed on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

KUBERNETES_PORT = re.compile(r"(tcp|udp|sctp)://")
"""What the value of a service's `..._PORT` begins with."""

PREFIXES = ("CELERY_", "DJANGO_", "FLASK_", "FLOWER_", "GUNICORN_", "KOMBU_", "PYTHON", "WERKZEUG_")

NAMES = frozenset(
    {
        # the options of Celery's command line
        *("APP", "BROKER_URL", "CONFIG_MODULE", "LOADER", "RESULT_BACKEND", "SKIP_CHECKS"),
        # what Celery and kombu read when they are imported
        *("AUTOSCALE_KEEPALIVE", "C_BENCH", "C_BENCH_EVERY", "C_FAKEFORK", "C_IMPDEBUG", "C_REMDEBUG"),
        *("C_STRICT_APP", "C_WARN_APP", "C_WNOCONF", "DISABLE_TRACEBACKS", "EVENTLET_NOBLOCK"),
        *("FORKED_BY_MULTIPROCESSING", "MP_LOG", "MP_MAIN_FILE", "NOSETPS", "PICKLE_PROTOCOL", "TIMER_DEBUG"),
        "USE_FAST_LOCALS",
    }
)

OWN = frozenset(
    {
        "FLOWER_BASIC_AUTH",
        "PYTHONPATH",  # an installation may have its libraries there; `stoker/__init__.py` searches it last
        # these change no behaviour but what is written where
        *("PYTHONDONTWRITEBYTECODE", "PYTHONFAULTHANDLER", "PYTHONPYCACHEPREFIX", "PYTHONUNBUFFERED"),
    }
)
"""Variables that Stoker's documentation names, or that are harmless."""


def foreign_variables(environ: Mapping[str, str]) -> list[str]:
    """Return the names of the variables that Stoker does not use and does not pass on."""
    return [name for name, value in environ.items() if _is_foreign(name, value)]


def _is_foreign(name: str, value: str) -> bool:
    if name in OWN:
        return False
    return (
        name in NAMES
        or name.startswith(PREFIXES)
        or (name.endswith("_PORT") and KUBERNETES_PORT.match(value) is not None)
    )
