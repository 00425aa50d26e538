"""Seconds that PyTorch takes for the 0.6B pruner's arithmetic in float32, for prompts of the lengths given. Prints them as a JSON list.

The same backbone, fusion layer and head as `benches/model.rs`, with random weights, and without the padding of the published service.
"""
import json
import os
import sys
import time

import torch
from transformers import Qwen3Config, Qwen3Model

torch.set_num_threads(os.cpu_count())
torch.set_grad_enabled(False)
config = Qwen3Config(vocab_size=151669, hidden_size=1024, num_hidden_layers=28, num_attention_heads=16, num_key_value_heads=8, head_dim=128,
                     intermediate_size=3072, rope_theta=1e6, rms_norm_eps=1e-6)
backbone = Qwen3Model(config).eval().float()
fusion = torch.nn.MultiheadAttention(3072, 8, batch_first=True).eval()
norm = torch.nn.LayerNorm(3072)
head = torch.nn.Sequential(torch.nn.LayerNorm(3072), torch.nn.Linear(3072, 256), torch.nn.GELU(), torch.nn.Linear(256, 2))


def prune(ids):
    states = backbone(input_ids=ids, attention_mask=torch.ones_like(ids), output_hidden_states=True).hidden_states
    fused = torch.cat([states[7], states[14], states[28]], -1)
    read, _ = fusion(fused, fused, fused, key_padding_mask=torch.zeros_like(ids, dtype=torch.bool))
    return head(norm(read + fused))


times = []
for tokens in map(int, sys.argv[1:]):
    ids = torch.randint(0, 900, (1, tokens))
    runs = []
    for _ in range(4):
        began = time.perf_counter()
        prune(ids)
        runs.append(time.perf_counter() - began)
    times.append(sorted(runs[1:])[1])
print(json.dumps(times))
