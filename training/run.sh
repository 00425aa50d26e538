#!/usr/bin/env bash
# Makes the skimmer's weights from nothing, by the recipe of those that ship; what differed in the making of these is in models/embedded/README.md.
# Steps whose output is there are passed over, so that a run that was cut off goes on.
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
# go_on NAME MINUTES START SHARE FLAGS: trains on from START on labels alone, and leaves START.pt and NAME.pt averaged, so much of it NAME's, as from-NAME.pt
go_on() {
    local name=$1 minutes=$2 start=$3 share=$4
    shift 4
    "$python" "$here/train.py" "$work" student --name "$name" --start "$work/$start.pt" --no-teacher --minutes "$minutes" "$@"
    "$python" "$here/average.py" "$work/$start.pt" "$work/$name.pt" "$share" "$work/from-$name.pt"
}
slow="--rate 2e-4 --encoder-rate 1.5e-4 --average 0.998"
fast="--rate 3e-4 --encoder-rate 2e-4 --average 0.997 --texts 4 --mined 0.1 --first 0.3 --document 0.4"
go_on alone   76 student      0.65 --rate 3e-4 --encoder-rate 2e-4 --mined 0
go_on regular 50 from-alone   0.65 $slow --mined 0 --dropout 0.1 --renamed 0.1
go_on lots    66 from-regular 0.5  $slow --mined 0 --dropout 0.1 --renamed 0.1 --lot 0.25
go_on more    82 from-lots    0.6  $slow --mined 0.1 --dropout 0.1 --renamed 0.1 --lot 0.4 --document 0.4
go_on further 58 from-more    0.6  $slow --mined 0.1 --dropout 0.15 --renamed 0.12 --lot 0.5 --first 0.3 --document 0.4
go_on whole   85 from-further 0.7  $fast --dropout 0.1 --renamed 0.12 --lot 0.55
go_on read    80 from-whole   0.5  $fast --dropout 0.05 --renamed 0.08 --lot 0.55
go_on words   52 from-read    0.5  $fast --dropout 0.05 --renamed 0.08 --worded 0.4 --lot 0.5
other="--rate 2e-4 --encoder-rate 1.5e-4 --average 0.997 --texts 4 --mined 0.08 --logs 0.02 --first 0.3 --document 0.4 --dropout 0.05 --renamed 0.08 --worded 0.25 --lot 0.5"
go_on prose   32 from-words   0.7  $other --other 0.25
go_on stems   36 from-prose   0.6  $other --other 0.2
"$python" "$here/refine.py" "$work" "$work/from-stems.pt"
"$python" "$here/export.py" "$work" "$work/from-stems.pt" "$here/../models/embedded" "$here/../tests/golden/embedded.json"
"$python" "$here/meanings.py" "$work/mined.jsonl" "$work/labelled.jsonl" "$here/../models/search/words.safetensors"
"$python" "$here/sets.py" "$work" "$work/packages" "$work/sets"
cargo run --release --manifest-path "$here/../Cargo.toml" -- eval "$work/sets/windows.jsonl" --baseline bm25 --baseline bm25-wide
