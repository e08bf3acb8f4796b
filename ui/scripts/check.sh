#!/bin/sh
# Check the sources of the UI, and that a build in another folder, from the lock file, gives what is in api/static/ui.
set -eu
. "$(dirname "$0")/node.sh"
cd "$(dirname "$0")/../.."
PYTHON=$PWD/$PYTHON
root=$PWD
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT INT TERM
# some tests of the UI compare with files of the platform's tests
tar -cf - --exclude node_modules --exclude .svelte-kit ui tests/seeds tests/ui/signing_vectors.json | tar -xf - -C "$copy"
cd "$copy/ui"
(cd "$root" && "$PYTHON" -m stoker openapi) > openapi.json
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
npm run --silent types
cmp src/lib/api/schema.d.ts "$root/ui/src/lib/api/schema.d.ts" || {
  echo "The types of the API differ from its OpenAPI document: run \`make ui\` and commit the result." >&2
  exit 1
}
npm run --silent check
npm run --silent lint
npm run --silent test
STOKER_UI_OUTPUT=$copy/output npm run --silent build
cd "$root"
"$PYTHON" -m tests.ui.built_files "$copy/output"
