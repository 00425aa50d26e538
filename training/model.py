"""The skimmer: an encoder of subtokens, a meeting of question and lines, and a transformer over lines with a CRF.

Teacher and student differ in the encoder and in width. `src/skim/embedded/` runs the student's arithmetic in Candle.
Shapes: one text of n lines with at most t subtokens each, b questions of at most q subtokens, d the subtoken width, D the line width.
"""
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from text import FEATURES, LEXICAL, QUESTION_TOKENS

# Kernel pooling (K-NRM, arXiv 1706.06613): soft counts of matches at these cosine similarities; the first one is the exact match.
KERNEL_MEAN = (1.0, 0.9, 0.7, 0.5, 0.3, 0.1, -0.1)
KERNEL_WIDTH = (0.03, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1)
NEIGHBOURS = (0, 2, 6)  # lines each way over which a line's mean vector is compared with the question's
DISTANCE_BUCKETS = 32   # each way
RELATIONS = 6           # of a line to another in the tree of blocks
DEEPEST = 12            # blocks within blocks
ABOVE, BELOW = 0.2, 0.5 # weights of the enclosing line and of the best enclosed one, chosen on training windows
CERTAIN = 6.0           # log-odds beyond are as good as certain
REACH = 8               # lines each way of which a line's best neighbour is sought
SURROUNDINGS = 29       # numbers that say what a line's log-odds are among


def distance_bucket(n):
    """[n, n] index of the learnt attention bias for the distance between two lines: logarithmic, signed."""
    i = torch.arange(n)
    r = (i[None, :] - i[:, None]).float()
    return (torch.sign(r) * torch.floor(torch.log2(1 + r.abs()) * 4 + 0.5)).clamp(-DISTANCE_BUCKETS, DISTANCE_BUCKETS).long() + DISTANCE_BUCKETS


def lean(log_odds, parent):
    """A line leans on the one that encloses it, and that one on the best of those it encloses. Both [n]; a line at the top is its own parent."""
    sure = log_odds.clamp(-CERTAIN, CERTAIN)
    under = sure + ABOVE * (sure[parent] - sure)
    inside = parent != torch.arange(len(parent))
    best = torch.full_like(under, -float("inf")).scatter_reduce(0, parent[inside], under[inside], "amax")
    return under + BELOW * torch.where(best > -float("inf"), best - under, 0)


def relations(parent):
    """[RELATIONS, n, n] of 0 and 1: is line j, for line i, itself; the line that encloses it; one further out; beside it in the same block;
    one that it encloses; one further in? A line at the top is its own parent."""
    n = len(parent)
    i = torch.arange(n, device=parent.device)
    out = torch.zeros(RELATIONS, n, n, device=parent.device)
    out[0, i, i] = 1
    up = parent
    for step in range(DEEPEST):
        inside = up != i if step == 0 else (up != before)
        if not inside.any():
            break
        out[min(step, 1) + 1, i[inside], up[inside]] = 1
        out[min(step, 1) + 4, up[inside], i[inside]] = 1
        before, up = up, parent[up]
    out[3] = (parent[:, None] == parent[None, :]) & (parent != i)[:, None] & (parent != i)[None, :]
    out[3, i, i] = 0
    return out


def places(tokens, parent):
    """[RELATIONS + 1, n, n]: how line j stands to line i in the tree, and the words they share."""
    return torch.cat([relations(parent), shared_words(tokens).unsqueeze(0)])


def shared_words(tokens):
    """[n, n] cosine of the lines' subtokens, each weighted by how rare it is in this text: lines that use what another defines."""
    n = len(tokens)
    real = tokens != 0
    words, which = tokens[real].unique(return_inverse=True)
    bag = torch.zeros(n, len(words), device=tokens.device)
    bag[torch.nonzero(real)[:, 0], which] = 1
    bag = unit(bag * torch.log(n / bag.sum(0)))
    return (bag @ bag.T).fill_diagonal_(0)


