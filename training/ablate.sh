#!/usr/bin/env bash
# What each part is worth: students of a few minutes each, with one thing left out, after run.sh. Figures come at the end of each run.
#   training/ablate.sh WORK_DIR [MINUTES]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(cd "$1" && pwd)
minutes=${2:-6}
student() {
    echo "== $1"
    "$work/venv/bin/python3" "$here/train.py" "$work" student --minutes "$minutes" --report "$minutes" --name "ablation-$1" "${@:2}" | tail -n 3
}
student all
student without-crf --without crf
student without-structure --without structure
student without-lexical --without lexical
student without-initialisation --without initialisation
student without-mined --mined 0
# Learning curve: the teacher has seen all labels, so these do without it.
for share in 0.125 0.25 0.5 1; do
    student "labels-$share" --no-teacher --labels "$share"
done
