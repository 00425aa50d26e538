"""Words that are forms of one another: "retries" and "retry", "parser" and "parse", "config" and "configuration".

Lexical evidence counts them as the same word, as people ask in one form for what code spells in another. The network itself reads words as they are.
"""
import re

import numpy as np
import snowballstemmer

# What code shortens, beside the forms that a stemmer knows.
SHORT = """addr address|alloc allocate|app application|arg argument|arr array|async asynchronous|attr attribute|auth authenticate authentication authorize
authorization|avg average|bool boolean|buf buffer|calc calculate|cb callback|cert certificate|char character|cmd command|cnt count|col column|comp compare|concat
concatenate|conf config cfg configure|conn connect|ctx context|cur curr current|db database|decl declare declaration|def define definition|del delete|dep
dependency|desc description describe|diff difference|dir directory|doc document|dst dest destination|elem elt element|env environment|err error|eval
evaluate|exec execute executor|expr expression|ext extension|fmt format|fn func function|freq frequency|fs filesystem|gen generate|hdr header|id ident
identifier|idx index|img image|impl implement|info information|init initialize|int integer|iter iterate|lang language|len length|lib library|loc
location|max maximum|mem memory|meta metadata|mgr manager|min minimum|mod module|msg message|nav navigation|num number|obj object|op operation
operator|opt option|orig original|param parameter parm|passwd password pwd|perm permission|pkg package|pos position|pred predicate|pref preference|prev
previous|priv private|proc process|prop property|ptr pointer|pub public|rand random|rec record|recv receive|ref reference|regex regexp|repo repository|req
request|resp response|ret return|rm remove|sched schedule|sec second|sem semaphore|sep separator|seq sequence|sess session|sig signature|sock socket|spec
specification|src source|stat statistics|std standard|stmt statement|str string|sync synchronize synchronous|tbl table|term terminal|tmp temp
temporary|tok token|ts timestamp|tx txn transaction|usr user|util utility|val value|validate valid|var variable|vec vector|ver version|win window|ws
whitespace"""
DOER = re.compile(r"(.{4,})[eo]rs?")  # "parser", "iterators"
BRITISH = re.compile(r"(.{4,})is(e[drs]?|ers|ing|ations?)")
# Words that would end up with others, as "positive" with "position", and one that would not end up with its own.
APART = {"author": "author.", "authors": "author.", "cursor": "cursor.", "cursors": "cursor.", "positive": "positive.", "positives": "positive.", "indices": "index"}


def stems(words, size):
    """[size] uint16: for each subtoken's id the least id of its forms, for what is outside the vocabulary (buckets, padding) its own.

    `words` is {subtoken: id}, from frequent to rare.
    """
    known = {word.decode(): i for word, i in words.items() if len(word) > 1 and word.isalpha() and word.isascii()}
    stemmer = snowballstemmer.stemmer("english")

    def stem(word):
        if word in APART:
            return APART[word]
        british, doer = BRITISH.fullmatch(word), DOER.fullmatch(word)
        if british and f"{british[1]}iz{british[2]}" in known:
            word = f"{british[1]}iz{british[2]}"
        elif doer:
            base = doer[1]
            undoubled = [base[:-1]] if base[-1] == base[-2] and len(base) > 4 else []
            word = next((other for other in [base, base + "e", *undoubled] if other in known), word)
        return stemmer.stemWord(word)

    short = {stem(word): group.split()[0] + "." for group in SHORT.split("|") for word in group.split()}
    out, first = np.arange(size, dtype=np.uint16), {}
    for word, i in known.items():
        form = stem(word)
        out[i] = first.setdefault(short.get(form, form), i)
    return out
