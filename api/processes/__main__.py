"""`python -m api.processes`: the API with the settings of this machine."""

from __future__ import annotations

import sys

from api.processes.serve import ListenError, serve
from config.errors import ConfigError
from config.load import intended_log_format, load_settings
from telemetry.logging import write_refusal


def main() -> None:
    """Serve. An invalid configuration ends in one line per problem, a port in use in one line."""
    try:
        serve(load_settings())
    except (ConfigError, ListenError) as error:
        problems = error.problems if isinstance(error, ConfigError) else [str(error)]
        write_refusal(problems, intended_log_format())
        sys.exit(1)


if __name__ == "__main__":
    main()