def surroundings(log_odds, emission, parent, blank, answer, asked):
    """[n, SURROUNDINGS] what a line's log-odds are among: its neighbours', its block's, the whole text's.

    log_odds, emission, parent and blank are arrays [n]; `answer` is the log-odds that anything answers, `asked` the question's subtokens.
    """
    n = len(log_odds)
    i, s, real, inside = np.arange(n), log_odds.astype(np.float32), ~blank, parent != np.arange(n)
    best_below, best_beside = np.full(n, -CERTAIN, np.float32), np.full(n, -CERTAIN, np.float32)
    np.maximum.at(best_below, parent[inside], s[inside])
    np.maximum.at(best_beside, parent[real], s[real])
    count = np.bincount(parent[real], minlength=n)
    below = np.where(count > 0, np.bincount(parent[real], s[real], n) / np.maximum(count, 1), -CERTAIN)
    sums = np.concatenate([[0], np.cumsum(s, dtype=np.float64)])
    around = lambda half: (sums[np.minimum(i + half + 1, n)] - sums[np.maximum(i - half, 0)]) / (2 * half + 1)
    padded = np.pad(s, REACH, constant_values=-CERTAIN)
    away = lambda step: padded[REACH + step:REACH + step + n]
    near = np.max([away(step) for step in range(-REACH, REACH + 1)], 0)
    share = lambda log_odds: float((1 / (1 + np.exp(-log_odds.astype(np.float64)))).mean())
    order = -np.sort(-s[real])
    m = len(order)
    text = [math.log(share(order) + 1e-4), order[0] / 4, order[m // 20] / 4, order[m // 5] / 4, answer / 4, math.log(m) - 4, asked / 6 - 2,
            math.log(share(4 * order + 3.4) + 0.01)] if m else [0] * 8  # the last: how many reach about 0.3
    scores = [s, emission.clip(-CERTAIN, CERTAIN), s[parent], s[parent[parent]], best_below, below, below[parent], best_beside[parent], near,
              around(2), around(7), around(15), away(-3), away(-2), away(-1), away(1), away(2), away(3)]
    own = [np.log1p(count), np.log1p(count[parent]), np.log1p(i - parent)]
    return np.concatenate([np.stack(scores, 1) / 4, np.stack(own, 1), np.tile(text, (n, 1))], 1).astype(np.float32)


class Refiner(nn.Module):
    """Looks at each line's log-odds again, among those around it and beside its lexical evidence: [n, SURROUNDINGS + LEXICAL] -> log-odds [n]"""

    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(SURROUNDINGS + LEXICAL, 48), nn.Linear(48, 1)

    def forward(self, x):
        return self.down(F.relu(self.up(x))).squeeze(-1)


class Guessed(nn.Module):
    """What words that the code may use say after the document head has spoken: its log-odds and the share of them that the text has [b] -> log-odds [b]

    The head reads such words as it reads the question's, whose absence tells little; a text that answers has most of the words that are guessed.
    """

    def __init__(self):
        super().__init__()
        self.weigh = nn.Linear(2, 1)

    def forward(self, answer, found):
        return self.weigh(torch.stack([answer, found], -1)).squeeze(-1)


def log_add(a, b):
    """log(exp(a) + exp(b))"""
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


def unit(x):
    return x / (x.square().sum(-1, keepdim=True) + 1e-6).sqrt()


class Convolution(nn.Module):
    """The student's encoder: an embedding, and two layers that mix each subtoken with its neighbours on the line."""

    def __init__(self, vocabulary_size, d):
        super().__init__()
        self.d = d
        self.embedding = nn.Embedding(vocabulary_size, d, padding_idx=0)
        self.conv, self.conv2 = nn.Linear(3 * d, d), nn.Linear(3 * d, d)

    @staticmethod
    def beside(x):
        return torch.cat([F.pad(x, (0, 0, 1, 0))[..., :-1, :], x, F.pad(x, (0, 0, 0, 1))[..., 1:, :]], -1)

    def mix(self, ids, e):
        real = (ids != 0).unsqueeze(-1)
        h = (e + F.relu(self.conv(self.beside(e)))) * real
        return (h + F.relu(self.conv2(self.beside(h)))) * real

    def forward(self, tokens, questions):
        """Raw and contextual vectors of the text's [n, t] and the questions' [b, q] subtokens; padding is 0."""
        n, t = tokens.shape
        e = self.embedding(torch.cat([tokens.flatten(), questions.flatten()]))  # one call: each would cost a gradient of the table's size
        e, eq = e[:n * t].view(n, t, -1), e[n * t:].view(*questions.shape, -1)
        return e, eq, self.mix(tokens, e), self.mix(questions, eq)


def attend(heads, q, k, v, bias):
    """Written out: on a CPU scaled_dot_product_attention takes three times as long for heads this narrow."""
    q, k, v = (x.unflatten(-1, (heads, -1)).transpose(1, 2) for x in (q, k, v))
    similar = (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2)
    return ((similar + bias.to(similar.dtype)).softmax(-1) @ v).transpose(1, 2).flatten(2)


class Block(nn.Module):
    """Pre-norm: attention over lines, attention from lines to the question, feed-forward."""

    def __init__(self, D, heads):
        super().__init__()
        self.heads, self.dropout = heads, 0.0
        self.norm1, self.qkv, self.out = nn.LayerNorm(D), nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.norm2, self.cross_q, self.cross_kv, self.cross_out = nn.LayerNorm(D), nn.Linear(D, D), nn.Linear(D, 2 * D), nn.Linear(D, D)
        self.norm3, self.up, self.down = nn.LayerNorm(D), nn.Linear(D, 3 * D), nn.Linear(3 * D, D)

    def left_out(self, x):
        """Dropout with one mask for all lines, drawn for each question: to draw it for each line took a sixth of a step."""
        if not self.training or not self.dropout:
            return x
        return x * ((torch.rand(len(x), 1, x.shape[-1], device=x.device) >= self.dropout) / (1 - self.dropout)).to(x.dtype)

    def forward(self, x, bias, question, question_bias):
        q, k, v = self.qkv(self.norm1(x)).chunk(3, -1)
        x = x + self.left_out(self.out(attend(self.heads, q, k, v, bias)))
        k, v = self.cross_kv(question).chunk(2, -1)
        x = x + self.left_out(self.cross_out(attend(self.heads, self.cross_q(self.norm2(x)), k, v, question_bias)))
        return x + self.left_out(self.down(self.left_out(F.relu(self.up(self.norm3(x))))))


class Reader(nn.Module):
    """The question reads the lines: each of its subtokens gathers what the text says of it. What is found, or is not, tells whether anything answers."""

    def __init__(self, D, heads):
        super().__init__()
        self.heads = heads
        self.norm, self.q, self.kv = nn.LayerNorm(D), nn.Linear(D, D), nn.Linear(D, 2 * D)
        self.found, self.weight = nn.Linear(2 * D, D), nn.Linear(D, 1)

    def forward(self, question, real_q, x):
        """question [b, q, D], of which `real_q` is no padding, and lines x [b, n, D] -> [b, 2 D]"""
        question = self.norm(question)
        k, v = self.kv(x).chunk(2, -1)
        read = attend(self.heads, self.q(question), k, v, x.new_zeros(1))
        found = F.relu(self.found(torch.cat([question, read], -1))) * real_q.unsqueeze(-1)
        weight = self.weight(found).masked_fill(~real_q.unsqueeze(-1), -1e4).softmax(1)
        return torch.cat([(weight * found).sum(1), found.amax(1)], -1)


class Skimmer(nn.Module):
    """Line emissions for keep against drop, and a logit for "something here answers the question"."""

    def __init__(self, encoder, vocabulary_size, D, layers, heads):
        super().__init__()
        d = encoder.d
        self.config = {"vocabulary_size": vocabulary_size, "embedding": d, "width": D, "layers": layers, "heads": heads}
        self.encoder = encoder
        self.register_buffer("idf", torch.zeros(vocabulary_size))
        self.match = nn.Linear(d, d, bias=False)
        nn.init.eye_(self.match.weight)
        self.match_weight, self.pool = nn.Linear(d + 2, 1), nn.Linear(d + 1, 1)
        self.input = nn.Linear(4 * d + 3 * len(KERNEL_MEAN) + len(NEIGHBOURS) + FEATURES + LEXICAL, D)
        self.question, self.position = nn.Linear(d, D), nn.Parameter(torch.randn(QUESTION_TOKENS, D) * 0.02)
        self.blocks = nn.ModuleList([Block(D, heads) for _ in range(layers)])
        self.distance = nn.Parameter(torch.zeros(heads, 2 * DISTANCE_BUCKETS + 1))
        self.relation, self.shared = nn.Parameter(torch.zeros(heads, RELATIONS)), nn.Parameter(torch.zeros(heads, 1))
        self.norm, self.emission, self.reader, self.answer = nn.LayerNorm(D), nn.Linear(D, 1), Reader(D, heads), nn.Linear(4 * D, 1)
        self.transition = nn.Parameter(torch.tensor([[1.0, -1.0], [-1.0, 1.0]]))  # [from, to]; 0 drop, 1 keep
        self.ends = nn.Parameter(torch.zeros(2, 2))  # start, end

    def forward(self, tokens, questions, question_idf, features, parent):
        """tokens [n, t], questions and question_idf [b, q], features [b, n, FEATURES + LEXICAL], parent [n] -> emission [b, n], answer [b]"""
        return self.judge(*self.meet(tokens, questions, question_idf, features, parent), questions != 0, self.bias(places(tokens, parent)))

    def meet(self, tokens, questions, question_idf, features, parent):
        """What each line has to do with each question [b, n, D], and the questions [b, q, D]."""
        n, t = tokens.shape
        b, _ = questions.shape
        real, real_q = tokens != 0, questions != 0
        e, eq, h, hq = self.encoder(tokens, questions)
        # 1. How much each question subtoken matters: [b, q]
        idf = self.idf[questions]
        weight = torch.sigmoid(self.match_weight(torch.cat([hq, idf.unsqueeze(-1), question_idf.unsqueeze(-1)], -1)).squeeze(-1)) * real_q
        # 2. Best match of each question subtoken on each line, then soft counts: 3 kernels of [b, n]
        place = torch.full((n, t), int(real.sum()), device=tokens.device)
        place[real] = torch.arange(int(real.sum()), device=tokens.device)
        on_lines = lambda similar: F.pad(similar, (0, 1), value=-1.0)[:, :, place]  # [b, q, subtokens] -> [b, q, n, t]
        similar = on_lines(unit(self.match(hq)) @ unit(self.match(h[real])).T)
        literal = on_lines(unit(eq) @ unit(e[real]).T)
        best, best_literal = similar.amax(-1), literal.amax(-1)
        kernels = []
        for match, w in ((best, weight), (best_literal, idf * real_q), (best_literal, question_idf)):
            w = (w / (w.sum(1, keepdim=True) + 1e-4)).unsqueeze(1)
            for mean, width in zip(KERNEL_MEAN, KERNEL_WIDTH):
                kernels.append((w @ torch.exp((match - mean).square() * (-0.5 / width**2))).squeeze(1))
        # 3. Line vectors: attention-pooled [n, d], pooled towards the question [b, n, d], their agreement with the question
        score = self.pool(torch.cat([h, self.idf[tokens].unsqueeze(-1)], -1)).squeeze(-1).masked_fill(~real, -1e4)
        line = (score.softmax(-1).unsqueeze(-2) @ h).squeeze(-2)
        towards = ((similar * weight[:, :, None, None]).amax(1).clamp(min=0) * 8).masked_fill(~real, -1e4)
        asked = torch.einsum("bnt,ntd->bnd", towards.softmax(-1), h)
        about = (weight.unsqueeze(1) @ hq) / (weight.sum(1)[:, None, None] + 1e-4)
        total, whole = h.sum(1), unit(hq.sum(1))
        near = lambda half: F.avg_pool1d(total.T.unsqueeze(0), 2 * half + 1, 1, half)[0].T  # its scale does not matter
        cosines = [whole @ unit(near(half)).T for half in NEIGHBOURS]
        own, up = line.unsqueeze(0).expand(b, -1, -1), line[parent].unsqueeze(0).expand(b, -1, -1)
        x = self.input(torch.cat([own, asked, own * about, up, torch.stack(kernels + cosines, -1), features], -1))
        return x, self.question(hq) + self.position[:questions.shape[1]]

    def bias(self, known):
        """What is added to the attention of line i to line j in each head: [heads, n, n], from their distance and their `places`."""
        n = known.shape[-1]
        learnt = torch.cat([self.relation, self.shared], 1) @ known.flatten(1)
        return self.distance[:, distance_bucket(n).to(known.device)] + learnt.view(-1, n, n)

    def judge(self, x, question, real_q, bias):
        """Lines read each other and the question [b, q, D], of which `real_q` is no padding -> emission [b, n], answer [b]"""
        x = self.read(x, question, real_q, bias)
        return self.emission(x).squeeze(-1), self.answered(x, question, real_q)

    def read(self, x, question, real_q, bias):
        """The lines [b, n, D] as the heads get them."""
        question_bias = torch.zeros(real_q.shape, device=x.device).masked_fill(~real_q, -1e4)[:, None, None, :]
        with self.halved(x):
            for block in self.blocks:
                x = block(x, bias, question, question_bias)
        return self.norm(x.float())

    def answered(self, x, question, real_q):
        """Log-odds that any of these lines answers [b]"""
        with self.halved(x):
            found = self.reader(question, real_q, x).float()
        return self.answer(torch.cat([x.amax(1), x.mean(1), found], -1)).squeeze(-1)

    def halved(self, x):
        """Products in 16 bits while training: they take less than half the time."""
        return torch.autocast(x.device.type, torch.bfloat16, enabled=self.training)

    def crf_scores(self, emission, allowed):
        """log of the summed weight of all label paths that stay within `allowed` [b, n, 2]; emission counts for keep, against it for drop.

        The steps are 2 x 2 matrices, multiplied in pairs: log n operations in place of n.
        """
        unary = torch.stack([-emission / 2, emission / 2], -1).masked_fill(~allowed, -1e4)
        step = self.transition + unary[:, 1:].unsqueeze(2)  # [b, n - 1, from, to]
        while step.shape[1] > 1:
            odd = step[:, -1:] if step.shape[1] % 2 else step[:, :0]
            a, b = step[:, 0:step.shape[1] - odd.shape[1]:2], step[:, 1:step.shape[1]:2]
            step = torch.cat([(a.unsqueeze(-1) + b.unsqueeze(-3)).logsumexp(-2), odd], 1)
        alpha = self.ends[0] + unary[:, 0]
        if step.shape[1]:
            alpha = (alpha.unsqueeze(-1) + step[:, 0]).logsumexp(1)
        return (alpha + self.ends[1]).logsumexp(-1)

    def crf_loss(self, emission, label):
        """Negative log-likelihood of the known labels a line, the unknown ones (-1) summed out. [b]"""
        everything = torch.ones(*label.shape, 2, dtype=torch.bool, device=label.device)
        known = torch.stack([label != 1, label != 0], -1)
        return (self.crf_scores(emission, everything) - self.crf_scores(emission, known)) / (label >= 0).sum(1).clamp(min=1)

    def log_odds(self, emission, parent):
        """Log-odds that each line is kept: forward-backward, then what the tree of blocks says. emission [n], parent [n] -> [n]

        Of the two states only the difference counts, so that each direction is one number a line.
        """
        (dd, dk), (kd, kk) = self.transition.tolist()
        (start_d, start_k), (end_d, end_k) = self.ends.tolist()
        passed = lambda x, dk, kd: log_add(dk, kk + x) - log_add(dd, kd + x)  # by the other line, whose log-odds so far are x
        own = emission.double().tolist()
        before, after = [start_k - start_d + own[0]], [end_k - end_d]
        for x in own[1:]:
            before.append(passed(before[-1], dk, kd) + x)
        for x in own[:0:-1]:
            after.append(passed(after[-1] + x, kd, dk))
        return lean(torch.tensor(before, dtype=torch.float64) + torch.tensor(after[::-1], dtype=torch.float64), parent)


def student(vocabulary_size):
    return Skimmer(Convolution(vocabulary_size, 192), vocabulary_size, D=256, layers=4, heads=8)
