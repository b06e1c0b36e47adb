"""BLEU of a corpus, by sacrebleu."""

import sacrebleu


def bleu(hypotheses, references):
    return sacrebleu.corpus_bleu(hypotheses, [references]).score
