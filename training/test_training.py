"""What training rests on and no figure would show: python3 -m unittest discover -s training, where requirements.txt is installed."""
import itertools
import unittest

import numpy as np
import torch

from data import Document, Question, without_answer
from model import student
from text import Vocabulary, lexical

NONE = np.zeros(0, dtype=np.uint16)


class Stems(unittest.TestCase):
    def test_forms_of_a_word_are_one_in_lexical_evidence(self):
        words = "parse retry config init index author auth parser parsing retries configuration initialise initialize indices indicate authors authorize".split()
        vocabulary = Vocabulary([word.encode() for word in words])
        stem = {word: words[vocabulary.stems[vocabulary.words[word.encode()]] - 1] for word in words}
        self.assertEqual({word: other for word, other in stem.items() if other != word},
                         {"parser": "parse", "parsing": "parse", "retries": "retry", "configuration": "config", "initialise": "init", "initialize": "init",
                          "indices": "index", "authors": "author", "authorize": "auth"})
        evidence, _ = lexical(Document(["a parser", "a writer"], vocabulary).tokens, vocabulary.question_ids(b"parsing"), vocabulary)
        self.assertEqual((evidence[:, 0] > 0).tolist(), [True, False])


class Crf(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)
        self.model = student(50)
        torch.nn.init.normal_(self.model.transition), torch.nn.init.normal_(self.model.ends)
        self.emission = torch.randn(1, 6)

    def paths(self):
        """(labels, score) of every way to keep and drop six lines."""
        for labels in itertools.product((0, 1), repeat=6):
            score = self.model.ends[0, labels[0]] + self.model.ends[1, labels[-1]]
            score = score + sum(self.model.transition[a, b] for a, b in zip(labels, labels[1:]))
            yield labels, score + sum(e / 2 if keep else -e / 2 for keep, e in zip(labels, self.emission[0]))

    def test_the_loss_is_that_of_all_paths(self):
        label = torch.tensor([[1, -1, 0, 0, -1, 1]])
        fits = lambda labels: all(known in (-1, keep) for keep, known in zip(labels, label[0].tolist()))
        everything = torch.stack([score for _, score in self.paths()]).logsumexp(0)
        right = torch.stack([score for labels, score in self.paths() if fits(labels)]).logsumexp(0)
        torch.testing.assert_close(self.model.crf_loss(self.emission, label)[0], (everything - right) / 4)

    def test_log_odds_are_the_marginals(self):
        for line, odds in enumerate(self.model.log_odds(self.emission[0], torch.arange(6))):
            kept, dropped = (torch.stack([score for labels, score in self.paths() if labels[line] == keep]).logsumexp(0) for keep in (1, 0))
            torch.testing.assert_close(odds.float(), kept - dropped)


class WithoutAnswer(unittest.TestCase):
    def test_lines_that_were_enclosed_are_so_by_what_is_left(self):
        document = Document(["class A:", "    def f(self):", "        if self.x:", "            return 1", "    y = 2"], Vocabulary([b"self"]))
        self.assertEqual(document.parent.tolist(), [0, 0, 1, 2, 0])
        asked = [[0, 1, 1, 0, 0], [0, 0, 0, 1, 0], [0, 1, 0, 1, 0]]
        document.questions = [Question(NONE, np.array(label, dtype=np.int8), "narrow", NONE, "") for label in asked]
        left = without_answer(document, document.questions[0])
        self.assertEqual(left.parent.tolist(), [0, 0, 0])  # `return 1` is in the class now, as its function and condition are gone
        self.assertEqual([(question.kind, question.label.tolist()) for question in left.questions], [("absent", [0, 0, 0]), ("narrow", [0, 1, 0])])


if __name__ == "__main__":
    unittest.main()
