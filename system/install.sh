#!/bin/sh
# Installs Touchstone from the folder that this file is in, or takes away what it installed.
#
#   ./install.sh [--prefix DIR]
#   ./install.sh --uninstall [--prefix DIR]
#
# DIR is /usr/local for root and ~/.local for others. With --prefix /usr, as root, it installs the service of the whole system, too.
# DESTDIR goes before every path, for those who make a package of it.
#
# Exit status: 0, 1 if it failed (the message says why; run it again to finish), 64 for an unknown argument.
set -eu
umask 022
version=@VERSION@ machine=@MACHINE@ glibc=@GLIBC@
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
action=install
if [ "$(id -u)" = 0 ]; then prefix=/usr/local; else prefix=${HOME-}/.local; fi

say() { printf '%s\n' "$*"; }
fail() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}
usage() {
    echo "usage: ./install.sh [--uninstall] [--prefix DIR]" >&2
    exit 64
}

while [ $# -gt 0 ]; do
    case $1 in
    --uninstall) action=uninstall ;;
    --prefix)
        [ $# -ge 2 ] || usage
        prefix=$2
        shift
        ;;
    --prefix=*) prefix=${1#--prefix=} ;;
    -h | --help)
        sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    *) usage ;;
    esac
    shift
done
case $prefix in /*) ;; *) fail "--prefix wants a path that begins with /" ;; esac
case $prefix in *"
"*) fail "a path with a line break cannot be used" ;; esac
[ "$prefix" = / ] || prefix=${prefix%/}
target=${DESTDIR-}$prefix
# What was installed: "f PATH" for a file, "d PATH" for a folder that was made for it, PATH below the prefix.
record=share/touchstone/installed
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
# The machine's own service runs from /usr alone: its units, its users and what may speak to it name these paths.
is_system=''
[ "$prefix" != /usr ] || is_system=yes
is_running=''
[ -z "$is_system" ] || [ -n "${DESTDIR-}" ] || [ ! -d /run/systemd/system ] || is_running=yes

# Where a file of the tarball goes, below the prefix; nothing for one that is not wanted there.
place() {
    [ -z "$is_system" ] || { printf '%s\n' "$1"; return; }
    case $1 in
    # Of Swift, for all programs.
    lib/touchstone/swift/*) printf '%s\n' "$1" ;;
    lib/* | libexec/touchstone/system/* | share/dbus-1/* | share/polkit-1/* | share/touchstone/apps/*) ;;
    share/zsh/vendor-completions/*) printf '%s\n' "share/zsh/site-functions/${1##*/}" ;;
    *) printf '%s\n' "$1" ;;
    esac
}

# What is recorded: lines of one kind, without those that do not lie below the prefix.
recorded() {
    [ ! -f "$target/$record" ] || sed -n "s|^$1 ||p" "$target/$record" | grep -v -e '^/' -e '^\.\./' -e '/\.\./' -e '/\.\.$' -e '^\.\.$' || true
}

# Folders that are empty now, the deepest first; one that has something else stays.
remove_folders() {
    sort -r "$1" | while IFS= read -r folder; do
        # "." is the prefix itself.
        if [ "$folder" = . ]; then folder=$target; else folder=$target/$folder; fi
        rmdir "$folder" 2>/dev/null || true
    done
}

check_machine() {
    [ "$(uname -s) $(uname -m)" = "Linux $machine" ] || fail "these programs are for Linux on $machine, this is $(uname -s) on $(uname -m)"
    found=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed 's/.* //') || true
    [ -n "$found" ] || fail "these programs need the GNU C library $glibc or later; this system has another one"
    [ "$(printf '%s\n' "$glibc" "$found" | sort -V | head -n 1)" = "$glibc" ] ||
        fail "these programs need the GNU C library $glibc or later; this system has $found"
}

# Whether all of it arrived as it was packed.
check_files() {
    (cd "$here" && sha256sum --quiet --check SHA256SUMS) >"$work/sums" 2>&1 || {
        head -n 5 "$work/sums" >&2
        fail "these files are not what was packed; unpack the tarball again"
    }
}

# Shared libraries that a program asks for and this system does not have.
missing() { LC_ALL=C ldd "$1" 2>/dev/null | sed -n 's/^[[:space:]]*\(.*\) => not found$/\1/p' | sort -u | tr '\n' ' '; }

check_libraries() {
    for program in usr/bin/touchstone usr/libexec/touchstone/touchstoned usr/libexec/touchstone/touchstone-enclave; do
        lacking=$(missing "$here/$program")
        [ -z "$lacking" ] || fail "${program##*/} needs shared libraries that are not installed: $lacking(README.md says which packages have them)"
    done
}

