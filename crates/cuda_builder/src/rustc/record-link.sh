#!/bin/sh
# rustc's "linker" in a device build: writes its arguments, one per line, to the output file, and keeps the objects, which
# rustc deletes, in a folder beside it. The real link happens later, from that record.
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
: > "$out"
for argument in "$@"; do
    case $argument in
        *.o) cp "$argument" "$out.objects/"; printf '%s\n' "$out.objects/${argument##*/}" >> "$out" ;;
        *) printf '%s\n' "$argument" >> "$out" ;;
    esac
done
