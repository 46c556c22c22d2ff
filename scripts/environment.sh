# Sourced by ./heliograph and ./test: makes the Python environment from a lock file, once.
#
#   prepare_environment LOCK
#
# Sets $python to an interpreter that has everything in LOCK and the project itself. The lock is copied
# into the environment when it is complete, so that a later start needs one comparison of two files.

say() { printf 'heliograph: %s\n' "$*" >&2; }

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

find_python() {
    local candidate
    # Distributions build their Python with profile-guided optimization; one built by pyenv is a third slower.
    for candidate in $(type -aP python3); do
        if [ "$candidate" = /usr/bin/python3 ] && is_new_enough "$candidate" && "$candidate" -c 'import ensurepip' 2>/dev/null; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    for candidate in python3 python3.13 python3.12 python3.11 python; do
        if is_new_enough "$candidate"; then
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

install_into() { # uv takes a fifth of pip's time; where it is missing, pip fetches it, and does its work where it cannot be had
    local directory=$1 lock=$2 uv pip=("$1/bin/python" -m pip --disable-pip-version-check)
    uv=$(command -v uv) || { "${pip[@]}" install --quiet --require-hashes -r "$root/scripts/uv.lock" >&2 && uv=$directory/bin/uv; }
    if [ -n "$uv" ]; then
        local packages=(pip install --compile-bytecode --python "$directory/bin/python" --require-hashes -r "$lock")
        # What a former clone has left in uv's cache is asked for first: with the network uv may fetch and build all of
        # Spark again, only because a registry does not say that its file is still the same.
        { "$uv" "${packages[@]}" --offline --quiet 2>/dev/null || "$uv" "${packages[@]}" >&2; } &&
            "$uv" pip install --quiet --python "$directory/bin/python" --no-deps --no-build-isolation -e "$root" >&2
    else
        say "uv cannot be had, so pip installs everything, which takes longer"
        "${pip[@]}" install --progress-bar on --require-hashes -r "$lock" >&2 &&
            "${pip[@]}" install --quiet --no-deps --no-build-isolation -e "$root" >&2
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
    # Compiled once, here: where PYTHONDONTWRITEBYTECODE is set, each process would compile all that it loads.
    if ! { create_environment "$host_python" "$directory" && install_into "$directory" "$lock" &&
        "$python" -m compileall -q "$root/src"; }; then
        say "could not make the environment; the lines above say why. Nothing else was changed; run the command again when it is mended"
        return 3
    fi
    cp "$lock" "$directory/lock"
    say "environment ready"
}
