#!/bin/sh
# Build the UI from its lock file into api/static/ui, or into the folder STOKER_UI_OUTPUT.
# PYTHON is the Python of the platform, which prints the OpenAPI document that the API's types follow.
set -eu
. "$(dirname "$0")/node.sh"
case $PYTHON in /*) ;; *) PYTHON=$PWD/$PYTHON ;; esac
cd "$(dirname "$0")/.."
(cd .. && "$PYTHON" -m stoker openapi) > openapi.json # of this tree, also where the environment has another one
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
npm run --silent types
rm -rf "${STOKER_UI_OUTPUT:-../api/static/ui}"
npm run --silent build
