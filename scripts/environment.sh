# Sourced by ./heliograph and ./test: makes the Python environment from a lock file, once.
#
#   prepare_environment LOCK
#
# Sets $python to an interpreter that has everything in LOCK and the project itself. The lock is copied
# into the environment when it is complete, so that a later start needs one comparison of two files.

say() { printf 'heliograph: %s\n' "$*" >&2; }

find_python() {
    local candidate
    for candidate in python3 python3.13 python3.12 python3.11 python; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    say "needs Python 3.11 or newer, and found none on PATH: install it (Debian: apt-get install python3) and try again"
    return 3
}

install_venv_module() { # Debian keeps the venv module in a package of its own
    command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] || return 1
    say "installing the Debian package python3-venv"
    { apt-get install -y -q python3-venv || { apt-get update -q && apt-get install -y -q python3-venv; }; } >&2
}

create_environment() {
    local host_python=$1 directory=$2
    if command -v uv >/dev/null; then
        uv venv --quiet --clear --python "$host_python" "$directory"
    else
        rm -rf "$directory"
        "$host_python" -m venv "$directory" 2>/dev/null ||
            { install_venv_module && "$host_python" -m venv "$directory"; }
    fi
}

install_into() {
    local directory=$1 lock=$2
    if command -v uv >/dev/null; then
        uv pip install --python "$directory/bin/python" --require-hashes -r "$lock" >&2 &&
            uv pip install --quiet --python "$directory/bin/python" --no-deps --no-build-isolation -e "$root"
    else
        "$directory/bin/python" -m pip install --disable-pip-version-check --progress-bar on --require-hashes -r "$lock" >&2 &&
            "$directory/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e "$root" >&2
    fi
}

prepare_environment() {
    local lock=$root/$1 directory=$root/.venv host_python
    python=$directory/bin/python
    # The development lock holds all of the runtime lock, so an environment made for tests also runs the program.
    if [ -x "$python" ]; then
        cmp -s "$lock" "$directory/lock" && return
        [ "$1" = requirements.lock ] && cmp -s "$root/requirements-dev.lock" "$directory/lock" && return
    fi
    host_python=$(find_python) || return
    say "first use: making a Python environment in .venv from $1 (Spark is a large download, this takes a minute or two)"
    if ! { create_environment "$host_python" "$directory" && install_into "$directory" "$lock"; }; then
        say "could not make the environment; the lines above say why. Nothing else was changed; run the command again when it is mended"
        return 3
    fi
    cp "$lock" "$directory/lock"
    say "environment ready"
}
