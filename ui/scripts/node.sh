# Sourced by the other scripts: stops with a sentence where Node is missing or too old.
if ! node -e 'const [major, minor] = process.versions.node.split(".").map(Number);
              process.exit(major > 20 || (major === 20 && minor >= 19) ? 0 : 1)' 2>/dev/null || ! command -v npm >/dev/null; then
  echo "Building the UI needs Node 20.19 or newer with npm: install it (https://nodejs.org), or leave ui/ as it is. \`make up\` needs no Node." >&2
  exit 1
fi
