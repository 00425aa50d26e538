"""The embedded skimmer. `src/skim/embedded/model.rs` runs the same arithmetic in Candle.

Shapes: B texts, N lines, T subtokens a line, Q subtokens of the question, d the embedding width, D the line width.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

from text import FEATURES, LEXICAL, QUESTION_TOKENS

# Kernel pooling (K-NRM, arXiv 1706.06613): soft counts of matches at these cosine similarities; the first one is the exact match.
KERNEL_MEAN = (1.0, 0.9, 0.7, 0.5, 0.3, 0.1, -0.1)
KERNEL_WIDTH = (0.03, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1)
DISTANCE_BUCKETS = 32  # each way


def distance_bucket(n):
    """[n, n] index of the learnt attention bias for the distance between two lines: logarithmic, signed."""
    i = torch.arange(n)
    r = (i[None, :] - i[:, None]).float()
    return (torch.sign(r) * torch.floor(torch.log2(1 + r.abs()) * 4 + 0.5)).clamp(-DISTANCE_BUCKETS, DISTANCE_BUCKETS).long() + DISTANCE_BUCKETS


class Block(nn.Module):
    """Pre-norm: attention over lines, attention from lines to the question, feed-forward."""

    def __init__(self, D, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.qkv, self.out = nn.LayerNorm(D), nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.norm2, self.cross_q, self.cross_kv, self.cross_out = nn.LayerNorm(D), nn.Linear(D, D), nn.Linear(D, 2 * D), nn.Linear(D, D)
        self.norm3, self.up, self.down = nn.LayerNorm(D), nn.Linear(D, 3 * D), nn.Linear(3 * D, D)
        self.drop = nn.Dropout(0.1)

    def split(self, x):
        b, n, w = x.shape
        return x.view(b, n, self.heads, w // self.heads).transpose(1, 2)

    def attend(self, q, k, v, bias):
        x = F.scaled_dot_product_attention(self.split(q), self.split(k), self.split(v), attn_mask=bias)
        return x.transpose(1, 2).flatten(2)

    def forward(self, x, bias, question, question_bias):
        q, k, v = self.qkv(self.norm1(x)).chunk(3, -1)
        x = x + self.drop(self.out(self.attend(q, k, v, bias)))
        k, v = self.cross_kv(question).chunk(2, -1)
        x = x + self.drop(self.cross_out(self.attend(self.cross_q(self.norm2(x)), k, v, question_bias)))
        return x + self.drop(self.down(F.relu(self.up(self.norm3(x)))))


class Skimmer(nn.Module):
    """Line emissions for keep against drop, and a logit for "something here answers the question"."""

    def __init__(self, vocabulary_size, d=96, D=192, layers=4, heads=6):
        super().__init__()
        self.config = {"vocabulary_size": vocabulary_size, "embedding": d, "width": D, "layers": layers, "heads": heads}
        self.embedding = nn.Embedding(vocabulary_size, d, padding_idx=0)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.register_buffer("idf", torch.zeros(vocabulary_size))
        self.conv = nn.Linear(3 * d, d)  # over the subtoken before, at, and after
        self.match_weight, self.pool = nn.Linear(d + 2, 1), nn.Linear(d + 1, 1)
        self.input = nn.Linear(4 * d + 3 * len(KERNEL_MEAN) + FEATURES + LEXICAL, D)
        self.question, self.position = nn.Linear(d, D), nn.Parameter(torch.randn(QUESTION_TOKENS, D) * 0.02)
        self.blocks = nn.ModuleList([Block(D, heads) for _ in range(layers)])
        self.distance = nn.Parameter(torch.zeros(heads, 2 * DISTANCE_BUCKETS + 1))
        self.norm, self.emission, self.answer = nn.LayerNorm(D), nn.Linear(D, 1), nn.Linear(2 * D, 1)
        self.transition = nn.Parameter(torch.tensor([[1.0, -1.0], [-1.0, 1.0]]))  # [from, to]; 0 drop, 1 keep
        self.ends = nn.Parameter(torch.zeros(2, 2))  # start, end
        with torch.no_grad():
            self.embedding.weight[0] = 0

    def contextual(self, ids):
        """Raw and context-mixed vectors of subtokens, [..., T, d] each; padding is 0."""
        e = self.embedding(ids)
        before, after = F.pad(e, (0, 0, 1, 0))[..., :-1, :], F.pad(e, (0, 0, 0, 1))[..., 1:, :]
        real = (ids != 0).unsqueeze(-1)
        return e, (e + F.relu(self.conv(torch.cat([before, e, after], -1)))) * real

    def forward(self, tokens, question, question_idf, features, parent, mask):
        b, n, t = tokens.shape
        e, h = self.contextual(tokens)
        eq, hq = self.contextual(question)
        real, real_q = tokens != 0, question != 0
        # 1. How much each question subtoken matters: (B, Q)
        idf = self.idf[question]
        weight = torch.sigmoid(self.match_weight(torch.cat([hq, idf.unsqueeze(-1), question_idf.unsqueeze(-1)], -1)).squeeze(-1)) * real_q
        # 2. Best match of each question subtoken on each line, then soft counts: (B, N, 3 kernels)
        unit = lambda x: x / (x.square().sum(-1, keepdim=True) + 1e-6).sqrt()
        similar = (unit(hq) @ unit(h).view(b, n * t, -1).transpose(1, 2)).view(b, -1, n, t).masked_fill(~real[:, None], -1.0)
        literal = (unit(eq) @ unit(e).view(b, n * t, -1).transpose(1, 2)).view(b, -1, n, t).masked_fill(~real[:, None], -1.0)
        best, best_literal = similar.amax(-1), literal.amax(-1)
        kernels = []
        for match, w in ((best, weight), (best_literal, idf * real_q), (best_literal, question_idf)):
            w = (w / (w.sum(1, keepdim=True) + 1e-4)).unsqueeze(1)
            for mean, width in zip(KERNEL_MEAN, KERNEL_WIDTH):
                kernels.append((w @ torch.exp((match - mean).square() * (-0.5 / width**2))).squeeze(1))
        # 3. Line vectors: attention-pooled, pooled towards the question, their agreement with the question: (B, N, d)
        score = self.pool(torch.cat([h, self.idf[tokens].unsqueeze(-1)], -1)).squeeze(-1).masked_fill(~real, -1e4)
        line = (score.softmax(-1).unsqueeze(-2) @ h).squeeze(-2)
        towards = ((similar * weight[:, :, None, None]).amax(1).clamp(min=0) * 8).masked_fill(~real, -1e4)
        asked = (towards.softmax(-1).unsqueeze(-2) @ h).squeeze(-2)
        about = (weight.unsqueeze(1) @ hq) / (weight.sum(1)[:, None, None] + 1e-4)
        up = line.gather(1, parent.unsqueeze(-1).expand_as(line))
        x = self.input(torch.cat([line, asked, line * about, up, torch.stack(kernels, -1), features], -1))
        # 4. Lines read each other and the question
        bias = self.distance[:, distance_bucket(n).to(x.device)].unsqueeze(0).masked_fill(~mask[:, None, None, :], -1e4)
        question_bias = torch.zeros_like(idf).masked_fill(~real_q, -1e4)[:, None, None, :]
        q = self.question(hq) + self.position[:question.shape[1]]
        for block in self.blocks:
            x = block(x, bias, q, question_bias)
        x = self.norm(x)
        top = x.masked_fill(~mask.unsqueeze(-1), -1e4).amax(1)
        mean = (x * mask.unsqueeze(-1)).sum(1) / mask.sum(1, keepdim=True)
        return self.emission(x).squeeze(-1), self.answer(torch.cat([top, mean], -1)).squeeze(-1)

    def crf_scores(self, emission, mask, allowed):
        """log of the summed weight of all label paths that stay within `allowed` [B, N, 2]; emission counts for keep, against it for drop."""
        unary = torch.stack([-emission / 2, emission / 2], -1).masked_fill(~allowed, -1e4)
        alpha = self.ends[0] + unary[:, 0]
        for i in range(1, unary.shape[1]):
            new = (alpha.unsqueeze(-1) + self.transition).logsumexp(1) + unary[:, i]
            alpha = torch.where(mask[:, i, None], new, alpha)
        return (alpha + self.ends[1]).logsumexp(-1)

    def crf_loss(self, emission, mask, label):
        """Negative log-likelihood of the known labels a line, the unknown ones (-1) summed out. [B]"""
        everything = torch.ones(*label.shape, 2, dtype=torch.bool, device=label.device)
        known = torch.stack([label != 1, label != 0], -1)
        return (self.crf_scores(emission, mask, everything) - self.crf_scores(emission, mask, known)) / mask.sum(1)

    @torch.no_grad()
    def marginals(self, emission):
        """Probability that each line is kept, by forward-backward. emission [N] -> [N]"""
        unary = torch.stack([-emission / 2, emission / 2], -1)
        n = len(unary)
        a, b = [self.ends[0] + unary[0]], [self.ends[1]]
        for i in range(1, n):
            a.append((a[-1].unsqueeze(-1) + self.transition).logsumexp(0) + unary[i])
        for i in range(n - 1, 0, -1):
            b.append((self.transition + (unary[i] + b[-1]).unsqueeze(0)).logsumexp(1))
        total = torch.stack(a) + torch.stack(b[::-1])
        return total.softmax(-1)[:, 1]