# As root, nothing is written or removed where another user could put a link in the way.
check_owner() {
    [ "$(id -u)" = 0 ] || return 0
    folder=$target/${record%/*}
    while :; do
        if [ -e "$folder" ] && [ "$(stat -L -c %u -- "$folder")" != 0 ]; then
            fail "$folder belongs to another user: run this as that user, or choose another --prefix"
        fi
        [ "$folder" != / ] || return 0
        folder=$(dirname "$folder")
    done
}

install_files() {
    check_owner
    check_machine
    check_files
    check_libraries
    recorded f | sort >"$work/old"
    recorded d | sort >"$work/folders"
    (cd "$here/usr" && find . -type f) | sed 's|^\./||' | sort >"$work/files"
    : >"$work/new"
    while IFS= read -r file; do
        to=$(place "$file")
        [ -n "$to" ] || continue
        printf '%s\n' "$to" >>"$work/new"
        if { [ -e "$target/$to" ] || [ -L "$target/$to" ]; } && ! grep -qxF -- "$to" "$work/old"; then
            fail "$target/$to is there already, and this installer did not put it there; nothing was installed"
        fi
    done <"$work/files"
    { cat "$work/new"; echo "$record"; } | while IFS= read -r folder; do
        while [ "$folder" != . ]; do
            folder=$(dirname "$folder")
            [ -d "$target/$folder" ] || printf '%s\n' "$folder" >>"$work/folders"
        done
    done
    sort -u "$work/folders" -o "$work/folders"
    mkdir -p "$target/${record%/*}" 2>/dev/null && [ -w "$target/${record%/*}" ] || fail "$target cannot be written to: run it as root, or choose another --prefix"

    # First, so that what was begun can be taken away again.
    {
        sed 's/^/d /' "$work/folders"
        sort -u "$work/old" "$work/new" | sed 's/^/f /'
    } >"$target/$record.new"
    mv -f "$target/$record.new" "$target/$record"
    while IFS= read -r file; do
        to=$(place "$file")
        [ -n "$to" ] || continue
        mkdir -p "$target/${to%/*}"
        # Another file under the same name: what runs goes on as it is.
        rm -f "$target/$to.new"
        cp "$here/usr/$file" "$target/$to.new"
        chmod "$(mode "$file")" "$target/$to.new"
        mv -f "$target/$to.new" "$target/$to"
    done <"$work/files"
    # What an earlier version had, and this one does not.
    sort "$work/new" | comm -23 "$work/old" - >"$work/gone"
    while IFS= read -r file; do rm -f "$target/$file"; done <"$work/gone"
    {
        sed 's/^/d /' "$work/folders"
        sed 's/^/f /' "$work/new"
    } >"$target/$record.new"
    mv -f "$target/$record.new" "$target/$record"

    [ -z "$is_running" ] || start_system
    say "Touchstone $version is in $prefix."
    case :$PATH: in *":$prefix/bin:"*) ;; *) say "Put $prefix/bin into PATH." ;; esac
    say "Next: touchstone setup"
    for program in "touchstone-agent, the window of prompts," "touchstone-sync, for synchronizing,"; do
        lacking=$(missing "$target/bin/${program%%,*}")
        [ -z "$lacking" ] || say "$program does not start without: $lacking(README.md says which packages have them)"
    done
}

mode() {
    case $1 in
    # Only root reads them, so that their processes are closed from the start.
    libexec/touchstone/system/*) echo 711 ;;
    bin/* | libexec/*) echo 755 ;;
    *) echo 644 ;;
    esac
}

start_system() {
    systemd-sysusers touchstone.conf
    systemd-tmpfiles --create touchstone.conf
    systemctl daemon-reload
    # What ran before runs the new programs. A device that restarts asks for its passcode.
    systemctl try-restart touchstone-peers.service 'touchstone-enclave@*.service' 'touchstoned@*.service' || true
}

stop_system() {
    # The device's and those of the bridges.
    systemctl stop 'touchstoned@*.socket' 'touchstone-*@*.socket' touchstone-peers.socket 'touchstoned@*.service' 'touchstone-*@*.service' \
        touchstone-peers.service || true
    rm -f /etc/systemd/system/*.wants/touchstoned@* /etc/systemd/system/*.wants/touchstone-*@* \
        /etc/systemd/system/*.wants/touchstone-peers.socket
}

uninstall_files() {
    check_owner
    [ -f "$target/$record" ] || fail "nothing of this installer's is in $target"
    [ -w "$target/${record%/*}" ] || fail "$target cannot be written to: run it as root"
    recorded f >"$work/files"
    recorded d >"$work/folders"
    [ -z "$is_running" ] || stop_system
    while IFS= read -r file; do rm -f "$target/$file"; done <"$work/files"
    rm -f "$target/$record"
    remove_folders "$work/folders"
    [ -z "$is_running" ] || systemctl daemon-reload
    say "Touchstone is gone from $prefix. Devices and what they keep stay: in ~/.local/state/touchstone, and in /var/lib/touchstone."
}

case $action in
install) install_files ;;
uninstall) uninstall_files ;;
esac
