#!/usr/bin/env bash
# Makes the shipped weights from nothing. Steps whose output is there are passed over, so that a run that was cut off goes on.
#   training/run.sh WORK_DIR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
work=$(cd "$1" && pwd)
[ -d "$work/venv" ] || { python3 -m venv "$work/venv" && "$work/venv/bin/pip" install -q -r "$here/requirements.txt"; }
python="$work/venv/bin/python3"
[ -f "$work/labelled.jsonl" ] || "$python" "$here/fetch.py" --all-packages --cache "$work/packages" --out "$work/labelled.jsonl"
[ -f "$work/mined.jsonl" ] || "$python" "$here/mine.py" "$work/packages" "$work/mined.jsonl"
[ -f "$work/init.npz" ] || "$python" "$here/vocabulary.py" "$work/mined.jsonl" "$work"
for stage in "teacher-pretrain --minutes 8" "teacher --minutes 62" "student --minutes 58"; do
    "$python" "$here/train.py" "$work" $stage
done
"$python" "$here/train.py" "$work" student --name alone --start "$work/student.pt" --no-teacher --mined 0 --rate 3e-4 --encoder-rate 2e-4 --minutes 76
"$python" "$here/average.py" "$work/student.pt" "$work/alone.pt" 0.65 "$work/between.pt"
"$python" "$here/train.py" "$work" student --name regular --start "$work/between.pt" --no-teacher --mined 0 --rate 2e-4 --encoder-rate 1.5e-4 --dropout 0.1 --renamed 0.1 \
    --average 0.998 --minutes 50
"$python" "$here/average.py" "$work/between.pt" "$work/regular.pt" 0.65 "$work/between2.pt"
"$python" "$here/train.py" "$work" student --name lots --start "$work/between2.pt" --no-teacher --mined 0 --rate 2e-4 --encoder-rate 1.5e-4 --dropout 0.1 --renamed 0.1 \
    --average 0.998 --lot 0.25 --minutes 66
"$python" "$here/average.py" "$work/between2.pt" "$work/lots.pt" 0.5 "$work/between3.pt"
"$python" "$here/train.py" "$work" student --name more --start "$work/between3.pt" --no-teacher --mined 0.1 --rate 2e-4 --encoder-rate 1.5e-4 --dropout 0.1 --renamed 0.1 \
    --average 0.998 --lot 0.4 --document 0.4 --minutes 82
"$python" "$here/average.py" "$work/between3.pt" "$work/more.pt" 0.6 "$work/between4.pt"
"$python" "$here/train.py" "$work" student --name further --start "$work/between4.pt" --no-teacher --mined 0.1 --rate 2e-4 --encoder-rate 1.5e-4 --dropout 0.15 --renamed 0.12 \
    --average 0.998 --lot 0.5 --first 0.3 --document 0.4 --minutes 58
"$python" "$here/average.py" "$work/between4.pt" "$work/further.pt" 0.6 "$work/between5.pt"
"$python" "$here/train.py" "$work" student --name whole --start "$work/between5.pt" --no-teacher --mined 0.1 --rate 3e-4 --encoder-rate 2e-4 --dropout 0.1 --renamed 0.12 \
    --average 0.997 --texts 4 --lot 0.55 --first 0.3 --document 0.4 --minutes 85
"$python" "$here/average.py" "$work/between5.pt" "$work/whole.pt" 0.7 "$work/between6.pt"
"$python" "$here/train.py" "$work" student --name read --start "$work/between6.pt" --no-teacher --mined 0.1 --rate 3e-4 --encoder-rate 2e-4 --dropout 0.05 --renamed 0.08 \
    --average 0.997 --texts 4 --lot 0.55 --first 0.3 --document 0.4 --minutes 80
"$python" "$here/average.py" "$work/between6.pt" "$work/read.pt" 0.5 "$work/between7.pt"
"$python" "$here/train.py" "$work" student --name words --start "$work/between7.pt" --no-teacher --mined 0.1 --rate 3e-4 --encoder-rate 2e-4 --dropout 0.05 --renamed 0.08 \
    --average 0.997 --texts 4 --worded 0.4 --lot 0.5 --first 0.3 --document 0.4 --minutes 52
"$python" "$here/average.py" "$work/between7.pt" "$work/words.pt" 0.5 "$work/shipped.pt"
"$python" "$here/refine.py" "$work" "$work/shipped.pt"
"$python" "$here/export.py" "$work" "$work/shipped.pt" "$here/../models/embedded" "$here/../tests/golden/embedded.json"
"$python" "$here/sets.py" "$work" "$work/packages" "$work/sets"
cargo run --release --manifest-path "$here/../Cargo.toml" -- eval "$work/sets/windows.jsonl" --baseline bm25 --baseline bm25-wide
