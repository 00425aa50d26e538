#!/usr/bin/env bash
# What each part is worth: models of a few minutes each, with one thing left out, after run.sh. Figures come at the end of each run. What the
# refiner is worth, refine.py prints; what completion costs, `codeskim eval` ("as shown").
#   training/ablate.sh WORK_DIR [MINUTES]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(cd "$1" && pwd)
minutes=${2:-6}
run() {
    echo "== $1 $2"
    "$work/venv/bin/python3" "$here/train.py" "$work" "$1" --minutes "$minutes" --report "$minutes" --name "ablation-$minutes-$1-$2" "${@:3}" | tail -n 3
}
student() { run student "$@"; }
student all
student without-crf --without crf
student without-structure --without structure
student without-lexical --without lexical
student without-initialisation --without initialisation
student without-mined --mined 0
run teacher all
run teacher without-pretraining --without pretraining
# Learning curve: the teacher has seen all labels, so these do without it.
for share in 0.125 0.25 0.5 1; do
    student "labels-$share" --no-teacher --labels "$share"
done
