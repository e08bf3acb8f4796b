"""`python -m api.processes`: the API with the settings of this machine."""

from __future__ import annotations

import sys

from api.processes.serve import ListenError, serve
from config.errors import ConfigError
from config.load import load_settings


def main() -> None:
    """Serve. An invalid configuration ends in one line per problem, a port in use in one line."""
    try:
        serve(load_settings())
    except (ConfigError, ListenError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
