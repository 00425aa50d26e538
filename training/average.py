"""Weights between two checkpoints: what was learnt from there to here counts in part.

    python3 average.py FROM.pt TO.pt SHARE OUT.pt      SHARE 0 is FROM, 1 is TO
"""
import pathlib
import sys

import torch


def main():
    start, end, share, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), float(sys.argv[3]), pathlib.Path(sys.argv[4])
    before, after = (torch.load(path, map_location="cpu", weights_only=False) for path in (start, end))
    average = {name: torch.lerp(tensor.float(), after["average"][name].float(), share) for name, tensor in before["average"].items()}
    torch.save({"average": average, "config": after["config"]}, out)


if __name__ == "__main__":
    main()
