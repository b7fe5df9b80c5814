#!/bin/sh
# rustc's "linker" in a device build: writes its arguments, one per line, to the output file, and copies the objects, which
# rustc deletes, into a folder beside it. The real link happens later, from that record.
set -eu
out= previous=
for argument in "$@"; do
    case $argument in @*) set -- $(cat "${argument#@}"); break ;; esac
done
for argument in "$@"; do
    [ "$previous" != -o ] || out=$argument
    previous=$argument
done
rm -rf "$out.objects"
mkdir -p "$out.objects"
for argument in "$@"; do
    case $argument in
        *.o) printf '%s\n' "$out.objects/${argument##*/}" ;;
        *) printf '%s\n' "$argument" ;;
    esac
done > "$out"
# One `cp` copies all objects, because a crate has one per module.
count=$#
while [ "$count" -gt 0 ]; do
    case $1 in *.o) set -- "$@" "$1" ;; esac
    shift
    count=$((count - 1))
done
[ "$#" -eq 0 ] || cp "$@" "$out.objects/"
