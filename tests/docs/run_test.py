#!/usr/bin/env python3
"""The reader of documents finds what is wrong with one: a table of small documents and the complaint of each."""
import pathlib
import tempfile
import unittest

import captures
import markdown
import run


def faults_of(text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "document.md"
        path.write_text(text)
        return "\n".join(run.run_document(path, run.Runner("/bin", pathlib.Path(folder)), write=False) + run.links([path]) + run.unmerged([path]))


DOCUMENTS = {
    "a command that fails": ("```sh\nfalse\n```\n", "ended with 1, not 0"),
    "one that ends otherwise": ("<!-- exit: 3 -->\n```sh\ntrue\n(exit 4)\n```\n", "ended with 4, not 3"),
    "a capture that differs": ("```console\n$ echo a\nb\n```\n", "prints something else"),
    "a capture that ends early": ("```console\n$ printf 'a\\nb\\n'\na\n```\n", "prints something else"),
    "a capture of nothing": ("```console\n$ true\na\n```\n", "prints something else"),
    "output without a command": ("```console\na\n```\n", "starts with `$ command`"),
    "another form": ("<!-- form -->\n```console\n$ echo best 1\nworst 2\n```\n", "prints ['best']"),
    "code nobody reads": ("```cpp\nint a;\n```\n", "nothing says what becomes of this cpp"),
    "a block without a language": ("```\nls\n```\n", "nothing says what becomes of this block"),
    "code not in its file": ("<!-- from: LICENSE -->\n```text\nno such line\n```\n", "LICENSE has no line"),
    "a file that is not there": ("<!-- from: nowhere.cpp -->\n```cpp\nint a;\n```\n", "nowhere.cpp"),
    "a target that make lacks": ("`make nonsense`\n", "nonsense"),
    "what a merge left": ("<<<<<<< HEAD\na\n=======\nb\n>>>>>>> c0ffee (docs: b)\n", "a merge left <<<<<<<"),
    "a link to nothing": ("[a](nowhere.md)\n", "nowhere.md does not exist"),
}
GOOD = [
    "```sh\ntrue # with a remark\necho a \\\n  b\n```\n",
    "```console\n$ echo took 1.5 s\ntook 9.1 s\n$ printf 'a\\nb\\nc\\n'\na\n…\n$ echo abc\na…c\n```\n",
    "<!-- file: x.txt -->\n```text\nhello\n```\n```console\n$ cat x.txt\nhello\n```\n",
    "<!-- form -->\n```console\n$ printf 'best 1\\nbest 2\\n  detail\\n'\nbest 7\n  other\n```\n",
    "```text\na picture\n```\n`make test`\n",
]


class Documents(unittest.TestCase):
    def test_faults(self):
        for name, (text, complaint) in DOCUMENTS.items():
            with self.subTest(name):
                self.assertIn(complaint, faults_of(text))

    def test_good(self):
        for text in GOOD:
            with self.subTest(text):
                self.assertEqual(faults_of(text), "")

    def test_captures_anew(self):
        text = "```console\n$ echo a\nb\nc\n```\n```console\n$ echo d | tee f\nd\n…\n$ cat f\nd\n```\nend\n"
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "document.md"
            path.write_text(text)
            run.run_document(path, run.Runner("/bin", pathlib.Path(folder)), write=True)
            self.assertEqual(path.read_text(), text.replace("b\nc\n", "a\n"))

    def test_notes_belong_to_the_next_block(self):
        first, second = markdown.blocks_of("<!-- exit: 8; form -->\n\n```sh\na\n```\n```sh\nb\n```\n")
        self.assertEqual((first.notes, second.notes, second.line), ({"exit": "8", "form": ""}, {}, 7))

    def test_whole_lines(self):
        self.assertNotEqual(captures.difference(["ab"], ["abc"]), "")
        self.assertEqual(captures.difference(["…", "z"], ["a", "z"]), "")


if __name__ == "__main__":
    unittest.main()
