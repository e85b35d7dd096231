#!/bin/sh
# Runs a simulator on seeds that each commit has for itself, so that CI sees new worlds with each change and a failure can be
# repeated. Usage: first_seed.sh SOURCE_FOLDER COMMAND...
set -eu
source=$1
shift
commit=$(git -C "$source" rev-parse HEAD 2>/dev/null | cut -c 1-12) || commit=
first=1 # where there is no git, as in a released archive
[ -z "$commit" ] || first=$(printf %d "0x$commit")
echo "first seed: $first (commit ${commit:-unknown})"
exec "$@" --first "$first"
