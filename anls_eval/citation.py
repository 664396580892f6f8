"""The papers of ANLS and ANLS*, as BibTeX."""

CITATION = r"""@inproceedings{biten2019stvqa,
  title = {Scene Text Visual Question Answering},
  author = {Biten, Ali Furkan and Tito, Rub\`en and Mafla, Andr\'es and Gomez, Lluis and Rusi\~nol, Mar\c{c}al and
            Valveny, Ernest and Jawahar, C. V. and Karatzas, Dimosthenis},
  booktitle = {Proceedings of the IEEE/CVF International Conference on Computer Vision (ICCV)},
  year = {2019},
  url = {https://arxiv.org/abs/1905.13648}
}
@article{peer2024anls,
  title = {ANLS* -- A Universal Document Processing Metric for Generative Large Language Models},
  author = {Peer, David and Sch{\"o}pf, Philemon and Nebendahl, Volckmar and Rietzler, Alexander and Stabinger,
            Sebastian},
  journal = {arXiv preprint arXiv:2402.03848},
  year = {2024},
  url = {https://arxiv.org/abs/2402.03848}
}
"""
